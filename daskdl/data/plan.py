"""The plan of an epoch: minibatches cut from partitions, dealt to workers.

All of it is pure: numbers of rows in, lists of minibatches out. Nothing is loaded here;
:mod:`daskdl.data.reader` turns a minibatch of the plan into a data set.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeVar

import numpy as np

from daskdl.arrays.random import stream
from daskdl.checks import check_at_least, check_positive
from daskdl.data.room import Room
from daskdl.errors import OptionError

__all__ = [
    "Minibatch",
    "PartitionRows",
    "deal",
    "deal_rest",
    "plan_given",
    "plan_minibatches",
    "shuffle",
    "shuffle_in_windows",
]

M = TypeVar("M")


@dataclass(frozen=True)
class PartitionRows:
    """Rows `start` to `stop` (exclusive) of the partition with that number."""

    partition: int
    start: int
    stop: int

    @property
    def rows(self) -> int:
        """Number of rows in the piece."""
        return self.stop - self.start


@dataclass(frozen=True)
class Minibatch:
    """The rows that one iteration of one worker sees.

    Parameters
    ----------
    index : int
        Number of the minibatch in the plan; shuffling and dealing keep it.
    pieces : tuple of PartitionRows
        Where the rows come from, in order. More than one piece where a minibatch spans
        the border of a partition.
    rows : int
        Number of rows in all pieces together.
    """

    index: int
    pieces: tuple[PartitionRows, ...]
    rows: int


def plan_minibatches(rows: Sequence[int], batch_size: int) -> list[Minibatch]:
    """Cut the examples of all partitions, in order, every `batch_size` rows.

    Parameters
    ----------
    rows : sequence of int
        Number of rows of each partition; 0 is allowed.
    batch_size : int
        Rows of each minibatch.

    Returns
    -------
    list of Minibatch
        Every row is in exactly one minibatch; only the very last may be short.

    Raises
    ------
    OptionError
        If `batch_size` is not positive or a number of rows is negative.
    """
    check_positive("plan_minibatches", "batch_size", batch_size)
    minibatches: list[Minibatch] = []
    pieces: list[PartitionRows] = []
    missing = batch_size
    for partition, count in enumerate(_checked_rows("plan_minibatches", rows)):
        start = 0
        while start < count:
            stop = min(count, start + missing)
            pieces.append(PartitionRows(partition, start, stop))
            missing -= stop - start
            start = stop
            if missing == 0:
                minibatches.append(_minibatch(len(minibatches), pieces))
                pieces, missing = [], batch_size
    if pieces:
        minibatches.append(_minibatch(len(minibatches), pieces))
    return minibatches


def plan_given(rows: Sequence[int]) -> list[Minibatch]:
    """Take each partition as one minibatch, as it is; leave out the empty ones.

    This is the plan of sources that hold minibatches already: data sets given as a
    list, minibatch files of DL4J.
    """
    filled = [
        PartitionRows(partition, 0, count)
        for partition, count in enumerate(_checked_rows("plan_given", rows))
        if count
    ]
    return [_minibatch(index, [piece]) for index, piece in enumerate(filled)]


def deal(
    minibatches: Sequence[Minibatch], n_workers: int, *, interleaved: bool
) -> list[list[Minibatch]]:
    """Deal minibatches to workers; their counts differ by at most one.

    Parameters
    ----------
    minibatches : sequence of Minibatch
        In the order in which they are to be trained.
    n_workers : int
        Number of workers.
    interleaved : bool
        True deals minibatch k to worker k mod `n_workers`: the order of training is
        then that of one process. False gives each worker one contiguous block, so that
        each file is read by as few workers as can be.

    Returns
    -------
    list of list of Minibatch
        One list a worker; empty for some if there are fewer minibatches than workers.

    Raises
    ------
    OptionError
        If `n_workers` is not positive.
    """
    check_positive("deal", "n_workers", n_workers)
    if interleaved:
        return [list(minibatches[worker::n_workers]) for worker in range(n_workers)]
    each, extra = divmod(len(minibatches), n_workers)
    # The last blocks take the extra minibatch: the only short one is in the last block,
    # so the rows differ by less than with the extra ones at the front.
    sizes = [each + (worker >= n_workers - extra) for worker in range(n_workers)]
    stops = np.cumsum(sizes, dtype=int).tolist()
    return [
        list(minibatches[stop - size : stop])
        for size, stop in zip(sizes, stops, strict=True)
    ]


def deal_rest(
    shares: Sequence[Sequence[Minibatch]],
    positions: Sequence[int],
    n_workers: int,
    *,
    interleaved: bool,
) -> list[list[Minibatch]]:
    """Deal what is left of an epoch that was stopped.

    Parameters
    ----------
    shares : sequence of sequence of Minibatch
        Of each worker that trained the epoch so far.
    positions : sequence of int
        How many of its share each of them has trained.
    n_workers : int
        How many go on; the same number keep their shares.
    interleaved : bool
        As for :func:`deal`.

    Returns
    -------
    list of list of Minibatch
        One list a worker that goes on.
    """
    left = [list(share[at:]) for share, at in zip(shares, positions, strict=True)]
    if len(left) == n_workers:
        return left
    turns = zip_longest(*left) if interleaved else left
    rest = [one for turn in turns for one in turn if one is not None]
    return deal(rest, n_workers, interleaved=interleaved)


def shuffle(minibatches: Sequence[M], seed: int, epoch: int) -> list[M]:
    """Return the minibatches in a random order that seed and epoch alone decide.

    Parameters
    ----------
    minibatches : sequence
        Left as they are; rows stay with their minibatch.
    seed : int
        Of the run, at least 0.
    epoch : int
        Number of the epoch, from 0.

    Returns
    -------
    list
        A new one, the same on every machine.
    """
    check_at_least("shuffle", "epoch", epoch, 0)
    order = stream(seed, "shuffle", epoch).permutation(len(minibatches))
    return [minibatches[i] for i in order]


def shuffle_in_windows(
    minibatches: Sequence[Minibatch],
    nbytes: Sequence[int],
    streams: Sequence[int],
    room: Room,
    seed: int,
    epoch: int,
) -> list[Minibatch]:
    """Return the minibatches in a random order in which partitions are loaded once.

    The streams come in a random order, the partitions of each in their own. As many as
    fit in a window together, at least one, are one, and the minibatches of a window are
    shuffled. One of rows of several partitions comes with the last of them.

    Parameters
    ----------
    minibatches : sequence of Minibatch
        Left as they are.
    nbytes : sequence of int
        What each partition holds when it is loaded, by its number.
    streams : sequence of int
        Which partitions can be read in their order only: those of one number.
    room : Room
        Where it holds all partitions, the order is that of :func:`shuffle`.
    seed, epoch : int
        As for :func:`shuffle`.

    Returns
    -------
    list
        A new one, the same on every machine.
    """
    partitions = sorted({p.partition for one in minibatches for p in one.pieces})
    if sum(nbytes[number] for number in partitions) <= room.cache_bytes:
        return shuffle(minibatches, seed, epoch)
    check_at_least("shuffle_in_windows", "epoch", epoch, 0)
    rng = stream(seed, "shuffle", epoch)
    window_of: dict[int, int] = {}
    window, held = 0, 0
    place = rng.permutation(max(streams) + 1)
    for number in sorted(partitions, key=lambda one: (place[streams[one]], one)):
        if held and held + nbytes[number] > room.window_bytes:
            window, held = window + 1, 0
        window_of[number] = window
        held += nbytes[number]
    members: list[list[Minibatch]] = [[] for _ in range(window + 1)]
    for minibatch in minibatches:
        last = max(window_of[piece.partition] for piece in minibatch.pieces)
        members[last].append(minibatch)
    return [
        one[place] for one in members for place in rng.permutation(len(one)).tolist()
    ]


def _minibatch(index: int, pieces: list[PartitionRows]) -> Minibatch:
    return Minibatch(index, tuple(pieces), sum(piece.rows for piece in pieces))


def _checked_rows(who: str, rows: Sequence[int]) -> Sequence[int]:
    for partition, count in enumerate(rows):
        if count < 0:
            raise OptionError(
                f"{who}: rows of partition {partition} must be >= 0, got {count!r}."
            )
    return rows
