"""Which workers are dealt to trials."""

from daskdl.tuning.worker_pool import STAND_BACK_S, WorkerPool


def pool_of(*there, most=None):
    pool = WorkerPool(most)
    pool.look(there)
    return pool


def test_each_worker_is_dealt_once():
    pool = pool_of("a", "b", "c")
    assert pool.deal(2, 0) == ("a", "b")
    assert pool.deal(2, 0) == ()
    assert pool.deal(1, 0) == ("c",)
    pool.look(["a", "b", "c"])
    assert pool.deal(1, 0) == ()


def test_who_waits_longest_is_first():
    pool = pool_of("a", "b", "c")
    pool.give_back(pool.deal(1, 0), 0)
    assert [pool.deal(1, 0) for _ in range(3)] == [("b",), ("c",), ("a",)]


def test_who_came_is_dealt_and_who_went_is_not():
    pool = pool_of("a", "b")
    dealt = pool.deal(1, 0)
    pool.look(["b", "c"])
    pool.give_back(dealt, 0)
    pool.look(["b", "c"])
    assert pool.deal(2, 0) == ("b", "c")
    assert pool.deal(1, 0) == ()


def test_no_more_than_asked_for_are_in_use():
    pool = pool_of("a", "b", "c", most=2)
    first = pool.deal(1, 0)
    assert pool.deal(2, 0) == ()
    assert pool.deal(1, 0) == ("b",)
    pool.give_back(first, 0)
    assert pool.deal(1, 0) == ("c",)


def test_a_worker_on_which_a_trial_failed_stands_back_longer_each_time():
    pool, now_s = pool_of("a"), 10.0
    for failures in (1, 2):
        pool.give_back(pool.deal(1, now_s), now_s, has_failed=True)
        assert pool.deal(1, now_s + failures * STAND_BACK_S - 1) == ()
        now_s += failures * STAND_BACK_S
    assert pool.deal(1, now_s) == ("a",)
