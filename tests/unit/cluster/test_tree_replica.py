"""Updates of a tree: bundles of messages, and a base without what we told."""

import numpy as np
import pytest

from daskdl.arrays.flat import Slot
from daskdl.cluster.masters.gradient_sharing import GradientSharingPeer
from daskdl.cluster.masters.options import SharedTrainingMaster
from daskdl.cluster.masters.tree_replica import TreeReplica
from daskdl.encoding.algorithms import FixedThresholdAlgorithm
from daskdl.encoding.residual import NoOpResidualPostProcessor

SIZE = 4000


def sharing(threshold, slots=(), dtype=np.float32):
    """Return a peer with one other, in a phase, and its parameters."""
    master = SharedTrainingMaster(
        threshold_algorithm=FixedThresholdAlgorithm(threshold=threshold),
        residual_post_processor=NoOpResidualPostProcessor(),
    )
    params = np.zeros(SIZE, dtype)
    peer = GradientSharingPeer(master, params, slots)
    peer.begin(0, frozenset({1}))
    return peer, params


def message(threshold, elements, value=1.0):
    """Return what a peer tells when some of its elements have moved."""
    peer, params = sharing(threshold)
    for position in (1, 2):  # the first one is a bitmap
        update = np.zeros(SIZE, np.float32)
        update[elements] = value
        params -= update
        told = peer.share(update, iteration=99, position=position).data
    return told


def subtracted(updates):
    """Return what updates come to."""
    peer, params = sharing(1.0)
    for update in updates:
        TreeReplica(peer).take_in(update, [])
    return -params


def test_a_sum_of_different_thresholds_is_no_dense_one():
    peer, _ = sharing(1.0)
    first, second = message(0.5, [7, 8]), message(0.25, [8, 9])
    total = TreeReplica(peer).sum([(first,), (second,)])
    assert sum(part.nbytes for part in total) == first.nbytes + second.nbytes
    np.testing.assert_array_equal(
        subtracted([total]), subtracted([(first,), (second,)])
    )


def test_a_sum_of_many_is_as_long_as_a_dense_one():
    peer, _ = sharing(1.0)
    parts = [(message(0.5, np.arange(n % 30, SIZE, 30)),) for n in range(80)]
    [total] = TreeReplica(peer).sum(parts)
    assert total.nbytes == 4 * SIZE
    np.testing.assert_allclose(subtracted([(total,)]), subtracted(parts))


def test_one_update_stays_as_it_is():
    """Rounded to float32 it would be another one."""
    peer, _ = sharing(1.0, dtype=np.float64)
    whole = np.full(SIZE, 1 / 3)
    [same] = TreeReplica(peer).sum([(whole,)])
    assert same is whole


def test_own_parts_of_an_update_are_not_subtracted_again():
    peer, params = sharing(0.5)
    own, other = message(0.5, [3, 4]), message(0.5, [4, 5])
    TreeReplica(peer).take_in((own, other), [(own,)])
    np.testing.assert_array_equal(-params, subtracted([(other,)]))


def test_the_base_has_not_lost_what_is_untold():
    peer, _ = sharing(0.5)
    untold = message(0.5, [3, 4])
    peer.take_in(untold)
    base = TreeReplica(peer).base([(untold,)])
    np.testing.assert_array_equal(base, 0.0)
    assert base is not peer.base


def test_another_base_leaves_the_residual_and_what_is_untold():
    peer, params = sharing(0.5)
    params -= 0.1  # trained, and not told
    untold = message(0.5, [3, 4])
    TreeReplica(peer).replace_base(np.full(SIZE, 5.0, np.float32), [(untold,)])
    np.testing.assert_allclose(peer.residual, 0.1, rtol=1e-5)
    np.testing.assert_allclose(params, 4.9 - subtracted([(untold,)]), rtol=1e-6)


def test_running_statistics_stay_our_own_with_another_base():
    slots = [Slot("mean", (3,), 2)]
    peer, params = sharing(0.5, slots)
    params[2:5] = 7.0
    TreeReplica(peer).replace_base(np.zeros(SIZE, np.float32), [])
    np.testing.assert_array_equal(params[2:5], 7.0)
    np.testing.assert_array_equal(peer.residual, 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_base_is_of_the_type_of_the_parameters(dtype):
    peer, _ = sharing(0.5, dtype=dtype)
    assert TreeReplica(peer).base([]).dtype == dtype
