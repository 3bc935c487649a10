"""An open source: partitions that any worker loads by itself."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.time_series import Alignment

if TYPE_CHECKING:
    from daskdl.data.sources.source import SourceOptions

__all__ = ["LoadedRows", "Partition", "Source", "StoredThrough"]


@dataclass(frozen=True, eq=False)
class LoadedRows:
    """Some rows of a partition: the examples, and rows that could not become any.

    Parameters
    ----------
    examples : DataSet or MultiDataSet
    skipped : int
        How many rows were left out.
    is_valid : ndarray of shape (rows,), bool, optional
        Where some rows are kept without becoming examples: which did.
    keys : ndarray of shape (rows,), optional
        Of all rows but those that were left out.
    columns : object, optional
        Further columns of the same rows, for `Partition.kept_columns`.
    """

    examples: DataSet | MultiDataSet
    skipped: int = 0
    is_valid: NDArray[np.bool_] | None = None
    keys: NDArray[Any] | None = None
    columns: Any = None

    def are_valid(self) -> NDArray[np.bool_]:
        """Return which of the rows that were not left out are examples."""
        if self.is_valid is not None:
            return self.is_valid
        return np.ones(self.examples.num_examples, np.bool_)


class Partition(ABC):
    """A part of a source that a worker loads by itself; small and picklable.

    Attributes
    ----------
    name : str
        What messages call it: a path, ``DataSet 3``.
    rows : int or None
        Number of examples where it is known without loading.
    class_names : tuple of str, or None
        Of the labels, if they are stored, in the order of their numbers.
    too_large : str
        Where it is read as a whole: that it is, and what to do if memory does not hold
        it. For messages.
    align : {"start", "end", "equal_length"}, or None
        Where the steps of shorter time series stand, in whatever is made of several of
        its blocks; None where nothing was padded.
    kept : tuple of str
        Further columns that stand beside predictions.
    """

    name: str
    rows: int | None
    class_names: tuple[str, ...] | None = None
    too_large: str = ""
    align: Alignment | None = None
    kept: tuple[str, ...] = ()

    @abstractmethod
    def load(self) -> DataSet | MultiDataSet:
        """Load all examples in stored order; keys are set if the options name a key.

        Raises
        ------
        DataError
            If the stored data cannot be used; the message names partition, column and
            the first bad row.
        """

    def load_blocks(self) -> Iterator[DataSet | MultiDataSet]:
        """Yield the examples of :meth:`load` in order, as much at once as memory holds.

        At least one block, and the same ones every time.

        Raises
        ------
        DataError
            As :meth:`load`.
        """
        yield self.load()

    def load_rows(self) -> Iterator[LoadedRows]:
        """Yield the blocks of :meth:`load_blocks`, and what became of all rows.

        Raises
        ------
        DataError
            As :meth:`load`.
        """
        for examples in self.load_blocks():
            yield LoadedRows(examples, keys=examples.keys)

    def held_keys(self) -> tuple[Hashable, ...]:
        """Return the keys of what workers of a cluster hold of it, by Dask's names."""
        return ()

    def has_keys(self) -> bool:
        """Say whether the examples bring keys though the options name none."""
        return False

    def told_keys(self, keys: Any) -> Any:
        """Return the keys of loaded examples as the user gave them.

        Parameters
        ----------
        keys : ndarray of shape (rows,) or None
            As `load` set them.

        Raises
        ------
        DataError
            If they cannot be told from what is stored.
        """
        return keys

    def stored_keys(self, keys: Any, number: int = 0) -> Any:
        """Return the keys of loaded examples as a predictions file is to hold them.

        A source whose store knows the type of its keys returns an array that has it,
        so that all parts of the predictions agree.

        Parameters
        ----------
        keys : ndarray of shape (rows,) or None
            As `load` set them, or of one column if several make the key.
        number : int
            Which of several columns.

        Returns
        -------
        array of length rows, or None

        Raises
        ------
        DataError
            If a key does not fit the type in which keys are stored.
        """
        return self.told_keys(keys)

    def kept_columns(self, blocks: Sequence[Any]) -> Mapping[str, Any]:
        """Return further columns as a predictions file is to hold them.

        Parameters
        ----------
        blocks : sequence
            `LoadedRows.columns` of all blocks in order.

        Returns
        -------
        mapping of str to array of length rows

        Raises
        ------
        ColumnError
            If values do not fit the type in which the column is stored elsewhere.
        """
        return {}

    def for_training(
        self, examples: DataSet | MultiDataSet, epoch: int, index: int
    ) -> DataSet | MultiDataSet:
        """Return a minibatch for training, with its random draws made.

        Parameters
        ----------
        examples : DataSet or MultiDataSet
            A minibatch that begins in this partition, made of what `load` gave.
        epoch, index : int
            They decide what is drawn: a repeated minibatch is the same.
        """
        return examples


class StoredThrough(Partition):
    """A partition that gives what another one stores, changed on the way.

    Attributes
    ----------
    stored : Partition
        What is loaded.
    """

    stored: Partition

    @property
    def too_large(self) -> str:  # type: ignore[override]
        """What is said of the stored partition, for messages."""
        return self.stored.too_large

    @property
    def align(self) -> Alignment | None:  # type: ignore[override]
        """Alignment of the stored time series."""
        return self.stored.align

    def has_keys(self) -> bool:
        """Say whether what is stored has keys; see `Partition.has_keys`."""
        return self.stored.has_keys()

    def told_keys(self, keys: Any) -> Any:
        """Return the keys as they were given; see `Partition.told_keys`."""
        return self.stored.told_keys(keys)

    def stored_keys(self, keys: Any, number: int = 0) -> Any:
        """Return the keys as they are stored; see `Partition.stored_keys`."""
        return self.stored.stored_keys(keys, number)

    def for_training(self, examples: Any, epoch: int, index: int) -> Any:
        """Return a minibatch for training; see `Partition.for_training`."""
        return self.stored.for_training(examples, epoch, index)


@dataclass(frozen=True)
class Source:
    """Partitions in order, with a name for messages.

    Parameters
    ----------
    name : str
        What messages call it.
    partitions : tuple of Partition
        In order: the examples of the source are theirs, one partition after another.
    minibatches : bool
        True: each partition is one minibatch already and is trained as it is.
    in_memory : bool
        True: the partitions carry their arrays. They are scanned where they are, and
        minibatch k goes to worker k mod n, so that the order of training is that of
        one process.
    class_names : tuple of str, optional
        Of the labels, if what is stored names them; in the order of their numbers.
    options : SourceOptions, optional
        Those that `open_source` opened it with.
    """

    name: str
    partitions: tuple[Partition, ...]
    minibatches: bool = False
    in_memory: bool = False
    class_names: tuple[str, ...] | None = None
    options: "SourceOptions | None" = None
