"""Directories of image files: the columns ``features``, ``label`` and ``path``.

The label is the number of a class that the path of the file names, that of its
directory if nothing else is said. Many files make one partition.
"""

import itertools
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from daskdl.data.blocks import BLOCK_BYTES
from daskdl.data.row_number import RowNumber
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.text_options import PARENT
from daskdl.errors import DataError
from daskdl_bridge.fingerprint import unchanged
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.columns import resolve_columns
from daskdl_bridge.readers.error_location import naming_damaged_file
from daskdl_bridge.readers.file_summary import FileSummary, type_in_words
from daskdl_bridge.readers.keys import with_key_type
from daskdl_bridge.readers.path_classes import class_of_path, sorted_classes
from daskdl_bridge.readers.table_reader import TablePartition, TableReader
from daskdl_bridge.storage import open_input

__all__ = ["ENDINGS", "ImageFilesReader", "open_parts", "summarize_parts"]

ENDINGS = ("png", "jpg", "jpeg", "gif", "tif", "tiff", "webp")
"""What names of image files end in."""

_FEATURES, _LABEL, _PATH = "features", "label", "path"
_TYPES = {_FEATURES: pa.binary(), _LABEL: pa.int64(), _PATH: pa.string()}

# What one partition is made of: enough that a worker has some, and that all of the
# paths in it are no large message.
_PARTITION_BYTES, _PARTITION_FILES = 16 << 20, 1 << 10

# How many times its bytes an image takes as numbers, where nothing tells its size.
_UNPACKED = 40


@dataclass(frozen=True)
class ImageFilesReader(TableReader):
    """Reads image files, one a row.

    Parameters
    ----------
    files : tuple of Part
        In the order of the rows.
    names : tuple of str
        Of the classes, in the order of their numbers.
    """

    files: tuple[Part, ...]
    names: tuple[str, ...]

    def read_blocks(
        self, part: Part, columns: list[str], options: SourceOptions
    ) -> Generator[Any, None, None]:
        """Yield tables of as many files as make the examples of a block."""
        held: list[Part] = []
        nbytes = 0
        for file in self.files:
            held.append(file)
            nbytes += file.size * _UNPACKED
            if nbytes >= BLOCK_BYTES:
                yield self._table(held, columns, options)
                held, nbytes = [], 0
        if held:
            yield self._table(held, columns, options)

    def _table(
        self, files: list[Part], columns: list[str], options: SourceOptions
    ) -> Any:
        made: dict[str, Any] = {}
        if _FEATURES in columns:
            made[_FEATURES] = [_content(file, options) for file in files]
        if _LABEL in columns:
            numbers = {name: number for number, name in enumerate(self.names)}
            made[_LABEL] = [
                numbers[class_of_path(file.url, _label_from(options))] for file in files
            ]
        if _PATH in columns:
            made[_PATH] = [file.url for file in files]
        return pa.table({name: pa.array(made[name], _TYPES[name]) for name in columns})


def open_parts(
    parts: Sequence[Part],
    options: SourceOptions,
    *,
    empty: Callable[[], Iterable[str]] = tuple,
) -> list[TablePartition]:
    """Make partitions of image files; none is read.

    Parameters
    ----------
    parts : sequence of Part
        One file an image. With labels they come in an order that their paths draw,
        always the same: in that of directories minibatches would be of one class.
    options : SourceOptions
        Without other names, features are ``features`` and labels ``label``. With
        `label_from`, that tells the class.
    empty : callable
        Returns the names of classes without a file; asked for where directories name
        the classes.

    Raises
    ------
    ColumnError
        If another column is named.
    DataError
        If a path names no class.
    """
    columns = resolve_columns(options, _TYPES, parts[0])
    columns = with_key_type(columns, parts, [_TYPES])
    names: tuple[str, ...] = ()
    above = _directory_of(parts)
    if _LABEL in columns.all():
        label_from = _label_from(options)
        names = sorted_classes((part.url for part in parts), label_from)
        more = empty() if label_from == PARENT else ()
        names = tuple(sorted({*names, *more}))
    if columns.labels:
        parts = sorted(parts, key=lambda part: _drawn(part.url.removeprefix(above)))
    return [
        TablePartition(
            name=f"{files[0].url} and {len(files) - 1} more"
            if files[1:]
            else files[0].url,
            rows=len(files),
            # Of all files together: each has its own fingerprint.
            part=replace(files[0], url=above, fingerprint=None),
            reader=ImageFilesReader(files, names),
            columns=columns,
            options=options,
            first_row=_RowOfFiles(tuple(file.url for file in files)),
            class_names=names if names and columns.labels else None,
        )
        for files in _gathered(parts)
    ]


def summarize_parts(parts: Sequence[Part], options: SourceOptions) -> FileSummary:
    """Tell the columns of image files, which are always the same."""
    types = {name: type_in_words(kind) for name, kind in _TYPES.items()}
    return FileSummary(types=types, rows=[1] * len(parts))


@dataclass(frozen=True)
class _RowOfFiles:
    """The number of a row, with the file that it is.

    Parameters
    ----------
    urls : tuple of str
        Of all rows.
    row : int
    """

    urls: tuple[str, ...]
    row: int = 0

    def __add__(self, rows: int, /) -> "RowNumber":
        return replace(self, row=self.row + rows)

    def __str__(self) -> str:
        return f"{self.row} ({self.urls[self.row]})"


def _content(file: Part, options: SourceOptions) -> bytes:
    with (
        unchanged(file.url, file.fingerprint, options.storage_options),
        naming_damaged_file(file.url, "image"),
        open_input(file.url, options.storage_options) as stream,
    ):
        content = bytes(stream.read(-1))
    if not content and options.handle_invalid == "error":
        raise DataError(
            f"{file.url}: an image must be there, the file is empty. Remove it, or "
            "leave such rows out with handle_invalid='skip'."
        )
    return content


def _label_from(options: SourceOptions) -> str:
    return PARENT if options.label_from is None else options.label_from


def _directory_of(parts: Sequence[Part]) -> str:
    """Return the directory that all files are below."""
    urls = [part.url for part in parts]
    first, last = min(urls), max(urls)
    # What these two share, all of them share.
    shared = itertools.takewhile(
        lambda pair: len(set(pair)) == 1, zip(first, last, strict=False)
    )
    return first[: sum(1 for _ in shared)].rpartition("/")[0]


def _drawn(path: str) -> tuple[int, str]:
    """Return what orders files as if by chance, wherever their directory is."""
    return zlib.crc32(path.encode(errors="surrogateescape")), path


def _gathered(parts: Sequence[Part]) -> Iterator[tuple[Part, ...]]:
    """Yield the files of each partition, which have the same partition columns."""
    by_values: dict[tuple[Any, ...], list[Part]] = {}
    for part in parts:
        by_values.setdefault(tuple(part.values.values()), []).append(part)
    for files in by_values.values():
        held: list[Part] = []
        nbytes = 0
        for file in files:
            held.append(file)
            nbytes += file.size
            if nbytes >= _PARTITION_BYTES or len(held) == _PARTITION_FILES:
                yield tuple(held)
                held, nbytes = [], 0
        if held:
            yield tuple(held)
