"""Summaries of files: their columns, and the rows of those that count them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daskdl_bridge.listing import Part
from daskdl_bridge.readers.vectors import is_vector

__all__ = ["FileSummary", "type_in_words", "unknown_rows"]


@dataclass(frozen=True, kw_only=True)
class FileSummary:
    """Columns and rows of the files of a source.

    Parameters
    ----------
    types : mapping of str to str
        Of the columns in the files, in words.
    rows : sequence of int or None
        Of each file; None where only reading it would tell.
    hint : str
        What looks wrong.
    """

    types: Mapping[str, str] = field(default_factory=dict)
    rows: Sequence[int | None]
    hint: str = ""


def type_in_words(arrow_type: Any) -> str:
    """Return a type as text; Spark's vectors by their name, as they are four fields."""
    return "vector" if is_vector(arrow_type) else str(arrow_type)


def unknown_rows(parts: Sequence[Part]) -> list[int | None]:
    """Return the rows of files that do not tell them: none if they are empty."""
    return [0 if part.size == 0 else None for part in parts]
