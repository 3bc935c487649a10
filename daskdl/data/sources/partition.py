"""An open source: partitions that any worker loads by itself."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet

if TYPE_CHECKING:
    from daskdl.data.sources.source import SourceOptions

__all__ = ["Partition", "Source"]


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
    """

    name: str
    rows: int | None
    class_names: tuple[str, ...] | None = None
    too_large: str = ""

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

    def stored_keys(self, keys: Any) -> Any:
        """Return the keys of loaded examples as a predictions file is to hold them.

        A source whose store knows the type of its keys returns an array that has it,
        so that all parts of the predictions agree.

        Parameters
        ----------
        keys : ndarray of shape (rows,) or None
            As `load` set them.

        Returns
        -------
        array of length rows, or None

        Raises
        ------
        DataError
            If a key does not fit the type in which keys are stored.
        """
        return keys

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
