"""Summaries of stored data, as people want to see them before they use the data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from daskdl.data.sources.source import SourceOptions, opened_by
from daskdl.errors import OptionError

__all__ = ["DataSummary", "summarize_data"]


@dataclass(frozen=True, kw_only=True)
class DataSummary:
    """The columns and parts of stored data, told without reading them through.

    Attributes
    ----------
    name : str
        What messages call it.
    columns : mapping of str to str
        Names and types in words; empty where there are none.
    partition_columns : tuple of str
        Those of `columns` that are not in the files but in the names of directories.
    parts : tuple of (str, int or None)
        Names of the partitions, and their rows where those are told.
    minibatches : bool
        Whether each part is one minibatch.
    hint : str
        What looks wrong, and what to do about it.
    """

    name: str
    columns: Mapping[str, str] = field(default_factory=dict)
    partition_columns: tuple[str, ...] = ()
    parts: tuple[tuple[str, int | None], ...]
    minibatches: bool = False
    hint: str = ""


def summarize_data(data: Any, options: SourceOptions) -> DataSummary:
    """Summarize stored data; `options` say how to read, and need name no columns.

    Raises
    ------
    OptionError
        If nothing that can be looked at is named.
    DataError
        If what is there cannot be read, as far as a look tells.
    """
    opener = opened_by(data)
    # Not every package's sources can be looked at.
    look = getattr(opener, "look", None)
    if look is None:
        raise OptionError(
            "summarize_data: data must be stored somewhere, got what "
            f"{type(opener).__name__} opens."
        )
    found: DataSummary = look(data, options)
    return found
