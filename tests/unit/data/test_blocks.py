"""Blocks of partitions: read once from the beginning to the end, and counted."""

import numpy as np
import pytest

from daskdl.data.blocks import BlockSize, BlockStreams, PartitionBlock, block_streams
from daskdl.data.dataset import DataSet
from daskdl.data.plan import plan_minibatches, shuffle_in_windows
from daskdl.data.reader import MinibatchReader
from daskdl.data.room import Room
from daskdl.data.scan import scan_partition
from daskdl.data.sources.partition import Partition
from daskdl.errors import DataError


class InBlocks(Partition):
    """Rows ``start`` to ``stop`` as blocks of four; counts how often it is begun."""

    def __init__(self, name, start, stop):
        self.name, self.rows = name, stop - start
        self.numbers = np.arange(start, stop, dtype="float32")[:, None]
        self.begun, self.made = 0, 0

    def load(self):
        return DataSet(self.numbers)

    def load_blocks(self):
        self.begun += 1
        for at in range(0, self.rows, 4):
            self.made += 1
            yield DataSet(self.numbers[at : at + 4])


def blocks_of(*parts):
    return block_streams(parts, [scan_partition_blocks(part) for part in parts])


def scan_partition_blocks(part):
    return scan_partition(part, statistics=False).blocks


def test_the_scan_describes_blocks_and_statistics_of_all():
    part = InBlocks("a", 0, 10)
    kept = []
    facts = scan_partition(part, statistics=True, keep=kept.append)
    assert facts.rows == 10
    assert facts.blocks == (BlockSize(4, 16), BlockSize(4, 16), BlockSize(2, 8))
    assert facts.nbytes == 40
    assert [one.num_examples for one in kept] == [4, 4, 2]
    (statistics,) = facts.statistics
    assert statistics.mean == pytest.approx(4.5)


def test_a_partition_of_one_block_stays_what_it_is():
    small, large = InBlocks("small", 0, 3), InBlocks("large", 3, 12)
    blocks, streams = blocks_of(small, large)
    assert blocks[0] is small
    assert [block.rows for block in blocks] == [3, 4, 4, 1]
    assert streams == (0, 1, 1, 1)


def starts(stream, block):
    return {before: one.features[0, 0] for before, one in stream.load(block)}


def test_blocks_are_read_on_and_not_anew():
    part = InBlocks("a", 0, 16)
    blocks, _ = blocks_of(part)
    part.begun = 0
    stream = BlockStreams()
    assert starts(stream, blocks[0]) == {0: 0}
    assert starts(stream, blocks[2]) == {1: 4, 0: 8}
    assert starts(stream, blocks[3]) == {0: 12}
    assert (part.begun, stream.loads) == (1, 1)
    assert starts(stream, blocks[1]) == {1: 0, 0: 4}
    assert (part.begun, stream.loads) == (2, 2)


def test_a_block_loads_by_itself():
    blocks, _ = blocks_of(InBlocks("a", 0, 16))
    np.testing.assert_array_equal(blocks[2].load().features[:, 0], [8, 9, 10, 11])


def test_a_partition_that_has_lost_blocks_is_refused():
    part = InBlocks("a", 0, 8)
    block = PartitionBlock(part, stream=0, index=2, n_blocks=3, rows=4)
    with pytest.raises(DataError, match="a: must still have 3 blocks as when it was"):
        block.load()


def test_an_epoch_in_windows_reads_each_partition_once():
    parts = [InBlocks(str(at), at * 30, at * 30 + 30) for at in range(5)]
    blocks, streams = blocks_of(*parts)
    rows = [block.rows for block in blocks]
    plan = plan_minibatches(rows, 7)
    nbytes = [4 * count for count in rows]
    room = Room(cache_bytes=64, window_bytes=64)
    order = shuffle_in_windows(plan, nbytes, streams, room, seed=1, epoch=0)
    for part in parts:
        part.begun = 0
    reader = MinibatchReader(blocks, cache_bytes=64)
    read = list(reader.read_all(order, epoch=0))
    assert [part.begun for part in parts] == [1] * 5
    assert reader.loads == 5
    numbers = np.concatenate([one.features[:, 0] for one in read])
    assert sorted(numbers) == list(range(150))
    assert list(numbers) != sorted(numbers)
