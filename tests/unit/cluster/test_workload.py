"""What a member trains: taken back, lengthened and closed while it is trained."""

import threading

import pytest

from daskdl.cluster.workload import Workload
from daskdl.data.plan import plan_minibatches

MINIBATCHES = plan_minibatches([80], 8)
FIRST, MORE = MINIBATCHES[:4], MINIBATCHES[4:6]


def trained(workload):
    return [one.index for one in iter(workload.begin_next, None)]


def read(workload):
    return [minibatch.index for minibatch, _ in workload.to_read()]


def test_minibatches_are_begun_in_order():
    assert trained(Workload(0, FIRST)) == [0, 1, 2, 3]


def test_what_was_begun_is_not_taken_back():
    workload = Workload(0, FIRST)
    workload.begin_next()
    workload.begin_next()
    assert workload.stop_at(1) == 2
    assert workload.begin_next() is None


def test_a_member_stops_where_it_is_told():
    workload = Workload(0, FIRST)
    assert workload.stop_at(3) == 3
    assert trained(workload) == [0, 1, 2]


def test_a_stop_behind_the_end_takes_nothing():
    assert Workload(0, FIRST).stop_at(9) == 4


def test_more_is_trained_after_what_was_left():
    workload = Workload(0, FIRST)
    workload.stop_at(1)
    workload.add(MORE)
    assert trained(workload) == [0, 4, 5]


def test_whoever_was_stopped_may_get_more_until_it_is_closed_again():
    workload = Workload(0, FIRST, {0: 4})
    workload.stop_at(1)
    assert not workload.is_closed
    workload.close({0: 1})
    assert workload.totals == {0: 1}


def test_the_reader_hears_of_what_is_behind_when_that_changes():
    workload = Workload(0, FIRST, {0: 4})
    behind = [news and len(news) for _, news in workload.to_read()]
    assert behind == [4, None, None, None]


def test_what_was_read_ahead_and_taken_back_may_come_again():
    workload = Workload(0, FIRST)
    reading = workload.to_read()
    ahead = [next(reading)[0].index for _ in range(3)]
    workload.stop_at(1)
    workload.add(FIRST[1:2])
    workload.close({0: 2})
    assert ahead + [one.index for one, _ in reading] == [0, 1, 2, 1]


@pytest.mark.parametrize("end", [lambda w: w.close({0: 0}), Workload.abandon])
def test_a_reader_that_waits_for_more_is_let_go(end):
    workload, found = Workload(0), []
    reader = threading.Thread(target=lambda: found.append(read(workload)))
    reader.start()
    end(workload)
    reader.join(10)
    assert found == [[]]


def test_a_reader_that_waits_gets_what_comes():
    workload, found = Workload(0), []
    reader = threading.Thread(target=lambda: found.append(read(workload)))
    reader.start()
    workload.add(MORE)
    workload.close({0: 2})
    reader.join(10)
    assert found == [[4, 5]]


def test_whoever_stands_still_keeps_what_it_has_begun():
    workload = Workload(0, FIRST)
    workload.begin_next()
    workload.end()
    assert workload.is_closed
    assert workload.begin_next() is None
    assert len(workload) == 1
    assert read(workload) == [0]


def test_what_is_told_of_the_rest_says_that_a_stop_is_wanted():
    workload = Workload(0, FIRST)
    workload.is_stop_wanted = True
    assert workload.left_after(1) == {
        "remaining": 3,
        "may_get_more": True,
        "wants_stop": True,
    }
