"""File footers, which hold columns and row counts of Parquet and ORC files."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from daskdl.checks import some
from daskdl.data.fingerprint import tail_of
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import (
    ExampleColumns,
    check_exist,
    check_types,
    refuse_missing,
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

    if len(parts) == 1:
        found = [footer(parts[0])]
    else:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            found = list(pool.map(footer, parts))
    tailed = [
        part.with_tail(tail) for part, (_, tail) in zip(parts, found, strict=True)
    ]
    return [footer for footer, _ in found], tailed


def settled_columns(
    parts: Sequence[Part], footers: Sequence[Footer], options: SourceOptions
) -> tuple[ExampleColumns, list[Part]]:
    """Return the columns of features, labels and keys, checked against all files.

    Returns
    -------
    ExampleColumns, list of Part
        Columns that a file lacks, which `merge_schema` allows, are null in all of its
        rows: in the part's values.

    Raises
    ------
    ColumnError
        If a file lacks a column, or it has a type that cannot be used.
    """
    everywhere = _types_of_all(footers)
    stored = everywhere if options.merge_schema else footers[0].types
    columns = resolve_columns(options, stored, parts[0], everywhere, has_structs=True)
    settled = []
    for part, footer in zip(parts, footers, strict=True):
        here = [*footer.types, *part.types]
        if not options.merge_schema:
            check_exist(columns.stored(), here, part.url, everywhere)
            if options.keep == "all":
                _check_no_others(footer, footers[0], part)
        missing = [name for name in columns.stored() if name not in here]
        _check_case(missing, here, part.url)
        if footer.rows and options.handle_invalid == "error":
            refuse_missing(columns, missing, part.url)
        check_types(columns, footer.types, part.url, options)
        settled.append(_with_nulls(part, {name: everywhere[name] for name in missing}))
    columns = with_key_type(columns, parts, [footer.types for footer in footers])
    return columns, settled


def _check_case(missing: Sequence[str], here: Sequence[str], url: str) -> None:
    """Refuse a file whose column differs in case only: Spark takes it for the same."""
    folded = {name.lower(): name for name in here}
    for name in missing:
        if name.lower() in folded:
            raise ColumnError(
                f"{url}: column {name!r} must be spelt alike in all files, got "
                f"{folded[name.lower()]!r}. Have Spark write the files anew."
            )


def _with_nulls(part: Part, types: Mapping[str, Any]) -> Part:
    if not types:
        return part
    nulls = dict.fromkeys(types)
    return replace(part, values={**part.values, **nulls}, types={**part.types, **types})


def _types_of_all(footers: Sequence[Footer]) -> dict[str, Any]:
    types: dict[str, Any] = {}
    for footer in footers:
        for name, kind in footer.types.items():
            types.setdefault(name, kind)
    return types


def _check_no_others(footer: Footer, first: Footer, part: Part) -> None:
    others = [name for name in footer.types if name not in first.types]
    if others:
        raise ColumnError(
            f"{part.url}: columns must be those of the first file to keep all of them, "
            f"got {some(others)} besides. Name the columns to keep."
        )


def summarize_footers(footers: Sequence[Footer]) -> FileSummary:
    """Tell the columns of all files, and the rows of each."""
    types = {n: type_in_words(kind) for n, kind in _types_of_all(footers).items()}
    return FileSummary(types=types, rows=[footer.rows for footer in footers])
