"""Losses that are sums over the outputs: distances and margins.

Each has a formula for the score of one output, and one for the gradient in it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.dialects import Quirks
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.conf.losses import AnyLoss
from daskdl.nn.losses.cross_entropy import above_zero
from daskdl.nn.losses.loss import LossFunction, drop

# Any: what the functions of an array's namespace return has no static type.
Formula = Callable[[FloatArray, FloatArray], Any]

_SMALLEST_PROBABILITY = 1e-5  # of a quirk of kl_divergence


class ElementWiseLoss(LossFunction):
    """A sum of scores of single outputs.

    Parameters
    ----------
    conf, quirks
        As for :class:`~daskdl.nn.losses.loss.LossFunction`.
    scores, grad_output : function of (labels, output)
        The scores of the outputs, and the gradient in the outputs. Each returns a new
        array.
    """

    def __init__(
        self, conf: AnyLoss, quirks: Quirks, scores: Formula, grad_output: Formula
    ) -> None:
        super().__init__(conf, quirks)
        self._scores = scores
        self._grad_output = grad_output

    def _score_rows(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
    ) -> FloatArray:
        # A label of 0 (mape) or an output of -1 (msle) gives infinity or NaN, which
        # training reports as a score that is no number.
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = self._scores(labels, output)
        self._weigh(scores)
        if factor is not None:
            drop(scores, factor)
        rows: FloatArray = array_namespace(output).sum(scores, axis=-1)
        return rows

    def _write_gradient(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
        out: FloatArray,
    ) -> None:
        with np.errstate(divide="ignore", invalid="ignore"):
            grad_output = self._grad_output(labels, output)
            self._weigh(grad_output)
            if factor is not None and self._masks_outputs(factor, preout):
                drop(grad_output, factor)
            activation.backward(grad_output, preout, output, out=out)


class UndividedErrorLoss(ElementWiseLoss):
    """``|labels - output| / n_out``, without the division in scores of rows."""

    def score(
        self,
        labels: FloatArray,
        preout: FloatArray,
        activation: ActivationFunction,
        mask: FloatArray | None = None,
        *,
        output: FloatArray | None = None,
    ) -> float:
        """Compute the loss of all rows; see :meth:`LossFunction.score`."""
        total = super().score(labels, preout, activation, mask, output=output)
        n_out: int = preout.shape[1]
        return total / n_out


def squared(y: FloatArray, p: FloatArray) -> Any:
    """Return ``(y - p)**2`` of labels `y` and output `p`.

    Both are of shape (rows, n_out), and so is the result, a new array.
    """
    return array_namespace(p).square(p - y)


def squared_gradient(y: FloatArray, p: FloatArray) -> Any:
    """Return the gradient of :func:`squared` in `p`."""
    return 2 * (p - y)


def mean_squared(y: FloatArray, p: FloatArray) -> Any:
    """Return ``(y - p)**2 / n_out`` of labels `y` and output `p`.

    Both are of shape (rows, n_out), and so is the result, a new array.
    """
    return squared(y, p) / p.shape[-1]


def mean_squared_gradient(y: FloatArray, p: FloatArray) -> Any:
    """Return the gradient of :func:`mean_squared` in `p`."""
    return (2 / p.shape[-1]) * (p - y)


def absolute(y: FloatArray, p: FloatArray) -> Any:
    """Return ``|y - p|`` of labels `y` and output `p`.

    Both are of shape (rows, n_out), and so is the result, a new array.
    """
    return array_namespace(p).abs(p - y)


def absolute_gradient(y: FloatArray, p: FloatArray) -> Any:
    """Return the gradient of :func:`absolute` in `p`, 0 at its kink."""
    return array_namespace(p).sign(p - y)


def mean_absolute(y: FloatArray, p: FloatArray) -> Any:
    """Return ``|y - p| / n_out`` of labels `y` and output `p`.

    Both are of shape (rows, n_out), and so is the result, a new array.
    """
    return absolute(y, p) / p.shape[-1]


def mean_absolute_gradient(y: FloatArray, p: FloatArray) -> Any:
    """Return the gradient of :func:`mean_absolute` in `p`."""
    return absolute_gradient(y, p) / p.shape[-1]


def percentage(y: FloatArray, p: FloatArray) -> Any:
    """Return ``100 * |(y - p) / y| / n_out`` of labels `y` and output `p`.

    Both are of shape (rows, n_out), and so is the result, a new array.
    """
    return (100 / p.shape[-1]) * array_namespace(p).abs((y - p) / y)


def percentage_gradient(y: FloatArray, p: FloatArray) -> Any:
    """Return the gradient of :func:`percentage` in `p`."""
    xp = array_namespace(p)
    return (100 / p.shape[-1]) * xp.sign(p - y) / xp.abs(y)


def squared_logarithmic(y: FloatArray, p: FloatArray) -> Any:
    """Return ``log((p + 1) / (y + 1))**2 / n_out`` of labels `y` and output `p`.

    Both are of shape (rows, n_out), and so is the result, a new array.
    """
    xp = array_namespace(p)
    return xp.square(xp.log((p + 1) / (y + 1))) / p.shape[-1]


def squared_logarithmic_gradient(y: FloatArray, p: FloatArray) -> Any:
    """Return the gradient of :func:`squared_logarithmic` in `p`."""
    ratio = array_namespace(p).log((p + 1) / (y + 1))
    return (2 / p.shape[-1]) * ratio / (p + 1)


def divergence(y: FloatArray, p: FloatArray) -> Any:
    """Return ``y * log(y / p)``, both clipped to probabilities from 1e-5 to 1.

    Both are of shape (rows, n_out), and so is the result, a new array.
    """
    xp = array_namespace(p)
    y = xp.clip(y, _SMALLEST_PROBABILITY, 1)
    return y * xp.log(y / xp.clip(p, _SMALLEST_PROBABILITY, 1))


def divergence_gradient(y: FloatArray, p: FloatArray) -> Any:
    """Return ``-y / p``, the gradient of :func:`divergence` but for its clip."""
    return -y / above_zero(p)


def hinge(y: FloatArray, p: FloatArray) -> Any:
    """Return ``max(0, 1 - y * p)`` for labels of -1 and 1.

    Both are of shape (rows, n_out), and so is the result, a new array.
    """
    return array_namespace(p).maximum(1 - y * p, 0)


def hinge_gradient(y: FloatArray, p: FloatArray) -> Any:
    """Return the gradient of :func:`hinge` in `p`, 0 at its kink."""
    return -y * (y * p < 1)


def squared_hinge(y: FloatArray, p: FloatArray) -> Any:
    """Return ``max(0, 1 - y * p)**2`` for labels of -1 and 1.

    Both are of shape (rows, n_out), and so is the result, a new array.
    """
    return array_namespace(p).square(hinge(y, p))


def squared_hinge_gradient(y: FloatArray, p: FloatArray) -> Any:
    """Return the gradient of :func:`squared_hinge` in `p`."""
    return -2 * y * hinge(y, p)


def poisson(y: FloatArray, p: FloatArray) -> Any:
    """Return ``p - y * log(p)`` of labels `y` and output `p`.

    Both are of shape (rows, n_out), and so is the result, a new array.
    """
    return p - y * array_namespace(p).log(p)


def poisson_gradient(y: FloatArray, p: FloatArray) -> Any:
    """Return the gradient of :func:`poisson` in `p`."""
    return 1 - y / p


def wasserstein(y: FloatArray, p: FloatArray) -> Any:
    """Return ``y * p / n_out`` for labels of -1 and 1, the critic's loss.

    Both are of shape (rows, n_out), and so is the result, a new array.
    """
    return y * p / p.shape[-1]


def wasserstein_gradient(y: FloatArray, p: FloatArray) -> Any:
    """Return ``y / n_out``, the gradient of :func:`wasserstein` in `p`; a new array."""
    return y / p.shape[-1]
