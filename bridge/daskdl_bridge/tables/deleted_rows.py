"""The rows of a data file that a table deleted without writing the file anew."""

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["DeletedRows"]


@dataclass(frozen=True)
class DeletedRows:
    """A bit for each row of a file, compressed, since it travels to a worker.

    Parameters
    ----------
    rows : int
        Of the file, or of the piece of it.
    bits : bytes
        As `of` makes them.
    """

    rows: int
    bits: bytes

    @classmethod
    def of(cls, is_deleted: NDArray[np.bool_]) -> "DeletedRows":
        """Return those of an array of shape (rows,)."""
        bits = zlib.compress(np.packbits(is_deleted).tobytes(), 1)
        return cls(len(is_deleted), bits)

    @property
    def count(self) -> int:
        """The number of rows that are deleted."""
        return int(np.count_nonzero(self.flags()))

    def flags(self) -> NDArray[np.bool_]:
        """Return whether each row is deleted, as a new array of shape (rows,)."""
        packed = np.frombuffer(zlib.decompress(self.bits), np.uint8)
        return np.unpackbits(packed, count=self.rows).astype(np.bool_)

    def of_file(self, rows: int) -> "DeletedRows":
        """Return those of a file of so many rows, of which the last were not told."""
        return DeletedRows.of(np.pad(self.flags(), (0, rows - self.rows)))

    def between(self, start: int, stop: int) -> "DeletedRows":
        """Return those of a piece, from one row to the one before another."""
        return DeletedRows.of(self.flags()[start:stop])
