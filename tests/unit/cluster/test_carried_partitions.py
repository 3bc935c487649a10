"""Members get the rows that they train, each once, and partitions of stored data."""

import numpy as np
import pytest

from daskdl import DataSet, open_source
from daskdl.cluster.carried_partitions import CarriedPartitions
from daskdl.cluster.session_member import SessionMember
from daskdl.data.plan import plan_minibatches
from daskdl.data.reader import MinibatchReader

PLAN = plan_minibatches([48], 8)


@pytest.fixture
def data(rng):
    return DataSet(rng.normal(size=(48, 4)), np.zeros((48, 1)))


@pytest.fixture
def partitions(data):
    return open_source(data).partitions


def member():
    return SessionMember("a", future=None, network=None)


def rows_of(carried):
    return sum(partition.rows for partition in carried[1].values())


def test_each_row_goes_to_one_member(partitions):
    carried = CarriedPartitions(partitions)
    sent = [carried.to_send(member(), PLAN[rank::3]) for rank in range(3)]
    assert [rows_of(each) for each in sent] == [16, 16, 16]


def test_a_member_gets_no_row_again(partitions, data):
    carried, one = CarriedPartitions(partitions), member()
    first = carried.to_send(one, PLAN[:3])
    again = carried.to_send(one, PLAN[:3][::-1])
    more = carried.to_send(one, PLAN[2:4])
    assert rows_of(first) == 24
    assert rows_of(again) == 0
    assert rows_of(more) == 8
    reader = MinibatchReader({**first[1], **more[1]})
    for minibatch in (*first[0], *again[0], *more[0]):
        start = 8 * minibatch.index
        np.testing.assert_array_equal(
            reader.read(minibatch).features, data.features[start : start + 8]
        )


def test_numbers_of_rows_are_never_used_twice(partitions):
    carried, one = CarriedPartitions(partitions), member()
    first = carried.to_send(one, PLAN[:2])[1].keys()
    second = carried.to_send(one, PLAN[2:4])[1].keys()
    assert not first & second


def test_stored_data_are_told_by_their_partitions():
    carried, one = CarriedPartitions(["p0", "p1"]), member()
    first, second = plan_minibatches([4, 4], 4)
    assert carried.to_send(one, [first]) == ((first,), {0: "p0"})
    assert carried.to_send(one, [first, second]) == ((first, second), {1: "p1"})
