"""File footers, which hold columns and row counts of Parquet and ORC files."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from daskdl.data.fingerprint import tail_of
from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import (
    ExampleColumns,
    check_exist,
    check_types,
    resolve_columns,
)
from daskdl_bridge.readers.error_location import naming_damaged_file
from daskdl_bridge.readers.file_summary import FileSummary, type_in_words
from daskdl_bridge.readers.keys import with_key_type
from daskdl_bridge.storage import open_input

__all__ = ["Footer", "read_footers", "settled_columns", "summarize_footers"]

# They take a round trip each and no computing.
_AT_ONCE = 8


@dataclass(frozen=True, kw_only=True)
class Footer:
    """Rows, columns and metadata in the footer of a file.

    Parameters
    ----------
    rows : int
    types : mapping of str to pyarrow.DataType
        Of the columns, in their order.
    metadata : object
        Whatever else the form of the file tells, None if nothing.
    """

    rows: int
    types: Mapping[str, Any]
    metadata: Any = None


def read_footers(
    parts: Sequence[Part],
    options: SourceOptions,
    form: str,
    read: Callable[[Any], Footer],
) -> tuple[list[Footer], list[Part]]:
    """Read the footers of files, several at once.

    Parameters
    ----------
    parts : sequence of Part
    options : SourceOptions
        How to reach the store.
    form : str
        The form of the files, for messages.
    read : callable
        Returns what the footer of an open file tells.

    Returns
    -------
    list of Footer, list of Part
        One for each file; the files know the digests of their ends.

    Raises
    ------
    CorruptFileError
        If a file is cut short or damaged, as far as its footer tells.
    """

    def footer(part: Part) -> tuple[Footer, str]:
        with (
            naming_damaged_file(part.url, form),
            open_input(part.url, options.storage_options) as stream,
        ):
            return read(stream), tail_of(stream)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = list(pool.map(footer, parts))
    tailed = [
        part.with_tail(tail) for part, (_, tail) in zip(parts, found, strict=True)
    ]
    return [footer for footer, _ in found], tailed


def settled_columns(
    parts: Sequence[Part], footers: Sequence[Footer], options: SourceOptions
) -> ExampleColumns:
    """Return the columns of features, labels and keys, checked against all files.

    Raises
    ------
    ColumnError
        If a file lacks a column, or it has a type that cannot be used.
    """
    columns = resolve_columns(options, footers[0].types, parts[0])
    for part, footer in zip(parts, footers, strict=True):
        check_exist(columns.all(), [*footer.types, *part.types], part.url)
        check_types(columns, footer.types, part.url)
    return with_key_type(columns, parts, [footer.types for footer in footers])


def summarize_footers(footers: Sequence[Footer]) -> FileSummary:
    """Tell the columns of all files, and the rows of each."""
    types: dict[str, str] = {}
    for footer in footers:
        for name, kind in footer.types.items():
            types.setdefault(name, type_in_words(kind))
    return FileSummary(types=types, rows=[footer.rows for footer in footers])
