"""The outer step against the papers' own formulas, and the bits that members share."""

from types import SimpleNamespace

import numpy as np
import pytest

from daskdl.cluster.masters.options import (
    BlockMomentumTrainingMaster,
    DiLoCoTrainingMaster,
)
from daskdl.cluster.masters.outer_momentum import OuterMomentum, alignment

N = 7


@pytest.fixture
def gains(rng):
    """How far the mean gets from where each of five rounds started."""
    return rng.standard_normal((5, N))


def reached(outer, start, gains):
    """Return the parameters with which each round starts."""
    at = [start]
    for gain in gains:
        outer.begin(at[-1])
        at.append(outer.step(at[-1] + gain))
    return at


def test_it_is_block_momentum_as_the_paper_has_it(gains):
    """Classical: delta = eta * delta + zeta * gain, and a round starts from the sum."""
    eta, zeta = 0.8, 1.3
    delta, expected = np.zeros(N), [np.ones(N)]
    for gain in gains:
        delta = eta * delta + zeta * gain
        expected.append(expected[-1] + delta)
    master = BlockMomentumTrainingMaster(
        outer_momentum=eta,
        outer_learning_rate=zeta,
        outer_nesterov=False,
        outer_alignment=False,
    )
    outer = OuterMomentum(master)
    np.testing.assert_allclose(reached(outer, np.ones(N), gains), expected)


def test_it_is_nesterov_block_momentum_as_the_paper_has_it(gains):
    """A round starts ahead of the model by eta * delta, and gains are told from there.

    They do not depend on the parameters here, so that both can have the same.
    """
    eta, zeta = 0.8, 1.3
    model, delta, expected = np.ones(N), np.zeros(N), [np.ones(N)]
    for gain in gains:
        delta = eta * delta + zeta * gain
        model = model + delta
        expected.append(model + eta * delta)
    master = BlockMomentumTrainingMaster(
        outer_momentum=eta, outer_learning_rate=zeta, outer_alignment=False
    )
    outer = OuterMomentum(master)
    np.testing.assert_allclose(reached(outer, np.ones(N), gains), expected)


def test_it_is_the_outer_optimizer_of_diloco(gains):
    """Sgd with Nesterov momentum, as PyTorch writes it, on start less mean."""
    params, buffer, expected = np.ones(N), np.zeros(N), [np.ones(N)]
    for gain in gains:
        gradient = -gain
        buffer = 0.9 * buffer + gradient
        params = params - 0.7 * (gradient + 0.9 * buffer)
        expected.append(params)
    master = DiLoCoTrainingMaster(outer_momentum=0.9, outer_learning_rate=0.7)
    np.testing.assert_allclose(
        reached(OuterMomentum(master), np.ones(N), gains), expected
    )


@pytest.mark.parametrize("nesterov", [True, False])
def test_momentum_counts_as_far_as_rounds_are_aligned(nesterov):
    master = BlockMomentumTrainingMaster(outer_momentum=0.5, outer_nesterov=nesterov)
    outer = OuterMomentum(master)
    east, north_east, west = np.eye(2)[0], np.ones(2), -np.eye(2)[0]
    at = reached(outer, np.zeros(2), [east, north_east, west])
    steps = np.diff(at, axis=0)
    np.testing.assert_array_equal(steps[0], east, "there was no direction before")
    velocity = 0.5 * east + north_east
    carried_on = 0.71 * (0.5 * velocity if nesterov else 0.5 * east)
    np.testing.assert_allclose(steps[1], north_east + carried_on)
    np.testing.assert_allclose(steps[2], west, err_msg="they are apart")


@pytest.mark.parametrize(
    ("velocity", "gain", "expected"),
    [
        ([1, 0], [2, 0], 1),
        ([1, 0], [-1, 0], 0),
        ([0, 0], [1, 0], 0),
        ([3, 4], [1, 0], 0.6),
    ],
)
def test_an_alignment_is_a_cosine(velocity, gain, expected):
    assert alignment(np.array(velocity, "f4"), np.array(gain, "f4")) == expected


def test_without_momentum_at_rate_1_it_is_averaging_to_the_bit(gains):
    mean = gains[0].astype(np.float32)
    outer = OuterMomentum(BlockMomentumTrainingMaster(outer_momentum=0.0))
    outer.begin(gains[1].astype(np.float32))
    np.testing.assert_array_equal(outer.step(mean), mean)


def test_the_mean_stays_as_it_is(gains):
    """Peers may still be sent it."""
    outer = OuterMomentum(BlockMomentumTrainingMaster())
    outer.begin(np.zeros(N))
    mean = gains[0].copy()
    outer.step(mean)
    np.testing.assert_array_equal(mean, gains[0])


def test_running_statistics_become_their_mean(gains):
    """A variance that falls for some rounds would become negative by momentum."""
    slot = SimpleNamespace(offset=2, stop=4)
    outer = OuterMomentum(DiLoCoTrainingMaster(), [slot])
    at = np.full(N, 8.0, np.float32)
    for _ in range(3):
        outer.begin(at)
        mean = at / 2
        at = outer.step(mean)
        np.testing.assert_array_equal(at[2:4], mean[2:4])
    assert np.all(at[[0, 1, 4, 5, 6]] != mean[[0, 1, 4, 5, 6]])


def test_who_joins_with_the_velocity_goes_on_with_the_same_bits(gains):
    first = OuterMomentum(BlockMomentumTrainingMaster())
    *_, at = reached(first, np.ones(N, np.float32), gains.astype(np.float32))
    joined = OuterMomentum(BlockMomentumTrainingMaster(), velocity=first.velocity)
    mean = at + np.float32(0.5)
    for outer in (first, joined):
        outer.begin(at)
    np.testing.assert_array_equal(first.step(mean), joined.step(mean))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_keeps_the_type_of_the_parameters(gains, dtype):
    outer = OuterMomentum(BlockMomentumTrainingMaster())
    *_, at = reached(outer, np.ones(N, dtype), gains.astype(dtype))
    assert (at.dtype, outer.velocity.dtype) == (dtype, dtype)
