"""The base of data sets: slicing, shuffling, files."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from daskdl.checks import check_count
from daskdl.data.files import open_input, write_output
from daskdl.errors import ShapeError

E = TypeVar("E", bound="ExampleSet")


class ExampleSet(ABC):
    """Base of data sets: some examples, with features, labels, masks and keys."""

    __slots__ = ()

    @property
    @abstractmethod
    def num_examples(self) -> int:
        """Number of examples: the length of axis 0 of every array."""

    def __len__(self) -> int:
        return self.num_examples

    def slice(self: E, start: int, stop: int) -> E:
        """Return the examples from `start` to `stop` (exclusive) as views."""
        return self._take(slice(start, stop))

    def take(self: E, rows: NDArray[np.int64]) -> E:
        """Return the examples with these numbers, in this order, as a copy.

        Raises
        ------
        ShapeError
            If `rows` is not one-dimensional.
        """
        if np.ndim(rows) != 1:
            raise ShapeError(
                f"{type(self).__name__}.take: rows must be numbers in a row, got "
                f"{np.ndim(rows)} axes."
            )
        return self._take(rows)

    def batches(self: E, batch_size: int) -> Iterator[E]:
        """Yield the examples in order, `batch_size` at a time; the last may be short.

        Raises
        ------
        OptionError
            If `batch_size` is no whole number greater than 0.
        """
        check_count(f"{type(self).__name__}.batches", "batch_size", batch_size)
        for start in range(0, self.num_examples, batch_size):
            yield self.slice(start, start + batch_size)

    def shuffled(self: E, rng: np.random.Generator) -> E:
        """Return a copy with the examples in a random order drawn from `rng`."""
        return self._take(rng.permutation(self.num_examples))

    def save(
        self,
        path_or_url: str,
        *,
        overwrite: bool = False,
        storage_options: dict[str, Any] | None = None,
    ) -> None:
        """Write DL4J's own file of this class, as 1.0.0-M2.1 does byte for byte.

        Arrays that were loaded keep ND4J's type and order. Keys are not stored; the
        format has no place for them.

        Parameters
        ----------
        path_or_url : str or path
            Anything that fsspec opens: plain paths, ``file://``, ``hdfs://``, ...
        overwrite : bool
            Replace what is there.
        storage_options : dict, optional
            Handed to the file system.

        Raises
        ------
        OutputExistsError
            If there is a file and `overwrite` is False.
        DataError
            If an array has a dtype that the format does not know, or metadata are
            neither text nor what was read from Java.
        """
        write_output(
            path_or_url,
            self.write_to,
            overwrite=overwrite,
            storage_options=storage_options,
        )

    @abstractmethod
    def write_to(self, stream: BinaryIO) -> None:
        """Write the file of `save` to an open binary stream."""

    @classmethod
    def load(
        cls: type[E],
        path_or_url: str,
        *,
        with_metadata: bool = True,
        storage_options: dict[str, Any] | None = None,
    ) -> E:
        """Read a file of this class by any DL4J release, or of `save`.

        Parameters
        ----------
        path_or_url : str or path
            Anything that fsspec opens.
        with_metadata : bool
            Read example metadata and label names, too. Java serialised them; they are
            read as plain data, and nothing of them is executed.
        storage_options : dict, optional
            Handed to the file system.

        Raises
        ------
        SourceNotFoundError
            If there is no file.
        CorruptFileError
            If the file ends too early or is no such file; with path and offset.
        DataError
            If it holds no features.
        """
        with open_input(path_or_url, storage_options=storage_options) as stream:
            return cls.read_from(
                stream, name=str(path_or_url), with_metadata=with_metadata
            )

    @classmethod
    @abstractmethod
    def read_from(
        cls: type[E], stream: BinaryIO, *, name: str, with_metadata: bool = True
    ) -> E:
        """Read the file of `load` from a binary stream; `name` is for messages."""

    @abstractmethod
    def _take(self: E, rows: Any) -> E:
        """Return the examples with these numbers, or of a slice as views."""
