"""Rounds of parameter averaging: pure rules, any order of messages."""

import itertools

import numpy as np
import pytest

from daskdl.cluster.masters.parameter_averaging import (
    AveragingRound,
    RoundSizes,
    RoundSnapshot,
)


def snapshot(value, *, examples=8, remaining=0, phase=0, round=0, state=()):
    return RoundSnapshot(
        phase=phase,
        round=round,
        position=1,
        remaining=remaining,
        minibatches=1,
        seconds=0.1,
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


def sizes_after(efforts, rounds, *, is_fixed=False, rank=0, frequency=5):
    sizes = RoundSizes(rank, frequency, is_fixed=is_fixed)
    for _ in range(rounds):
        sizes.take(efforts)
    return sizes.own


def test_members_of_about_the_same_speed_train_as_many_a_round():
    assert sizes_after({0: (5, 1.0), 1: (5, 1.8)}, 20) == 5


def test_who_is_much_faster_trains_more_a_round():
    efforts = {0: (5, 1.0), 1: (5, 4.0)}
    assert [sizes_after(efforts, 20, rank=rank) for rank in (0, 1)] == [8, 2]


def test_the_first_rounds_say_nothing_about_speed():
    assert sizes_after({0: (5, 1.0), 1: (5, 9.0)}, 5) == 5


def test_fixed_rounds_stay_what_they_are():
    assert sizes_after({0: (5, 1.0), 1: (5, 4.0)}, 20, is_fixed=True) == 5


def test_everybody_trains_at_least_one_a_round():
    assert sizes_after({0: (1, 90.0), 1: (1, 1.0)}, 20, frequency=1) == 1


def test_who_has_nothing_left_to_train_does_not_count():
    assert sizes_after({0: (5, 1.0), 1: (0, 4.0)}, 20) == 5
