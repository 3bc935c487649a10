"""Numbers of rows where nothing tells how many stand before a span of a file."""

from dataclasses import dataclass, replace

from daskdl.data.row_number import RowNumber
from daskdl_bridge.listing import Part

__all__ = ["first_row_of"]


def first_row_of(part: Part) -> RowNumber:
    """Return the number of a part's first row: in its file, or among its own."""
    return _RowInSpan(part.span) if part.span and part.span[0] else 0


@dataclass(frozen=True)
class _RowInSpan:
    """The number of a row among those of a span, whose number in the file is unknown.

    Parameters
    ----------
    span : (int, int)
        Bytes of the file.
    row : int
    """

    span: tuple[int, int]
    row: int = 0

    def __add__(self, rows: int, /) -> "_RowInSpan":
        return replace(self, row=self.row + rows)

    def __str__(self) -> str:
        return f"{self.row} of bytes {self.span[0]} to {self.span[1]}"
