"""Batch normalization in gradient sharing: its statistics are averaged, not encoded."""

import numpy as np
import pytest

from daskdl.arrays.flat import Slot
from daskdl.cluster.masters.gradient_sharing import GradientSharingPeer
from daskdl.cluster.masters.options import SharedTrainingMaster
from daskdl.cluster.masters.running_statistics import RunningStatistics
from daskdl.cluster.masters.shared_update import merge_waiting
from daskdl.encoding.algorithms import FixedThresholdAlgorithm

N = 64
VARIANCE = Slot("var", (4,), 10)
SPAN = slice(10, 14)
MASTER = SharedTrainingMaster(threshold_algorithm=FixedThresholdAlgorithm())


def moving_to(params, target):
    """The update of a step that brings the variance a tenth nearer to `target`."""
    update = np.zeros(N, np.float32)
    update[SPAN] = 0.1 * (params[SPAN] - target)
    return update


@pytest.fixture
def pair():
    """Two replicas with variances of 1, and their parameters."""
    vectors = [np.ones(N, np.float32) for _ in range(2)]
    made = [GradientSharingPeer(MASTER, vector, [VARIANCE]) for vector in vectors]
    for rank, peer in enumerate(made):
        peer.begin(0, frozenset({1 - rank}))
    return made, vectors


def move(peer, vector, target, step):
    update = moving_to(vector, target)
    vector -= update
    return peer.share(update, iteration=step, position=step)


def train(pair, targets, steps):
    peers, vectors = pair
    for step in range(1, steps + 1):
        messages = [
            move(peer, vector, target, step)
            for peer, vector, target in zip(peers, vectors, targets, strict=True)
        ]
        for rank, message in enumerate(messages):
            if message is not None:
                peers[1 - rank].receive(rank, message)


def end(pair, positions):
    peers, _ = pair
    last = [peer.end(at) for peer, at in zip(peers, positions, strict=True)]
    for rank, message in enumerate(last):
        peers[1 - rank].receive(rank, message)
    for peer, at in zip(peers, positions, strict=True):
        peer.conclude(at)


def test_a_small_variance_stays_positive(pair):
    train(pair, (1e-4, 1e-4), steps=300)
    np.testing.assert_allclose(pair[1][0][SPAN], 1e-4, rtol=1e-3)


def test_a_replica_follows_its_own_minibatches(pair):
    train(pair, (2.0, 4.0), steps=1)
    np.testing.assert_allclose(pair[1][1][SPAN], 1.3, rtol=1e-6)


def test_the_end_of_a_phase_averages_by_minibatches(pair):
    train(pair, (2.0, 4.0), steps=1)
    end(pair, (1, 3))
    np.testing.assert_allclose(pair[1][0][SPAN], 0.25 * 1.1 + 0.75 * 1.3, rtol=1e-6)


def test_both_replicas_end_a_phase_alike(pair):
    train(pair, (2.0, 4.0), steps=5)
    end(pair, (5, 5))
    np.testing.assert_allclose(pair[1][0], pair[1][1], rtol=1e-6)


def test_who_trained_nothing_tells_nothing(pair):
    pair[1][1][SPAN] = 99.0
    end(pair, (2, 0))
    np.testing.assert_array_equal(pair[1][1][SPAN], 1.0)


def test_a_phase_in_which_nobody_trained_changes_nothing(pair):
    pair[1][1][SPAN] = 99.0
    end(pair, (0, 0))
    np.testing.assert_array_equal(pair[1][1][SPAN], 99.0)


def test_what_was_brought_to_an_older_phase_does_not_count(pair):
    end(pair, (1, 1))
    peer, params = pair[0][0], pair[1][0]
    peer.begin(1, frozenset({1}))
    params[SPAN] = 7.0
    peer.conclude(1)
    np.testing.assert_array_equal(params[SPAN], 7.0)


def test_nothing_of_the_statistics_enters_the_residual(pair):
    train(pair, (2.0, 4.0), steps=3)
    np.testing.assert_array_equal(pair[0][0].residual, 0.0)


def test_a_merged_message_keeps_the_statistics_of_the_last(pair):
    peer = pair[0][0]
    update = move(peer, pair[1][0], 2.0, 1).to_wire()
    folded = merge_waiting(N)([update, peer.end(1).to_wire()])
    np.testing.assert_allclose(folded["statistics"], 1.1, rtol=1e-6)


def test_a_network_without_statistics_sends_none():
    assert RunningStatistics(np.zeros(4, np.float32)).values() is None
