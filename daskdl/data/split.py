"""Splits of a source into parts that each hold some of its examples.

Nothing is copied: a partition of a part loads what the source stores and keeps the
examples that are its own. Which those are, seed and position decide: the position of an
example among those of its class, or among all, goes through a random permutation, and
the place where it arrives tells the part. A partition need know no more than how many
examples of each class lie before it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.random import stream
from daskdl.checks import check_positive
from daskdl.data.classes import classes_of_examples, count_classes
from daskdl.data.pairs import Examples
from daskdl.data.permutation import Permutation
from daskdl.data.pre_processors.partition import stored_partition, with_stored
from daskdl.data.sources.partition import (
    LoadedRows,
    Partition,
    Source,
    StoredThrough,
)
from daskdl.errors import DataError, OptionError

__all__ = ["SplitPartition", "check_fractions", "count_for_split", "split_source"]

_Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _SplitPlan:
    """What all partitions of a split know; small however many classes there are."""

    seed: int
    # Where each part ends, as a fraction of all examples.
    ends: tuple[float, ...]
    # Examples of each class; a single number if classes do not matter.
    totals: _Counts
    stratify: bool

    def named(self, name: str, part: int) -> str:
        """Return a name for messages, and for runs that go on with the same data."""
        return f"{name} (part {part} of a split with seed {self.seed})"

    def parts(self, number: int, positions: _Counts) -> _Counts:
        """Return the part of each position among the examples of a class."""
        total = int(self.totals[number])
        # One number moves all ends, so that sizes are exact within one and no part
        # gains from rounding where classes are small.
        moved = stream(self.seed, "split", "ends", number).random()
        places = [int(end * total + moved) for end in self.ends[:-1]]
        permutation = Permutation.drawn(total, self.seed, "split", number)
        return np.searchsorted(places, permutation.places(positions), side="right")


@dataclass(frozen=True, eq=False)
class SplitPartition(StoredThrough):
    """The examples of a partition that belong to one part of a split.

    Parameters
    ----------
    stored : Partition
        What is loaded.
    part : int
        Number of the part.
    plan : _SplitPlan
        Of all partitions.
    before : ndarray of shape (n_classes,), int64
        How many examples of each class are in the partitions before this one.
    """

    stored: Partition
    part: int
    plan: _SplitPlan
    before: _Counts
    rows: None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name of the stored partition, with the part."""
        return self.plan.named(self.stored.name, self.part)

    @property
    def class_names(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """Names of the classes of the stored partition."""
        return self.stored.class_names

    def load(self) -> Examples:
        """Return the examples of the part; see `Partition.load`."""
        examples = self.stored.load()
        return examples.take(self._own_rows(examples, self.before.copy()))

    def load_blocks(self) -> Iterator[Examples]:
        """Yield blocks of the examples of the part; see `Partition.load_blocks`."""
        yield from (rows.examples for rows in self.load_rows())

    def load_rows(self) -> Iterator[LoadedRows]:
        """Yield rows of the part, each with all that were left out where it stands."""
        seen = self.before.copy()
        for rows in self.stored.load_rows():
            own = rows.examples.take(self._own_rows(rows.examples, seen))
            yield LoadedRows(own, rows.skipped, keys=own.keys)

    def _own_rows(self, examples: Examples, seen: _Counts) -> NDArray[np.int64]:
        """Return the rows that belong to the part; count all of them in `seen`."""
        classes = _classes(self.stored.name, examples, stratify=self.plan.stratify)
        parts = np.empty(len(classes), np.int64)
        for number in np.unique(classes).tolist():
            rows = np.flatnonzero(classes == number)
            self._check_counted(number, seen, len(rows))
            positions = seen[number] + np.arange(len(rows))
            parts[rows] = self.plan.parts(number, positions)
            seen[number] += len(rows)
        return np.flatnonzero(parts == self.part)

    def _check_counted(self, number: int, seen: _Counts, n_rows: int) -> None:
        totals = self.plan.totals
        size = int(totals[number]) if number < len(totals) else 0
        if not size or seen[number] + n_rows > size:
            of_class = f" of class {number}" if self.plan.stratify else ""
            raise DataError(
                f"{self.name}: must still hold the examples that were counted for the "
                f"split, got more than {size} in the whole source{of_class}. Split "
                "again."
            )


def check_fractions(fractions: Sequence[float]) -> list[float]:
    """Return where each part ends, as a fraction of all examples; the last is 1.

    Raises
    ------
    OptionError
        If the fractions are not positive numbers that add up to 1.
    """
    for fraction in fractions:
        check_positive("split", "each of fractions", fraction)
    ends = np.cumsum(fractions).tolist()
    # As many decimal fractions as anybody writes add up to 1 within this.
    if not ends or abs(ends[-1] - 1) > 1e-6:
        raise OptionError(
            f"split: fractions must add up to 1, got {list(fractions)!r}. Take what "
            "you leave out as a part of its own."
        )
    return [*ends[:-1], 1.0]


def count_for_split(partition: Partition, *, stratify: bool) -> _Counts:
    """Return how many examples of each class a partition has, for `split_source`.

    Returns
    -------
    ndarray of shape (n_classes,), int64
        Of shape (1,) if classes do not matter; nothing is read then where the number of
        rows is known.

    Raises
    ------
    DataError
        If the partition cannot be read, or labels are no single class an example.
    """
    # Classes and rows are those in front of preprocessors, which keep both.
    stored = stored_partition(partition)
    if stratify:
        return count_classes(stored)
    rows = stored.rows
    if rows is None:
        rows = sum(block.num_examples for block in stored.load_blocks())
    return np.array([rows])


def split_source(
    source: Source,
    ends: Sequence[float],
    counts: Sequence[_Counts],
    *,
    seed: int,
    stratify: bool,
) -> list[Source]:
    """Return a source for each part.

    Parameters
    ----------
    source : Source
    ends : sequence of float
        What `check_fractions` gave.
    counts : sequence of ndarray of shape (n_classes,)
        What `count_for_split` gave of each partition.
    seed : int
    stratify : bool
        As for `count_for_split`.

    Raises
    ------
    DataError
        If there is no example.
    """
    n_classes = max((len(one) for one in counts), default=0)
    table = np.zeros((len(counts) + 1, n_classes), np.int64)
    for row, one in zip(table[1:], counts, strict=True):
        row[: len(one)] = one
    before = table.cumsum(axis=0)
    if not before[-1].sum():
        raise DataError(
            f"{source.name}: must hold at least one example to be split, got none."
        )
    plan = _SplitPlan(seed, tuple(ends), before[-1], stratify)
    return [_source_of(source, part, plan, before) for part in range(len(ends))]


def _source_of(source: Source, part: int, plan: _SplitPlan, before: _Counts) -> Source:
    partitions = tuple(
        with_stored(one, SplitPartition(stored_partition(one), part, plan, counts))
        for one, counts in zip(source.partitions, before[:-1], strict=True)
    )
    name = plan.named(source.name, part)
    # Minibatches that are stored are cut apart.
    return replace(source, name=name, partitions=partitions, minibatches=False)


def _classes(name: str, examples: Examples, *, stratify: bool) -> _Counts:
    if stratify and examples.num_examples:
        return classes_of_examples(name, examples)
    return np.zeros(examples.num_examples, np.int64)
