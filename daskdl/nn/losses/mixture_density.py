"""The loss of outputs that are the parameters of a mixture of Gaussians."""

import math
from typing import Any, ClassVar, NamedTuple

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.dialects import Quirks
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.conf.losses import MixtureDensity
from daskdl.nn.losses.cross_entropy import log_softmax
from daskdl.nn.losses.loss import LossFunction, drop


class MixtureDensityLoss(LossFunction):
    """Minus the logarithm of the density of the labels.

    The columns of the output are: for each Gaussian the logarithm of its share, up to a
    constant; for each that of its width; and the centers, one Gaussian after another.

    Parameters
    ----------
    conf : MixtureDensity
        Its options.

    References
    ----------
    Bishop, *Mixture Density Networks*, 1994, equations 22 to 39, with one width for all
    dimensions of a Gaussian.
    """

    masks_single_outputs: ClassVar[bool] = False

    def __init__(self, conf: MixtureDensity, quirks: Quirks) -> None:
        super().__init__(conf, quirks)
        self._n = conf.mixtures
        self._label_width = conf.label_width

    def _score_rows(
        self,
        labels: FloatArray,
        preout: FloatArray,
        output: FloatArray,
        activation: ActivationFunction,
        factor: FloatArray | None,
    ) -> FloatArray:
        xp = array_namespace(output)
        terms = self._terms(labels, output)
        # The densities themselves are 0 for labels far from all centers.
        highest = xp.max(terms.log_joint, axis=-1, keepdims=True)
        total = xp.sum(xp.exp(terms.log_joint - highest), axis=-1)
        rows: FloatArray = -(highest[:, 0] + xp.log(total))
        if factor is not None:
            drop(rows, factor[:, 0])
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
        xp = array_namespace(output)
        terms = self._terms(labels, output)
        posterior = xp.exp(log_softmax(terms.log_joint))
        grad_share = xp.exp(terms.log_share) - posterior
        grad_width = posterior * (self._label_width - terms.squared_distance)
        pull = (posterior / terms.variance)[:, :, None]
        grad_center = -pull * terms.difference
        grad_output = xp.concatenate(
            [grad_share, grad_width, grad_center.reshape(len(output), -1)], axis=1
        )
        activation.backward(grad_output, preout, output, out=out)

    def _terms(self, labels: FloatArray, output: FloatArray) -> "_Terms":
        xp = array_namespace(output)
        n = self._n
        log_share = log_softmax(output[:, :n])
        log_width = output[:, n : 2 * n]
        centers = output[:, 2 * n :].reshape(-1, n, self._label_width)
        variance = xp.exp(2 * log_width)
        difference = labels[:, None, :] - centers
        squared_distance = xp.sum(xp.square(difference), axis=-1) / variance
        log_norm = self._label_width * (log_width + math.log(2 * math.pi) / 2)
        log_joint = log_share - log_norm - squared_distance / 2
        return _Terms(log_share, variance, difference, squared_distance, log_joint)


class _Terms(NamedTuple):
    """Terms that score and gradient share; squared distances are in widths."""

    log_share: Any
    variance: Any
    difference: Any
    squared_distance: Any
    log_joint: Any
