"""Numbers of rows in messages."""

from typing import Protocol

__all__ = ["NoRowNumber", "RowNumber", "is_numbered", "row_in_words"]


class RowNumber(Protocol):
    """The number of a row, for messages: an int, or what reads as one.

    Who does not know how many rows lie in front of its own, may count them when a
    message needs the number and no sooner.
    """

    def __add__(self, rows: int, /) -> "RowNumber":
        """Return the number of a row further down."""


class NoRowNumber:
    """The number of a row in what has no order that its reader could look at."""

    def __add__(self, rows: int, /) -> "NoRowNumber":
        return self

    def __str__(self) -> str:
        return "a row"


def is_numbered(number: RowNumber) -> bool:
    """Say whether a number, by which rows are found, is one."""
    return str(number)[:1].isdigit()


def row_in_words(number: RowNumber) -> str:
    """Return ``row 4``, or ``a row`` where there are no numbers."""
    return f"row {number}" if is_numbered(number) else str(number)
