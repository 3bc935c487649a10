"""Part files of lines (CSV, JSON, libsvm) as bytes, decompressed and checked.

A line ends in a line feed, a carriage return, or both. Of a part that is a span of a
file, the lines count that begin there: a line belongs to one span however long it is,
and nobody has to read a file to find where its spans begin. A byte order mark of UTF-8,
as Excel writes, is dropped, as Spark does.
"""

import bz2
import codecs
import gzip
import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import CorruptFileError, DataError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.error_location import naming_damaged_file
from daskdl_bridge.storage import open_input

__all__ = [
    "CODECS",
    "FOREIGN_CODECS",
    "as_utf8",
    "has_plain_lines",
    "read_head",
    "read_lines",
]

_OPENERS: Mapping[str, Any] = MappingProxyType({".gz": gzip.open, ".bz2": bz2.open})

CODECS = tuple(_OPENERS)

# Hadoop frames these in a way of its own.
FOREIGN_CODECS = (".snappy", ".lz4", ".lzo", ".zst", ".zstd", ".deflate")

_MARKS = (
    codecs.BOM_UTF16_LE,
    codecs.BOM_UTF16_BE,
    codecs.BOM_UTF32_LE,
    codecs.BOM_UTF32_BE,
)

# Also where a character has two or four bytes, the lowest first.
_LINE_ENDS = (b"\n", b"\n\0", b"\n\0\0\0")

_LINE_END = re.compile(rb"\r\n|\r|\n")
_LINE_FEED = re.compile(rb"\n")

# Enough for a header and a few records.
_HEAD_BYTES = 1 << 20

# The first read behind a span, for the end of its last line; each one doubles.
_STEP_BYTES = 64 << 10


def read_lines(part: Part, form: str, storage_options: Mapping[str, Any]) -> bytes:
    """Return the bytes of a part, decompressed; of a span, those of its lines.

    Raises
    ------
    CorruptFileError
        If the compressed bytes end too early or are damaged, or if a file of Spark
        does not end with a line end: it was cut short.
    DataError
        If the codec is none of gzip and bzip2.
    """
    data, end = _read(part, form, storage_options, part.span)
    is_end_of_file = part.span is None or end >= part.size
    is_of_spark = part.partition is not None
    if data and is_of_spark and is_end_of_file and not data.endswith(_LINE_ENDS):
        raise CorruptFileError(
            f"{part.url}: a {form} file of Spark must end with a line end, this one is "
            f"cut short at offset {end}. Copy it again, or have the job write it "
            "again; if it is whole, end its last line."
        )
    return data


def read_head(part: Part, form: str, options: SourceOptions) -> bytes:
    """Return the first lines of a part file, at least one if it holds any.

    Raises
    ------
    CorruptFileError, DataError
        As `read_lines`, as far as was read.
    """
    # Where characters have several bytes, one of these may look like a line end.
    ends = _LINE_END if has_plain_lines(options.encoding) else _LINE_FEED
    return _read(part, form, options.storage_options, (0, _HEAD_BYTES), ends)[0]


def as_utf8(data: bytes, encoding: str, *, is_whole: bool = True) -> bytes:
    """Return text in UTF-8, without a byte order mark.

    Parameters
    ----------
    data : bytes
        Without the mark of UTF-8.
    encoding : str
        What Python or Java calls it. UTF-8 is not looked at.
    is_whole : bool
        Whether the text ends with the data, and not in the midst of a character.

    Raises
    ------
    UnicodeDecodeError
        If the bytes are none of the encoding.
    """
    name = codecs.lookup(encoding).name
    if name == "utf-8":
        return data
    if name in ("utf-16", "utf-32") and not data.startswith(_MARKS):
        # In Java big-endian without a mark, in Python as the machine has it.
        name = f"{name}-be"
    text = codecs.getincrementaldecoder(name)().decode(data, is_whole)
    return text.removeprefix("\ufeff").encode()


@cache
def has_plain_lines(encoding: str) -> bool:
    """Tell whether text may be cut behind each byte that looks like a line end.

    So it is in UTF-8, and where each byte is a character and the first 128 are ASCII.
    """
    name = codecs.lookup(encoding).name
    return name == "utf-8" or all(_is_plain(name, byte) for byte in range(256))


def _is_plain(encoding: str, byte: int) -> bool:
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(bytes([byte]))
    except UnicodeError:
        return byte >= 128  # stands for nothing, and is refused wherever it is
    if byte < 128:
        return text == chr(byte)
    return len(text) == 1 and text not in "\r\n"


def _read(
    part: Part,
    form: str,
    storage_options: Mapping[str, Any],
    span: tuple[int, int] | None,
    ends: re.Pattern[bytes] = _LINE_END,
) -> tuple[bytes, int]:
    """Return the lines that begin in a span, and the offset of their end."""
    ending = "." + part.name.lower().rpartition(".")[2]
    if ending in FOREIGN_CODECS:
        raise DataError(
            f"{part.url}: {form} files must be plain, .gz or .bz2, got {ending}."
        )
    with (
        naming_damaged_file(part.url, form),
        open_input(part.url, storage_options) as stream,
    ):
        if ending not in _OPENERS or part.size == 0:
            return _lines(stream, span, ends)
        with _OPENERS[ending](stream) as plain:
            return _lines(plain, span, ends)


def _lines(
    stream: Any, span: tuple[int, int] | None, ends: re.Pattern[bytes]
) -> tuple[bytes, int]:
    if span is None:
        data = bytes(stream.read(-1))
        return data.removeprefix(codecs.BOM_UTF8), len(data)
    start, stop = span
    # The byte before tells whether a line begins at the start.
    before = max(start - 1, 0)
    _skip(stream, before)
    data = _up_to(stream, stop - before)
    first = 0
    if start:
        found = ends.search(data)
        first = found.end() if found else len(data)
    if first >= len(data):
        return b"", stop
    rest = _rest_of_line(stream, data[-1:], ends)
    lines = b"".join([memoryview(data)[first:], rest]) if first or rest else data
    end = before + len(data) + len(rest)
    return lines if start else lines.removeprefix(codecs.BOM_UTF8), end


def _skip(stream: Any, n_bytes: int) -> None:
    """Go to an offset of a file that was just opened."""
    if not n_bytes:
        return
    try:
        stream.seek(n_bytes)
    except ValueError:
        # Of stores that give a file from its beginning only, as some web servers do.
        while n_bytes and (data := stream.read(min(n_bytes, _HEAD_BYTES))):
            n_bytes -= len(data)


def _up_to(stream: Any, n_bytes: int) -> bytes:
    """Read some bytes, fewer only at the end of the file."""
    pieces = []
    while n_bytes and (data := stream.read(n_bytes)):
        pieces.append(data)
        n_bytes -= len(data)
    return b"".join(pieces)


def _rest_of_line(stream: Any, last: bytes, ends: re.Pattern[bytes]) -> bytes:
    """Read what follows the byte `last` up to the end of its line."""
    line, searched, step = bytearray(last), 0, _STEP_BYTES
    while True:
        found = ends.search(line, searched)
        # Behind a carriage return a line feed may follow.
        if found and (found.end() < len(line) or line.endswith(b"\n")):
            return bytes(line[1 : found.end()])
        searched = found.start() if found else len(line)
        more = stream.read(step)
        if not more:
            return bytes(line[1:])
        line += more
        step *= 2
