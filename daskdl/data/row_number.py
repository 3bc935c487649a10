"""Numbers of rows in messages."""

from typing import Protocol

__all__ = ["RowNumber"]


class RowNumber(Protocol):
    """The number of a row, for messages: an int, or what reads as one.

    Who does not know how many rows lie in front of its own, may count them when a
    message needs the number and no sooner.
    """

    def __add__(self, rows: int, /) -> "RowNumber":
        """Return the number of a row further down."""
