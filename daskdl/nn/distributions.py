"""Numbers drawn from the distributions that configurations name.

Drawn on the host in float64, so that every device gets the same.
"""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.errors import ShapeError
from daskdl.nn.conf.distributions import (
    BinomialDistribution,
    ConstantDistribution,
    Distribution,
    GaussianDistribution,
    LogNormalDistribution,
    NormalDistribution,
    OrthogonalDistribution,
    TruncatedNormalDistribution,
    UniformDistribution,
)

Sample: TypeAlias = NDArray[np.float64]
_Shape: TypeAlias = tuple[int, ...]

# Where a normal distribution is cut off, in standard deviations.
_TRUNCATION = 2.0
# The standard deviation of what is left of one with 1.
TRUNCATED = 0.8796256610342398


def sample(
    distribution: Distribution, shape: _Shape, rng: np.random.Generator
) -> Sample:
    """Return numbers drawn from a distribution.

    Parameters
    ----------
    distribution : distribution configuration
        From which.
    shape : tuple of int
        Of the result. For an orthogonal distribution all but the last axis together are
        the rows of a matrix.
    rng : numpy.random.Generator
        The stream to draw from.

    Returns
    -------
    ndarray of `shape`, float64
        The same for the same arguments and stream.

    Raises
    ------
    ShapeError
        If an orthogonal matrix is asked for with fewer than two axes.

    References
    ----------
    DL4J, ``org.nd4j.linalg.api.rng.distribution.impl``.
    """
    return _SAMPLERS[type(distribution)](distribution, shape, rng)


def truncated_normal(
    mean: float, std: float, shape: _Shape, rng: np.random.Generator
) -> Sample:
    """Return normal numbers within two standard deviations; others are drawn again.

    Parameters
    ----------
    mean, std : float
        Of the numbers before any is drawn again.
    shape : tuple of int
        Of the result.
    rng : numpy.random.Generator
        The stream to draw from.

    Returns
    -------
    ndarray of `shape`, float64
    """
    values = rng.standard_normal(shape)
    outside = np.abs(values) > _TRUNCATION
    while outside.any():
        values[outside] = rng.standard_normal(int(outside.sum()))
        outside = np.abs(values) > _TRUNCATION
    return mean + std * values


def _normal(
    conf: NormalDistribution | GaussianDistribution,
    shape: _Shape,
    rng: np.random.Generator,
) -> Sample:
    return rng.normal(conf.mean, conf.std, shape)


def _log_normal(
    conf: LogNormalDistribution, shape: _Shape, rng: np.random.Generator
) -> Sample:
    return rng.lognormal(conf.mean, conf.std, shape)


def _truncated_normal(
    conf: TruncatedNormalDistribution, shape: _Shape, rng: np.random.Generator
) -> Sample:
    return truncated_normal(conf.mean, conf.std, shape, rng)


def _uniform(
    conf: UniformDistribution, shape: _Shape, rng: np.random.Generator
) -> Sample:
    return rng.uniform(conf.lower, conf.upper, shape)


def _constant(
    conf: ConstantDistribution, shape: _Shape, rng: np.random.Generator
) -> Sample:
    return np.full(shape, conf.value)


def _orthogonal(
    conf: OrthogonalDistribution, shape: _Shape, rng: np.random.Generator
) -> Sample:
    """Return the factor U or V of a random matrix, as large as the matrix itself."""
    if len(shape) < 2:
        raise ShapeError(
            f"OrthogonalDistribution: shape must have at least two axes, got {shape}."
        )
    rows, columns = math.prod(shape[:-1]), shape[-1]
    tall = rng.standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(tall)
    # With the signs of R's diagonal Q is uniform over all orthogonal matrices.
    q *= np.sign(np.diagonal(r))
    matrix = q if rows >= columns else q.T
    return conf.gain * matrix.reshape(shape)


def _binomial(
    conf: BinomialDistribution, shape: _Shape, rng: np.random.Generator
) -> Sample:
    trials = rng.binomial(conf.number_of_trials, conf.probability_of_success, shape)
    return trials.astype(np.float64)


_SAMPLERS: dict[
    type[Distribution], Callable[[Any, _Shape, np.random.Generator], Sample]
] = {
    NormalDistribution: _normal,
    GaussianDistribution: _normal,
    LogNormalDistribution: _log_normal,
    TruncatedNormalDistribution: _truncated_normal,
    UniformDistribution: _uniform,
    ConstantDistribution: _constant,
    OrthogonalDistribution: _orthogonal,
    BinomialDistribution: _binomial,
}
