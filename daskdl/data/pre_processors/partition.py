"""Sources whose examples go through preprocessors where they are loaded.

That is the one place: scans, normalizers, training, evaluations and predictions all see
what came out. What is drawn anew for each minibatch is drawn where one is read to be
trained, and nowhere else.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from daskdl.checks import check_type
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.normalizer import Normalizer
from daskdl.data.pre_processors.composite import (
    CompositeDataSetPreProcessor,
    pre_processor_from_dict,
)
from daskdl.data.pre_processors.under_sampling import UnderSampling
from daskdl.data.sources.partition import (
    LoadedRows,
    Partition,
    Source,
    StoredThrough,
)
from daskdl.errors import DataError, FormatError, OptionError, ShapeError

__all__ = [
    "PreProcessedPartition",
    "keep_features",
    "pre_processed",
    "pre_processors",
    "stored_partition",
    "with_stored",
]


@dataclass(frozen=True, eq=False)
class PreProcessedPartition(StoredThrough):
    """A partition whose examples go through preprocessors when it is loaded.

    Parameters
    ----------
    stored : Partition
        What is loaded.
    through : tuple of Normalizer
        In the order in which they run.
    """

    stored: Partition
    through: tuple[Normalizer, ...]

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name of the stored partition, for messages."""
        return self.stored.name

    @property
    def rows(self) -> int | None:  # type: ignore[override]
        """Number of examples: preprocessors keep it."""
        return self.stored.rows

    def load(self) -> DataSet | MultiDataSet:
        """Return the examples, preprocessed; see `Partition.load`."""
        return self._through(self.stored.load())

    def load_blocks(self) -> Iterator[DataSet | MultiDataSet]:
        """Yield blocks of the examples, preprocessed; see `Partition.load_blocks`."""
        yield from map(self._through, self.stored.load_blocks())

    def load_rows(self) -> Iterator[LoadedRows]:
        """Yield rows, their examples preprocessed; see `Partition.load_rows`."""
        for rows in self.stored.load_rows():
            yield replace(rows, examples=self._through(rows.examples))

    def _through(self, examples: DataSet | MultiDataSet) -> DataSet | MultiDataSet:
        # No examples may have no shape that a preprocessor could do with.
        if not examples.num_examples:
            return examples
        with self._named():
            made: DataSet | MultiDataSet = _transformed(examples, self.through)
        if made.num_examples != examples.num_examples:
            raise DataError(
                f"{self.name}: a preprocessor must keep the number of examples, "
                f"{examples.num_examples}, got {made.num_examples}."
            )
        return made

    def for_training(self, examples: Any, epoch: int, index: int) -> Any:
        """Draw masks of labels; see `Partition.for_training`."""
        if not examples.num_examples:
            return examples
        with self._named():
            for one in _flat(self.through):
                if isinstance(one, UnderSampling):
                    examples = one.drawn(examples, epoch, index)
        return examples

    @property
    def kept(self) -> tuple[str, ...]:  # type: ignore[override]
        """Further columns of the stored partition."""
        return self.stored.kept

    def kept_columns(self, blocks: Sequence[Any]) -> Mapping[str, Any]:
        """Return further columns as stored; see `Partition.kept_columns`."""
        return self.stored.kept_columns(blocks)

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except (DataError, OptionError, ShapeError) as error:
            raise type(error)(f"{self.name}: {error}") from error


def pre_processed(source: Source, through: tuple[Normalizer, ...]) -> Source:
    """Return a source whose examples go through preprocessors.

    One that was opened with these is returned as it is; they follow on others.

    Raises
    ------
    OptionError
        If others draw masks.
    """
    if all(getattr(one, "through", ()) == through for one in source.partitions):
        return source
    made = tuple(_behind(one, through) for one in source.partitions)
    return replace(source, partitions=made)


def pre_processors(who: str, given: Any) -> tuple[Normalizer, ...]:
    """Return preprocessors that can be run where data are loaded.

    Parameters
    ----------
    who : str
        For messages.
    given : Normalizer, mapping, name, sequence of those, or None
        A mapping is what ``to_dict`` gives; the name of a type is one without options.

    Raises
    ------
    OptionError
        If one is nothing of the kind, has not learnt what it needs, or comes behind one
        that draws masks.
    """
    if given is None:
        return ()
    if isinstance(given, list | tuple):
        each = enumerate(given)
        made = tuple(_made(who, f"pre_processor[{n}]", one) for n, one in each)
    else:
        made = (_made(who, "pre_processor", given),)
    _check_order(who, list(_flat(made)))
    return made


def stored_partition(partition: Partition) -> Partition:
    """Return what is loaded in front of preprocessors; without any, the partition."""
    if isinstance(partition, PreProcessedPartition):
        return partition.stored
    return partition


def with_stored(partition: Partition, stored: Partition) -> Partition:
    """Return the preprocessors of a partition behind another one that is loaded."""
    if isinstance(partition, PreProcessedPartition):
        return PreProcessedPartition(stored, partition.through)
    return stored


def keep_features(through: Iterable[Normalizer]) -> bool:
    """Say whether features keep the shape in which they are stored."""
    return not any(one.reshapes_features for one in _flat(through))


def _transformed(examples: Any, through: Iterable[Normalizer]) -> Any:
    for one in through:
        examples = one.transform(examples)
    return examples


def _behind(
    partition: Partition, through: tuple[Normalizer, ...]
) -> PreProcessedPartition:
    if isinstance(partition, PreProcessedPartition):
        through = partition.through + through
        _check_order(partition.name, list(_flat(through)))
        partition = partition.stored
    return PreProcessedPartition(partition, through)


def _made(who: str, option: str, given: Any) -> Normalizer:
    values = {"type": given} if isinstance(given, str) else given
    if isinstance(values, dict):
        try:
            made = pre_processor_from_dict(values)
        except (FormatError, OptionError) as error:
            raise OptionError(f"{who}: {option}: {error}") from error
    else:
        made = values
    check_type(who, option, made, Normalizer)
    if not made.is_fitted:
        raise OptionError(
            f"{who}: {option} must know all that it needs, got a {type(made).__name__} "
            "that learns. Fit it first, or give it as the normalizer."
        )
    return made


def _check_order(who: str, flat: Sequence[Normalizer]) -> None:
    for one, behind in pairwise(flat):
        if isinstance(one, UnderSampling) and not isinstance(behind, UnderSampling):
            raise OptionError(
                f"{who}: pre_processor must end with those that draw masks for each "
                f"minibatch, got a {type(behind).__name__} behind a "
                f"{type(one).__name__}. Put it in front."
            )


def _flat(through: Iterable[Normalizer]) -> Iterable[Normalizer]:
    for one in through:
        if isinstance(one, CompositeDataSetPreProcessor):
            yield from _flat(one.pre_processors)
        else:
            yield one
