"""Compiled updaters against NumPy, bit for bit."""

import numpy as np
import pytest

from daskdl.arrays.workspace import Workspace
from daskdl.kernels.updater import PIECE, Rule, update
from daskdl.nn.conf.updaters import UPDATERS, AdaBelief, AdaGrad, Adam
from daskdl.nn.updaters.table import rule_of, state_parts
from daskdl.nn.updaters.update_context import UpdateContext
from tests.memory import peak_bytes
from tests.unit.kernels.numpy_form import by_numpy

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, 1e30])

every_updater = pytest.mark.parametrize(
    "updater", [kind() for kind in UPDATERS], ids=[kind.__name__ for kind in UPDATERS]
)
dtypes = pytest.mark.parametrize("dtype", ["f4", "f8"])
quietly = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def vectors(rng, updater, size, dtype):
    """Return gradient, state and parameters; squares in the state are not negative."""
    gradient, params = rng.standard_normal((2, size)).astype(dtype)
    state = rng.random((len(state_parts(updater)), size)).astype(dtype)
    return gradient, state, params


def rule(updater, dtype):
    return rule_of(updater, UpdateContext(6, 1, np.dtype(dtype)))


@quietly
@dtypes
@pytest.mark.parametrize("size", [0, 1, 7, 1024, 1025, 2 * PIECE + 3])
@every_updater
def test_every_number_is_that_of_numpy(rng, workspace, updater, size, dtype):
    ours = vectors(rng, updater, size, dtype)
    if size > len(SPECIAL):
        ours[0][: len(SPECIAL)] = SPECIAL
        ours[1][:, 3 : 3 + len(SPECIAL)] = SPECIAL
    theirs = [array.copy() for array in ours]
    given = rule(updater, dtype)
    update(given, *ours[:2], workspace, divisor=37, params=ours[2])
    by_numpy(update, given, *theirs[:2], workspace, divisor=37, params=theirs[2])
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


@dtypes
@every_updater
def test_division_and_subtraction_along_the_way_change_no_bit(
    rng, workspace, updater, dtype
):
    gradient, state, params = vectors(rng, updater, 3000, dtype)
    joint = [array.copy() for array in (gradient, state, params)]
    update(rule(updater, dtype), *joint[:2], workspace, divisor=37, params=joint[2])
    gradient /= 37
    update(rule(updater, dtype), gradient, state, workspace)
    params -= gradient
    for one, other in zip(joint, (gradient, state, params), strict=True):
        np.testing.assert_array_equal(one, other)


@dtypes
@pytest.mark.parametrize(
    "updater",
    [kind() for kind in UPDATERS if kind is not AdaGrad],
    ids=[kind.__name__ for kind in UPDATERS if kind is not AdaGrad],
)
def test_what_decays_ends_in_zeros(rng, workspace, updater, dtype):
    """Numbers below the normal ones would slow every later iteration down.

    Sums of squares, as of AdaGrad, do not decay.
    """
    gradient, state, _ = vectors(rng, updater, 500, dtype)
    least = np.finfo(dtype).tiny
    state *= 64 * least
    state[:, :3] = 0.0, -0.0, np.nan
    for _ in range(200):
        gradient[:] = 0
        update(rule(updater, dtype), gradient, state, workspace)
        size = np.abs(state)
        assert not ((size > 0) & (size < least)).any()
    assert np.isnan(state[:, 2]).all()


@pytest.mark.parametrize("updater", [Adam(), AdaBelief()])
def test_a_part_of_a_longer_state_is_brought_forward(rng, workspace, updater):
    gradient, state, _ = vectors(rng, updater, 50, "f8")
    whole, whole_state = gradient.copy(), state.copy()
    update(rule(updater, "f8"), whole, whole_state, workspace)
    for part in (slice(0, 20), slice(20, 50)):
        update(rule(updater, "f8"), gradient[part], state[:, part], workspace)
    np.testing.assert_array_equal(gradient, whole)
    np.testing.assert_array_equal(state, whole_state)


@every_updater
def test_nothing_is_allocated_once_it_runs(rng, updater):
    workspace = Workspace()
    gradient, state, params = vectors(rng, updater, 50_000, "f4")

    def iterate():
        update(
            rule(updater, "f4"), gradient, state, workspace, divisor=2, params=params
        )

    assert peak_bytes(iterate) < gradient.nbytes / 16


def test_a_rule_without_numbers_hands_the_gradient_on(workspace):
    gradient, params = np.array([2.0, 4.0]), np.array([1.0, 1.0])
    update(Rule("noop"), gradient, np.empty((0, 2)), workspace, params=params)
    np.testing.assert_array_equal(params, [-1.0, -3.0])
