"""The rules on stretches of the vector; test_updater_formulas has their numbers."""

import numpy as np
import pytest

from daskdl.arrays.workspace import Workspace
from daskdl.kernels.updater import PIECE
from daskdl.nn.conf import updaters as conf
from daskdl.nn.conf.schedules import FixedSchedule
from daskdl.nn.conf.updaters import AdaDelta, Adam, NoOp, Sgd
from daskdl.nn.updaters.block import UpdaterBlock, apply_updater, initialize_state
from daskdl.nn.updaters.table import learning_rate

UPDATERS = [kind() for kind in conf.UPDATERS]
IDS = [updater.type for updater in UPDATERS]


def run(updater, gradients, n_iterations=3):
    """Return what comes out, iteration by iteration, of a block in the middle."""
    size = gradients.shape[1]
    block = UpdaterBlock(updater, 2, 2 + size, 1)
    state = np.full(block.state_stop + 1, 77.0, gradients.dtype)
    initialize_state(block, state)
    updates = []
    for iteration in range(n_iterations):
        vector = np.full(size + 5, 55.0, gradients.dtype)
        vector[2 : 2 + size] = gradients[iteration]
        apply_updater(block, vector, state, iteration=iteration, workspace=Workspace())
        updates.append(vector)
    return np.array(updates), state


@pytest.mark.parametrize("updater", UPDATERS, ids=IDS)
def test_working_piece_by_piece_changes_no_bit(updater, rng):
    """A vector longer than a piece against the same numbers in short vectors."""
    gradients = rng.standard_normal((3, 2 * PIECE + 100))
    whole = run(updater, gradients)[0][:, 2:-3]
    parts = [
        run(updater, gradients[:, start : start + 1000])[0][:, 2:-3]
        for start in range(0, gradients.shape[1], 1000)
    ]
    np.testing.assert_array_equal(whole, np.concatenate(parts, axis=1))


@pytest.mark.parametrize("updater", UPDATERS, ids=IDS)
def test_a_block_touches_nothing_outside_itself(updater, rng):
    updates, state = run(updater, rng.standard_normal((3, 10)))
    outside = np.delete(updates, np.s_[2:12], axis=1)
    assert set(outside.ravel()) == {55.0}
    assert (state[0], state[-1]) == (77.0, 77.0)


@pytest.mark.parametrize("updater", UPDATERS, ids=IDS)
def test_single_precision_stays_single(updater, rng):
    double = rng.standard_normal((3, 10))
    single, _ = run(updater, double.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, run(updater, double)[0], rtol=1e-5, atol=1e-6)


def test_adams_first_update_is_the_learning_rate_in_the_gradients_direction():
    updates, _ = run(Adam(learning_rate=0.1), np.array([[3.0, -1e-2]]), 1)
    np.testing.assert_allclose(updates[0, 2:4], [0.1, -0.1], rtol=1e-4)


def test_noop_hands_the_gradient_on():
    updates, _ = run(NoOp(), np.array([[3.0, -1.0]]), 1)
    assert updates[0, 2:4].tolist() == [3.0, -1.0]


def test_weight_decay_counts_whole_without_a_learning_rate():
    assert learning_rate(NoOp()) == 1.0
    assert learning_rate(AdaDelta()) == 1.0
    assert learning_rate(Sgd(learning_rate=FixedSchedule(value=0.5))) == 0.5
