"""Rounds of parameter averaging: pure rules, any order of messages."""

import itertools

import numpy as np
import pytest

from daskdl.cluster.masters.parameter_averaging import AveragingRound, RoundSnapshot


def snapshot(value, *, examples=8, remaining=0, phase=0, round=0, state=()):
    return RoundSnapshot(
        phase=phase,
        round=round,
        position=1,
        remaining=remaining,
        examples=examples,
        iteration_count=3,
        params=np.full(4, value, np.float32),
        updater_state=np.asarray(state, np.float32),
    )


def averaged(current):
    params, state = np.zeros(4, np.float32), np.zeros(2, np.float32)
    current.average_into(params, state)
    return params


def test_the_mean_is_weighted_by_examples():
    current = AveragingRound(0, frozenset({1}), snapshot(1.0, examples=30))
    current.receive(1, snapshot(5.0, examples=10))
    np.testing.assert_allclose(averaged(current), 2.0, rtol=1e-6)


def test_the_order_of_arrival_does_not_change_a_bit(rng):
    brought = {rank: snapshot(float(rng.standard_normal())) for rank in range(4)}
    results = set()
    for order in itertools.permutations([1, 2, 3]):
        current = AveragingRound(0, frozenset({1, 2, 3}), brought[0])
        for rank in order:
            current.receive(rank, brought[rank])
        results.add(averaged(current).tobytes())
    assert len(results) == 1


def test_all_members_compute_the_same_bits(rng):
    brought = {rank: snapshot(float(rng.standard_normal())) for rank in range(3)}
    results = set()
    for own in range(3):
        current = AveragingRound(own, frozenset({0, 1, 2} - {own}), brought[own])
        for rank in {0, 1, 2} - {own}:
            current.receive(rank, brought[rank])
        results.add(averaged(current).tobytes())
    assert len(results) == 1


def test_a_duplicate_changes_nothing():
    current = AveragingRound(0, frozenset({1}), snapshot(1.0))
    current.receive(1, snapshot(3.0))
    current.receive(1, snapshot(99.0))
    np.testing.assert_array_equal(averaged(current), 2.0)


def test_a_snapshot_of_an_older_round_is_not_accepted():
    current = AveragingRound(0, frozenset({1}), snapshot(1.0, round=2))
    assert not current.accepts(snapshot(1.0, round=1))


def test_a_round_is_complete_without_a_peer_that_left():
    current = AveragingRound(0, frozenset({1, 2}), snapshot(1.0))
    current.receive(1, snapshot(3.0))
    current.left(2)
    assert current.is_complete


def test_what_a_peer_brought_before_it_left_counts():
    current = AveragingRound(0, frozenset({1}), snapshot(1.0))
    current.receive(1, snapshot(3.0))
    current.left(1)
    np.testing.assert_array_equal(averaged(current), 2.0)


def test_a_peer_that_left_has_nothing_remaining():
    current = AveragingRound(0, frozenset({1}), snapshot(1.0))
    current.receive(1, snapshot(3.0, remaining=7))
    current.left(1)
    assert current.remaining == {}


def test_alone_nothing_changes():
    current = AveragingRound(0, frozenset(), snapshot(1.0))
    np.testing.assert_array_equal(averaged(current), 0.0)


def test_updater_state_is_averaged_when_it_was_brought():
    current = AveragingRound(0, frozenset({1}), snapshot(1.0, state=[1, 3]))
    current.receive(1, snapshot(1.0, state=[3, 5]))
    params, state = np.zeros(4, np.float32), np.zeros(2, np.float32)
    current.average_into(params, state)
    np.testing.assert_array_equal(state, [2, 4])


@pytest.mark.parametrize("ranks", [2, 5, 8])
def test_the_average_is_that_of_plain_loops(ranks, rng):
    values = rng.standard_normal(ranks)
    examples = rng.integers(1, 50, ranks)
    current = AveragingRound(
        0, frozenset(range(1, ranks)), snapshot(values[0], examples=int(examples[0]))
    )
    for rank in range(1, ranks):
        current.receive(rank, snapshot(values[rank], examples=int(examples[rank])))
    expected = float((values * examples).sum() / examples.sum())
    np.testing.assert_allclose(averaged(current), expected, rtol=1e-5)
