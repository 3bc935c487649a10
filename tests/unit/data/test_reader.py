from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.plan import (
    Minibatch,
    PartitionRows,
    plan_minibatches,
    shuffle_in_windows,
)
from daskdl.data.reader import MinibatchReader
from daskdl.data.room import Room
from daskdl.data.sources.partition import Partition
from daskdl.errors import DataError, OptionError


@dataclass
class Counted(Partition):
    """Counts how often it is loaded."""

    name: str
    examples: object
    rows: int | None = None
    loads: list = field(default_factory=list)

    def load(self):
        self.loads.append(self.name)
        return self.examples


def partitions(rows):
    starts = np.cumsum([0, *rows])
    return [
        Counted(f"part {k}", DataSet(np.arange(start, start + n)[:, None] * 1.0))
        for k, (start, n) in enumerate(zip(starts, rows, strict=False))
    ]


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
    st.integers(1, 12),
    st.sampled_from([0, 100, 2**20]),
)
def test_merging_in_plan_order_is_the_concatenation(rows, batch_size, cache_bytes):
    reader = MinibatchReader(partitions(rows), cache_bytes)
    read = [reader.read(minibatch) for minibatch in plan_minibatches(rows, batch_size)]
    features = np.concatenate([batch.features for batch in read])
    np.testing.assert_array_equal(features[:, 0], np.arange(sum(rows)))


def test_a_partition_is_loaded_once_while_memory_allows():
    parts = partitions([10, 10])
    reader = MinibatchReader(parts)
    for _ in range(2):
        for minibatch in plan_minibatches([10, 10], 3):
            reader.read(minibatch)
    assert [len(part.loads) for part in parts] == [1, 1]


def test_the_least_recently_used_partition_is_let_go():
    parts = partitions([10, 10, 10])
    reader = MinibatchReader(parts, cache_bytes=160)
    for number in (0, 1, 0, 2, 0, 1):
        reader.read(Minibatch(0, (PartitionRows(number, 0, 5),), 5))
    assert [len(part.loads) for part in parts] == [1, 2, 1]


def test_a_partition_that_is_kept_anew_takes_the_room_of_one():
    parts = partitions([10, 10])
    reader = MinibatchReader(parts, cache_bytes=160)
    reader.load(0)
    for _ in range(3):
        reader.keep(1, parts[1].examples)
    reader.load(0)
    assert len(parts[0].loads) == 1


def test_what_a_load_costs_does_not_grow_with_what_is_kept(monkeypatch):
    looks = []
    nbytes = DataSet.nbytes.fget
    monkeypatch.setattr(
        DataSet, "nbytes", property(lambda self: looks.append(1) or nbytes(self))
    )
    reader = MinibatchReader(partitions([1] * 300))
    for minibatch in plan_minibatches([1] * 300, 1):
        reader.read(minibatch)
    assert len(looks) <= 2 * 300


def test_without_room_the_partition_read_last_is_still_kept():
    parts = partitions([10])
    reader = MinibatchReader(parts, cache_bytes=0)
    for minibatch in plan_minibatches([10], 3):
        reader.read(minibatch)
    assert len(parts[0].loads) == 1


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
    st.integers(1, 12),
    st.sampled_from([0, 40, 100, 2**20]),
    st.integers(0, 9),
)
def test_an_epoch_in_windows_loads_each_partition_once(rows, batch_size, room, seed):
    parts = partitions(rows)
    plan = plan_minibatches(rows, batch_size)
    nbytes = [part.examples.nbytes for part in parts]
    streams = range(len(rows))
    order = shuffle_in_windows(plan, nbytes, streams, Room(room, room), seed, epoch=0)
    reader = MinibatchReader(parts, room)
    reader.expect(order)
    read = [reader.read(minibatch) for minibatch in order]
    assert [len(part.loads) for part in parts] == [1] * len(rows)
    features = np.concatenate([batch.features for batch in read])
    assert sorted(features[:, 0]) == list(range(sum(rows)))
    for minibatch, batch in zip(order, read, strict=True):
        start = minibatch.index * batch_size
        expected = np.arange(start, start + minibatch.rows)
        np.testing.assert_array_equal(batch.features[:, 0], expected)


def test_what_is_done_with_is_let_go_before_more_is_loaded():
    held = []

    class Watched(Counted):
        def load(self):
            held.append(len(reader._loaded))
            return super().load()

    parts = [Watched(part.name, part.examples) for part in partitions([10] * 5)]
    plan = plan_minibatches([10] * 5, 5)
    reader = MinibatchReader(parts, cache_bytes=80)
    reader.expect(plan)
    for minibatch in plan:
        reader.read(minibatch)
    assert held == [0] * 5


def test_multi_data_sets_are_merged_as_such():
    parts = [Counted(f"part {k}", MultiDataSet([np.full((2, 1), k)])) for k in range(2)]
    read = MinibatchReader(parts).read(plan_minibatches([2, 2], 4)[0])
    np.testing.assert_array_equal(read.features[0][:, 0], [0, 0, 1, 1])


def test_both_kinds_in_one_minibatch_are_refused():
    parts = [*partitions([2]), Counted("part 1", MultiDataSet([np.zeros((2, 1))]))]
    with pytest.raises(
        DataError, match=r"^part 0: all partitions must hold DataSets, o"
    ):
        MinibatchReader(parts).read(plan_minibatches([2, 2], 4)[0])


def test_a_partition_that_shrank_is_named():
    with pytest.raises(DataError, match=r"^part 0: must still have 4 rows .* got 3\."):
        MinibatchReader(partitions([3])).read(
            Minibatch(0, (PartitionRows(0, 0, 4),), 4)
        )


def test_a_negative_cache_is_refused():
    with pytest.raises(OptionError, match="cache_bytes must be >= 0, got -1"):
        MinibatchReader([], cache_bytes=-1)
