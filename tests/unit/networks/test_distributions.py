"""What is drawn has the moments and bounds of its distribution. Seeds are fixed."""

import numpy as np
import pytest

from daskdl.errors import ShapeError
from daskdl.nn.conf.distributions import (
    DISTRIBUTIONS,
    BinomialDistribution,
    ConstantDistribution,
    GaussianDistribution,
    LogNormalDistribution,
    NormalDistribution,
    OrthogonalDistribution,
    TruncatedNormalDistribution,
    UniformDistribution,
)
from daskdl.nn.distributions import sample

N = 40_000
# Of a normal distribution cut off at two standard deviations, in units of them.
TRUNCATED_STD = 0.8796256610342398
# Distribution, mean, standard deviation.
MOMENTS = [
    (NormalDistribution(mean=0.5, std=0.2), 0.5, 0.2),
    (GaussianDistribution(mean=-1, std=2), -1, 2),
    (
        LogNormalDistribution(mean=0.1, std=0.5),
        np.exp(0.1 + 0.125),
        np.exp(0.1 + 0.125) * np.sqrt(np.exp(0.25) - 1),
    ),
    (TruncatedNormalDistribution(mean=1, std=0.4), 1, 0.4 * TRUNCATED_STD),
    (UniformDistribution(lower=-0.5, upper=1), 0.25, 1.5 / np.sqrt(12)),
    (BinomialDistribution(number_of_trials=3, probability_of_success=0.4), 1.2, 0.8485),
]
EACH = [
    *(distribution for distribution, _, _ in MOMENTS),
    ConstantDistribution(value=0.25),
    OrthogonalDistribution(gain=1.5),
]


def kind(distribution):
    return getattr(distribution, "type", None)


def test_every_distribution_is_tried_here():
    assert {type(distribution) for distribution in EACH} == set(DISTRIBUTIONS)


@pytest.mark.parametrize(("distribution", "mean", "std"), MOMENTS, ids=kind)
def test_mean(distribution, mean, std, rng):
    drawn = sample(distribution, (N,), rng)
    assert drawn.mean() == pytest.approx(mean, abs=5 * std / np.sqrt(N))


@pytest.mark.parametrize(("distribution", "mean", "std"), MOMENTS, ids=kind)
def test_standard_deviation(distribution, mean, std, rng):
    drawn = sample(distribution, (N,), rng)
    assert drawn.std() == pytest.approx(std, rel=0.03)


@pytest.mark.parametrize("distribution", EACH, ids=kind)
def test_the_same_stream_gives_the_same_numbers(distribution):
    first, second = (
        sample(distribution, (4, 3), np.random.default_rng(7)) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("distribution", EACH, ids=kind)
def test_shape_and_type(distribution, rng):
    drawn = sample(distribution, (2, 3, 4), rng)
    assert (drawn.shape, drawn.dtype) == ((2, 3, 4), np.float64)


def test_truncated_normal_has_nothing_beyond_two_standard_deviations(rng):
    drawn = sample(TruncatedNormalDistribution(mean=1, std=0.5), (N,), rng)
    assert np.abs(drawn - 1).max() <= 1.0


def test_uniform_stays_within_its_bounds(rng):
    drawn = sample(UniformDistribution(lower=2, upper=3), (N,), rng)
    assert (drawn.min() >= 2) & (drawn.max() < 3)


def test_constant_is_constant(rng):
    assert set(sample(ConstantDistribution(value=0.25), (9,), rng)) == {0.25}


def test_binomial_counts(rng):
    drawn = sample(
        BinomialDistribution(number_of_trials=3, probability_of_success=0.4), (N,), rng
    )
    assert set(drawn) == {0.0, 1.0, 2.0, 3.0}


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5), (3, 2, 4)])
def test_orthogonal_has_orthonormal_rows_or_columns_times_its_gain(shape, rng):
    drawn = sample(OrthogonalDistribution(gain=1.5), shape, rng)
    matrix = drawn.reshape(-1, shape[-1])
    tall = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
    np.testing.assert_allclose(
        tall.T @ tall, 1.5**2 * np.eye(tall.shape[1]), atol=1e-12
    )


def test_orthogonal_is_a_matter_of_matrices(rng):
    with pytest.raises(
        ShapeError,
        match=r"OrthogonalDistribution: shape must have at least two axes, got \(3,\)",
    ):
        sample(OrthogonalDistribution(), (3,), rng)
