"""Threads that work on one minibatch together."""

import os
import threading

import numpy as np
import pytest

from daskdl.arrays.team import Meeting, Team, cuts


def team_threads():
    return [t for t in threading.enumerate() if t.name.startswith("daskdl team")]


def test_results_come_in_order_of_rank():
    with Team(3) as team:
        assert team.run(lambda rank: rank * 10, 3) == [0, 10, 20]


def test_as_many_take_part_as_are_asked_for():
    with Team(3) as team:
        assert team.run(lambda rank: rank, 2) == [0, 1]


def test_nobody_stays():
    with Team(3):
        assert len(team_threads()) == 2
    assert team_threads() == []


def test_the_error_is_that_of_the_lowest_rank():
    def fail(rank):
        raise ValueError(f"rank {rank}")

    with Team(3) as team, pytest.raises(ValueError, match="rank 0"):
        team.run(fail, 3)


def test_who_waits_for_one_that_failed_is_not_the_error():
    meeting = Meeting(3)

    def fail_in_one(rank):
        if rank == 1:
            raise ValueError("rank 1")
        meeting.exchange(rank, rank)

    with Team(3) as team:
        with pytest.raises(ValueError, match="rank 1"):
            team.run(fail_in_one, 3, meeting)
        assert team.run(lambda rank: rank, 3) == [0, 1, 2]


def test_an_interrupt_leaves_nobody_at_work(monkeypatch):
    """Whoever catches it goes on with arrays that threads were writing to."""
    ended = threading.Event()

    def work(rank):
        if rank == 0:
            raise KeyboardInterrupt
        ended.set()

    with Team(2) as team:
        with pytest.raises(KeyboardInterrupt):
            team.run(work, 2)
        assert ended.is_set()


def test_all_get_what_all_have_brought():
    meeting = Meeting(3)
    with Team(3) as team:
        found = team.run(
            lambda rank: [meeting.exchange(rank, (rank, i)) for i in range(100)], 3
        )
    expected = [[(rank, i) for rank in range(3)] for i in range(100)]
    assert found == [expected] * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_copy_has_no_threads():
    with Team(2) as team:
        child = os.fork()
        if child == 0:
            team.close()
            os._exit(int(team.is_here))
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(("n", "size"), [(7, 2), (8, 4), (5, 4), (2, 2)])
def test_parts_cover_a_minibatch_and_differ_by_one_at_most(n, size):
    parts = cuts(n, size)
    rows = np.concatenate([part.rows_of(np.arange(n)) for part in parts])
    lengths = {part.stop - part.start for part in parts}
    np.testing.assert_array_equal(rows, np.arange(n))
    assert max(lengths) - min(lengths) <= 1


def test_rows_of_steps_go_with_their_examples():
    first, second = cuts(5, 2)
    steps = np.repeat(np.arange(5), 3)
    assert set(second.rows_of(steps)) == {2, 3, 4}
    assert first.whole((6, 4)) == (15, 4)
