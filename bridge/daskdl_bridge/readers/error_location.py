"""The location of an error in stored data, in the words of every reader."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from daskdl.data.row_number import RowNumber, is_numbered, row_in_words
from daskdl.errors import (
    CorruptFileError,
    DaskdlError,
    DataError,
    SourceNotFoundError,
    StorageError,
)
from daskdl_bridge.storage import Location

__all__ = ["ErrorLocation", "first_true", "naming_damaged_file"]


@dataclass(frozen=True)
class ErrorLocation:
    """A column of a stored part.

    Parameters
    ----------
    part : str
        URL of the part file.
    column : str
        Name of the column.
    first_row : int or RowNumber
        Number within the file of the first row at hand. Rows are counted from 0.
    """

    part: str
    column: str
    first_row: RowNumber = 0

    def __str__(self) -> str:
        return f"{self.part}: column {self.column!r}"

    def row(self, index: int) -> str:
        """Return a row in words, by its index within the rows at hand."""
        return row_in_words(self.first_row + index)

    def refuse_nulls(self, is_null: NDArray[np.bool_]) -> None:
        """Refuse the column if one of its rows, shape (rows,), holds nothing."""
        if not is_null.any():
            return
        first = first_true(is_null)
        found = f"{self.row(first)} is null"
        if not is_numbered(self.first_row + first):
            n_null = int(is_null.sum())
            # Of those that are read at once.
            found = f"at least {n_null} {'is' if n_null == 1 else 'are'} null"
        raise DataError(f"{self} must hold a value in every row, {found}.")


def first_true(flags: NDArray[np.bool_]) -> int:
    """Return the index of the first true flag of (n,); there must be one."""
    return int(np.argmax(flags))


@contextmanager
def naming_damaged_file(url: Location, form: str) -> Iterator[None]:
    """Turn errors of decoders about damaged bytes into one that names the file.

    Raises
    ------
    CorruptFileError
        For errors of pyarrow, gzip and bz2 about what they were given.
    StorageError
        If the store did not answer.
    SourceNotFoundError
        If the file went away.
    """
    try:
        yield
    except (DaskdlError, PermissionError):
        raise
    except (ConnectionError, TimeoutError) as error:
        raise StorageError(
            f"{url}: the store must give the file, it does not: {error}."
        ) from error
    except FileNotFoundError as error:
        raise SourceNotFoundError(
            f"{url}: the file must stay where it was listed, it is gone."
        ) from error
    except pa.ArrowNotImplementedError as error:
        raise DataError(
            f"{url}: pyarrow {pa.__version__} must be able to read the {form} file, "
            f"it is not: {error}"
        ) from error
    except (
        pa.ArrowException,
        EOFError,
        zlib.error,
        OSError,
        # Names of columns, in footers that have no checksum.
        UnicodeDecodeError,
    ) as error:
        # An error number comes from the operating system, which blames no bytes.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = " ".join(str(error).split())  # Thrift's messages are of several lines
        raise CorruptFileError(
            f"{url}: must be a whole {form} file, it is cut short or damaged: {reason}"
        ) from error
