"""Rows of data in memory on their way to workers: each goes where it is worked on."""

from collections.abc import Sequence
from dataclasses import replace

from daskdl.data.blocks import joined_examples
from daskdl.data.plan import Minibatch, PartitionRows
from daskdl.data.sources.memory import MemoryPartition
from daskdl.data.sources.partition import Partition, Source

__all__ = ["cut_source", "gathered", "is_part_of_memory"]

# What is smaller is at its worker before another one has been asked.
LEAST_BYTES = 1 << 20


def cut_source(source: Source, pieces: int, batch_size: int) -> Source:
    """Return a source whose data in memory come in about so many partitions.

    Parameters
    ----------
    source : Source
        Partitions of other data stay as they are.
    pieces : int
        How many partitions there are to be together, if there is so much.
    batch_size : int
        Partitions are cut between minibatches of that many examples, so that the same
        minibatches come out of them.

    Returns
    -------
    Source
        With the rows in the same order: views of the same arrays.
    """
    held = [one for one in source.partitions if isinstance(one, MemoryPartition)]
    total = sum(one.examples.nbytes for one in held)
    least = max(LEAST_BYTES, total // max(1, pieces))
    parts = [part for one in source.partitions for part in _cut(one, least, batch_size)]
    return replace(source, partitions=tuple(parts))


def _cut(partition: Partition, nbytes: int, batch_size: int) -> list[Partition]:
    if not isinstance(partition, MemoryPartition) or not partition.rows:
        return [partition]
    rows, row_bytes = partition.rows, partition.examples.nbytes / partition.rows
    step = max(1, round(nbytes / max(1.0, row_bytes * batch_size))) * batch_size
    if step >= rows:
        return [partition]
    return [
        replace(partition, examples=partition.examples.slice(at, min(at + step, rows)))
        for at in range(0, rows, step)
    ]


def is_part_of_memory(partitions: Sequence[Partition], minibatch: Minibatch) -> bool:
    """Return whether a minibatch is a part of data in memory, and no more than that."""
    each = [(partitions[piece.partition], piece.rows) for piece in minibatch.pieces]
    return all(isinstance(one, MemoryPartition) for one, _ in each) and any(
        rows < (one.rows or 0) for one, rows in each
    )


def gathered(
    partitions: Sequence[Partition], minibatches: Sequence[Minibatch], first: int
) -> tuple[dict[int, Partition], list[Minibatch]]:
    """Return partitions with the rows of minibatches alone, and these as their pieces.

    Parameters
    ----------
    partitions : sequence of Partition
        All that minibatches need of them are :class:`MemoryPartition`.
    minibatches : sequence of Minibatch
        As the plan cut `partitions`.
    first : int
        Number of the first new partition.

    Returns
    -------
    dict of int to Partition
        Those that new pieces need, by their numbers: one for each old partition, with
        copies of the rows in the order of the minibatches. A partition of which all
        rows are needed is as it was, under its old number.
    list of Minibatch
        The same minibatches, in the same order.
    """
    needed: dict[int, list[PartitionRows]] = {}
    for minibatch in minibatches:
        for piece in minibatch.pieces:
            needed.setdefault(piece.partition, []).append(piece)
    sent: dict[int, Partition] = {}
    placed: dict[PartitionRows, PartitionRows] = {}
    for number, pieces in needed.items():
        old = partitions[number]
        if sum(piece.rows for piece in pieces) == old.rows:
            sent[number] = old
            continue
        new = first + len(sent)
        sent[new] = _with_rows(old, pieces)
        at = 0
        for piece in pieces:
            placed[piece] = PartitionRows(new, at, at + piece.rows)
            at += piece.rows
    return sent, [
        replace(one, pieces=tuple(placed.get(piece, piece) for piece in one.pieces))
        for one in minibatches
    ]


def _with_rows(partition: Partition, pieces: Sequence[PartitionRows]) -> Partition:
    if not isinstance(partition, MemoryPartition):
        return partition
    parts = [partition.examples.slice(one.start, one.stop) for one in pieces]
    joined = joined_examples(parts, [partition.name] * len(parts), partition.align)
    return replace(partition, examples=joined)
