"""Reconstruction distributions of a decoder's output: scores and gradients.

Everything works on rows: data (rows, n_in), decoder outputs (rows, n_parameters) before
their activation. A score is a negative logarithm of the probability, or a loss.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.dialects import Quirks
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.reconstructions import (
    BernoulliReconstructionDistribution,
    CompositeReconstructionDistribution,
    GaussianReconstructionDistribution,
    LossFunctionWrapper,
)
from daskdl.nn.conf.reconstructions import Reconstruction as ReconstructionConf
from daskdl.nn.conf.values import with_quirks
from daskdl.nn.losses.table import loss_function


class Reconstruction(ABC):
    """A reconstruction distribution at work."""

    @abstractmethod
    def score_rows(self, x: FloatArray, preout: FloatArray) -> FloatArray:
        """Compute the score of each row.

        Parameters
        ----------
        x : ndarray of shape (rows, n_in)
            The data.
        preout : ndarray of shape (rows, n_parameters), same dtype
            What the decoder gives, before its activation. Not changed.

        Returns
        -------
        scores : ndarray of shape (rows,)
            Newly allocated.
        """

    @abstractmethod
    def gradient(self, x: FloatArray, preout: FloatArray) -> FloatArray:
        """Compute the gradient of the summed scores in `preout`, newly allocated.

        Arrays are those of :meth:`score_rows`; what is returned is an array like
        `preout`.
        """

    @abstractmethod
    def mean(self, preout: FloatArray) -> FloatArray:
        """Return what the data are expected to be, (rows, n_in), newly allocated.

        Parameters
        ----------
        preout : ndarray of shape (rows, n_parameters)
            Not changed.
        """


class _Activated(Reconstruction):
    """A distribution whose parameters went through an activation."""

    def __init__(self, activation: Any, quirks: Quirks) -> None:
        self._activation = activation_function(activation, quirks)

    def gradient(self, x: FloatArray, preout: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Reconstruction.gradient`."""
        output = self._activation.forward(preout)
        grad = self._gradient_in_output(x, output)
        return self._activation.backward(grad, preout, output, out=grad)

    @abstractmethod
    def _gradient_in_output(self, x: FloatArray, output: FloatArray) -> FloatArray:
        """Return the gradient of the summed scores in the activated parameters."""


class GaussianReconstruction(_Activated):
    """Mean in the first half of the columns, logarithm of the variance in the other."""

    def score_rows(self, x: FloatArray, preout: FloatArray) -> FloatArray:
        """Compute the scores; see :meth:`Reconstruction.score_rows`."""
        xp = array_namespace(x)
        mean, log_variance = _halves(self._activation.forward(preout))
        terms = log_variance + (x - mean) ** 2 / xp.exp(log_variance)
        rows: FloatArray = 0.5 * (
            xp.sum(terms, axis=1) + x.shape[1] * math.log(2 * math.pi)
        )
        return rows

    def _gradient_in_output(self, x: FloatArray, output: FloatArray) -> FloatArray:
        xp = array_namespace(x)
        mean, log_variance = _halves(output)
        precision = xp.exp(-log_variance)
        grad: FloatArray = xp.empty_like(output)
        grad_mean, grad_log_variance = _halves(grad)
        xp.multiply(mean - x, precision, out=grad_mean)
        grad_log_variance[...] = 0.5 * (1 - (x - mean) ** 2 * precision)
        return grad

    def mean(self, preout: FloatArray) -> FloatArray:
        """Return the means; see :meth:`Reconstruction.mean`."""
        mean, _ = _halves(self._activation.forward(preout))
        copied: FloatArray = mean.copy()
        return copied


class ForgivingBernoulliReconstruction(_Activated):
    """The probability of 1 in each column; infinite logarithms count 0."""

    def score_rows(self, x: FloatArray, preout: FloatArray) -> FloatArray:
        """Compute the scores; see :meth:`Reconstruction.score_rows`."""
        xp = array_namespace(x)
        p = self._activation.forward(preout)
        log_probability = x * _finite_log(p) + (1 - x) * _finite_log(1 - p)
        rows: FloatArray = -xp.sum(log_probability, axis=1)
        return rows

    def _gradient_in_output(self, x: FloatArray, output: FloatArray) -> FloatArray:
        xp = array_namespace(x)
        spread = output * (1 - output)
        is_certain = spread == 0
        # A sigmoid that has become 0 or 1 has no slope either.
        xp.copyto(spread, 1, where=is_certain)
        quotient: FloatArray = (output - x) / spread
        xp.copyto(quotient, 0, where=is_certain)
        return quotient

    def mean(self, preout: FloatArray) -> FloatArray:
        """Return the probabilities of 1; see :meth:`Reconstruction.mean`."""
        return self._activation.forward(preout)


class ExponentialReconstruction(_Activated):
    """The logarithm of the rate in each column."""

    def score_rows(self, x: FloatArray, preout: FloatArray) -> FloatArray:
        """Compute the scores; see :meth:`Reconstruction.score_rows`."""
        xp = array_namespace(x)
        log_rate = self._activation.forward(preout)
        rows: FloatArray = xp.sum(xp.exp(log_rate) * x - log_rate, axis=1)
        return rows

    def _gradient_in_output(self, x: FloatArray, output: FloatArray) -> FloatArray:
        grad: FloatArray = array_namespace(x).exp(output) * x - 1
        return grad

    def mean(self, preout: FloatArray) -> FloatArray:
        """Return 1 over the rates; see :meth:`Reconstruction.mean`."""
        log_rate = self._activation.forward(preout)
        mean: FloatArray = array_namespace(preout).exp(-log_rate)
        return mean


class LossReconstruction(Reconstruction):
    """A loss between the activated output and the data.

    Parameters
    ----------
    conf : LossFunctionWrapper
        Loss and activation.
    """

    def __init__(self, conf: LossFunctionWrapper) -> None:
        self._activation = activation_function(conf.activation, conf.quirks)
        self._loss = loss_function(conf.loss, conf.quirks)

    def score_rows(self, x: FloatArray, preout: FloatArray) -> FloatArray:
        """Compute the scores; see :meth:`Reconstruction.score_rows`."""
        return self._loss.score_examples(x, preout, self._activation)

    def gradient(self, x: FloatArray, preout: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Reconstruction.gradient`."""
        return self._loss.gradient(x, preout, self._activation)

    def mean(self, preout: FloatArray) -> FloatArray:
        """Return the activated output; see :meth:`Reconstruction.mean`."""
        return self._activation.forward(preout)


class CompositeReconstruction(Reconstruction):
    """One distribution for the first columns, another for the next ones.

    Parameters
    ----------
    conf : CompositeReconstructionDistribution
        Sizes and distributions.
    """

    def __init__(self, conf: CompositeReconstructionDistribution) -> None:
        self._parts = [reconstruction(part) for part in conf.distributions]
        sizes = list(zip(conf.distributions, conf.sizes, strict=True))
        self._of_data = _slices([size for _, size in sizes])
        self._of_preout = _slices([part.n_parameters(size) for part, size in sizes])

    def score_rows(self, x: FloatArray, preout: FloatArray) -> FloatArray:
        """Compute the scores; see :meth:`Reconstruction.score_rows`."""
        scores = [
            part.score_rows(x[:, data], preout[:, given])
            for part, data, given in self._columns()
        ]
        total: FloatArray = sum(scores[1:], start=scores[0])
        return total

    def gradient(self, x: FloatArray, preout: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Reconstruction.gradient`."""
        grad: FloatArray = array_namespace(x).empty_like(preout)
        for part, data, given in self._columns():
            grad[:, given] = part.gradient(x[:, data], preout[:, given])
        return grad

    def mean(self, preout: FloatArray) -> FloatArray:
        """Return the means of all parts; see :meth:`Reconstruction.mean`."""
        means = [part.mean(preout[:, given]) for part, _, given in self._columns()]
        joined: FloatArray = array_namespace(preout).concatenate(means, axis=1)
        return joined

    def _columns(self) -> list[tuple[Reconstruction, slice, slice]]:
        return list(zip(self._parts, self._of_data, self._of_preout, strict=True))


def reconstruction(conf: ReconstructionConf) -> Reconstruction:
    """Return the reconstruction distribution of a configuration."""
    if isinstance(conf, CompositeReconstructionDistribution):
        return CompositeReconstruction(conf)
    if isinstance(conf, LossFunctionWrapper):
        return LossReconstruction(conf)
    if isinstance(conf, GaussianReconstructionDistribution):
        return GaussianReconstruction(conf.activation, conf.quirks)
    if isinstance(conf, BernoulliReconstructionDistribution):
        return _bernoulli(conf)
    return ExponentialReconstruction(conf.activation, conf.quirks)


def has_loss(conf: ReconstructionConf) -> bool:
    """Whether a loss compares some of the data, of which there is no probability."""
    if isinstance(conf, CompositeReconstructionDistribution):
        return any(has_loss(part) for part in conf.distributions)
    return isinstance(conf, LossFunctionWrapper)


def _bernoulli(conf: BernoulliReconstructionDistribution) -> Reconstruction:
    if "bernoulli_forgives_infinite_logarithms" in conf.quirks:
        return ForgivingBernoulliReconstruction(conf.activation, conf.quirks)
    # The cross entropy is what minus the logarithm of its probability is called.
    wrapper = LossFunctionWrapper(activation=conf.activation, loss="xent")
    return LossReconstruction(with_quirks(wrapper, conf.quirks))


def _halves(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    half = columns.shape[1] // 2
    return columns[:, :half], columns[:, half:]


def _finite_log(p: FloatArray) -> FloatArray:
    """Return logarithms with 0 for that of 0."""
    xp = array_namespace(p)
    result: FloatArray = xp.log(xp.where(p == 0, xp.asarray(1, p.dtype), p))
    return result


def _slices(sizes: list[int]) -> list[slice]:
    stops = [sum(sizes[: index + 1]) for index in range(len(sizes))]
    return [slice(stop - size, stop) for stop, size in zip(stops, sizes, strict=True)]
