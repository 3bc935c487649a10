"""Blocks: rows of a partition that are in memory together.

A large part of a store is read from its beginning to its end, a block at a time. For
plans and readers each of its blocks is a partition by itself.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.pairs import Examples
from daskdl.data.sources.partition import Partition
from daskdl.data.time_series import Alignment
from daskdl.errors import DataError

__all__ = [
    "BLOCK_BYTES",
    "BlockSize",
    "BlockStreams",
    "PartitionBlock",
    "block_streams",
    "joined_examples",
    "minibatches_of",
]

# What a block may hold. Small enough that the tables and copies which reading makes on
# the way, about three times as much, fit into the smallest worker beside its data, and
# are not most of what an allocator keeps; more at once is not read faster.
BLOCK_BYTES = 4 << 20


@dataclass(frozen=True)
class BlockSize:
    """Rows of a block, and the bytes that its examples hold when they are loaded."""

    rows: int
    nbytes: int


@dataclass(frozen=True, eq=False)
class PartitionBlock(Partition):
    """One of several blocks of a partition, as a partition by itself.

    Parameters
    ----------
    whole : Partition
        What it is a block of.
    stream : int
        Number of `whole` in its source: blocks of one stream follow each other.
    index, n_blocks : int
        Which of how many blocks.
    rows : int
        Number of examples.
    """

    whole: Partition
    stream: int
    index: int
    n_blocks: int
    rows: int

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name of the partition, for messages."""
        return self.whole.name

    @property
    def align(self) -> Alignment | None:  # type: ignore[override]
        """Alignment of the time series of the partition."""
        return self.whole.align

    def held_keys(self) -> tuple[Hashable, ...]:
        """Return those of the partition; see `Partition.held_keys`."""
        return self.whole.held_keys()

    def load(self) -> Examples:
        """Read the partition up to this block, and return it; see `BlockStreams`."""
        *_, (_, examples) = BlockStreams().load(self)
        return examples

    def for_training(self, examples: Examples, epoch: int, index: int) -> Examples:
        """Return a minibatch for training; see `Partition.for_training`."""
        return self.whole.for_training(examples, epoch, index)


class BlockStreams:
    """Loads partitions and blocks, the next blocks of a partition without going back.

    Attributes
    ----------
    loads : int
        How often a partition was begun.
    """

    def __init__(self) -> None:
        self.loads = 0
        # Begun and not at their end: the blocks to come, and the number of the next.
        self._begun: dict[int, tuple[Iterator[Examples], int]] = {}

    def load(self, partition: Partition) -> Iterator[tuple[int, Examples]]:
        """Yield the examples of a partition, or of blocks up to the one that is wanted.

        Parameters
        ----------
        partition : Partition
            If it is a block, those that are read on the way to it come before it.

        Yields
        ------
        int
            How many blocks before the wanted one: the last is 0.
        DataSet or MultiDataSet

        Raises
        ------
        DataError
            If it cannot be loaded, or the partition has fewer blocks than it had.
        """
        if not isinstance(partition, PartitionBlock):
            self.loads += 1
            yield 0, partition.load()
            return
        blocks, following = self._from(partition)
        for index in range(following, partition.index + 1):
            examples = next(blocks, None)
            if examples is None:
                raise DataError(
                    f"{partition.name}: must still have {partition.n_blocks} blocks as "
                    f"when it was scanned, got {index}."
                )
            yield partition.index - index, examples
        if partition.index + 1 < partition.n_blocks:
            self._begun[partition.stream] = blocks, partition.index + 1

    def close(self) -> None:
        """Close what is open: nobody reads on."""
        self._begun.clear()

    def _from(self, block: PartitionBlock) -> tuple[Iterator[Examples], int]:
        """Return blocks from which one can be reached, and the number of the first."""
        blocks, following = self._begun.pop(block.stream, (iter(()), block.n_blocks))
        if following > block.index:
            self.loads += 1
            return block.whole.load_blocks(), 0
        return blocks, following


def block_streams(
    partitions: Sequence[Partition], sizes: Sequence[Sequence[BlockSize]]
) -> tuple[tuple[Partition, ...], tuple[int, ...]]:
    """Return the blocks of all partitions, and of which partition each is.

    Parameters
    ----------
    partitions : sequence of Partition
    sizes : sequence of sequence of BlockSize
        Of the blocks of each; a partition of one block stays what it is.

    Returns
    -------
    blocks : tuple of Partition
        In the order of the examples.
    streams : tuple of int
        Number of the partition of each.
    """
    blocks: list[Partition] = []
    streams: list[int] = []
    for number, (partition, each) in enumerate(zip(partitions, sizes, strict=True)):
        streams += [number] * len(each)
        if len(each) == 1:
            blocks.append(partition)
            continue
        blocks += [
            PartitionBlock(partition, number, index, len(each), size.rows)
            for index, size in enumerate(each)
        ]
    return tuple(blocks), tuple(streams)


def joined_examples(
    parts: Sequence[Examples], names: Sequence[str], align: Alignment | None = None
) -> Examples:
    """Return examples of several places as one data set; those of one as they are.

    Parameters
    ----------
    parts : sequence of DataSet, or of MultiDataSet
        At least one.
    names : sequence of str
        Where each comes from, for messages.
    align : {"start", "end", "equal_length"}, optional
        Of their time series; see `Partition`.

    Raises
    ------
    DataError
        If there are both kinds.
    ShapeError
        If their shapes do not go together.
    """
    # Of no rows a reader may not know the shape.
    parts = [part for part in parts if part.num_examples] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    align = align or "start"
    single = [part for part in parts if isinstance(part, DataSet)]
    if len(single) == len(parts):
        return DataSet.merge(single, align=align)
    multi = [part for part in parts if isinstance(part, MultiDataSet)]
    if len(multi) == len(parts):
        return MultiDataSet.merge(multi, align=align)
    raise DataError(
        f"{names[0]}: all partitions must hold DataSets, or all MultiDataSets, got "
        f"both in {list(names)!r}."
    )


def minibatches_of(
    blocks: Iterable[tuple[str, Examples]],
    batch_size: int,
    align: Alignment | None = None,
) -> Iterator[Examples]:
    """Cut blocks into minibatches of one size, across their ends.

    Parameters
    ----------
    blocks : iterable of (str, DataSet or MultiDataSet)
        In order, each with its name for messages.
    batch_size : int
    align : {"start", "end", "equal_length"}, optional
        Of time series whose lengths differ; see `Partition`.

    Yields
    ------
    DataSet or MultiDataSet
        All of `batch_size` examples but for the last, which may have fewer.

    Raises
    ------
    DataError, ShapeError
        As `joined_examples`.
    """
    held: list[Examples] = []
    names: list[str] = []
    missing = batch_size
    for name, block in blocks:
        start = 0
        while start < block.num_examples:
            taken = block.slice(start, start + missing)
            start += taken.num_examples
            missing -= taken.num_examples
            held.append(taken)
            names.append(name)
            if not missing:
                yield joined_examples(held, names, align)
                held, names, missing = [], [], batch_size
    if held:
        yield joined_examples(held, names, align)
