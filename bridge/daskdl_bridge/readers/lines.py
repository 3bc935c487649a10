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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from daskdl.checks import some
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import CorruptFileError, DataError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.error_location import naming_damaged_file
from daskdl_bridge.readers.hadoop_codecs import PlainStream
from daskdl_bridge.storage import open_input

__all__ = [
    "ENDINGS",
    "as_utf8",
    "has_plain_lines",
    "is_compressed",
    "open_plain",
    "read_blocks_of_lines",
    "read_head",
    "read_lines",
]

_HADOOP = "org.apache.hadoop.io.compress."

_OPENERS: Mapping[str, Any] = MappingProxyType(
    {
        ".gz": gzip.open,
        ".bz2": bz2.open,
        ".deflate": partial(PlainStream, f"{_HADOOP}DeflateCodec"),
        ".snappy": partial(PlainStream, f"{_HADOOP}SnappyCodec"),
        ".lz4": partial(PlainStream, f"{_HADOOP}Lz4Codec"),
        ".zst": partial(PlainStream, f"{_HADOOP}ZStandardCodec"),
    }
)

_UNREADABLE = (".lzo", ".zstd", ".xz")

ENDINGS = (*_OPENERS, *_UNREADABLE)
"""What names of compressed files end in, those that are refused among them."""

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

# Of a line. Examples are far smaller, and a few compressed bytes make any number.
_MOST_LINE_BYTES = 128 << 20

# Of a compressed file that is read as a whole, as those with `multi_line` are: text has
# a tenth of its size compressed, a bomb a thousandth.
_MOST_TIMES = 100

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
        If the codec is none that is known.
    """
    data, end = _read(part, form, storage_options, part.span)
    # The bytes of a span of a compressed file are counted without compression.
    if part.span is None or (end >= part.size and not is_compressed(part)):
        _check_end(part, form, data, end)
    return data


def read_blocks_of_lines(
    part: Part, form: str, storage_options: Mapping[str, Any], n_bytes: int
) -> Iterator[tuple[Part, bytes]]:
    """Yield the lines of a compressed file in blocks; at least one, be it empty.

    Yields
    ------
    (part, data) : Part, bytes
        Lines of about `n_bytes`, and the file with the span of its plain bytes that
        they are; the file itself where it has but one block.

    Raises
    ------
    CorruptFileError, DataError
        As `read_lines`.
    """
    start, held, is_empty = 0, b"", True
    with open_plain(part, form, storage_options) as stream:
        while data := _up_to(stream, n_bytes):
            held += data
            end = _end_of_lines(held)
            if end and len(data) == n_bytes:
                yield replace(part, span=(start, start + end)), _text(held[:end], start)
                start, held, is_empty = start + end, held[end:], False
            _check_line(len(held) - n_bytes)
    _check_end(part, form, held, start + len(held))
    if held or is_empty:
        last = part if is_empty else replace(part, span=(start, start + len(held)))
        yield last, _text(held, start)


def is_compressed(part: Part) -> bool:
    """Tell by the name whether a file is compressed."""
    return part.name.lower().endswith(ENDINGS)


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
    with open_plain(part, form, storage_options) as stream:
        if span is None and is_compressed(part):
            data = _whole(stream, max(_MOST_LINE_BYTES, _MOST_TIMES * part.size))
            return data.removeprefix(codecs.BOM_UTF8), len(data)
        return _lines(stream, span, ends)


@contextmanager
def open_plain(
    part: Part, form: str, storage_options: Mapping[str, Any]
) -> Iterator[Any]:
    """Open a file at the first of its plain bytes."""
    ending = PurePosixPath(part.name.lower()).suffix
    if ending in _UNREADABLE:
        raise DataError(
            f"{part.url}: {form} files must be plain, or end in one of "
            f"{some(_OPENERS, len(_OPENERS))}, got {ending}."
        )
    with (
        naming_damaged_file(part.url, form),
        open_input(part.url, storage_options) as stream,
    ):
        if ending not in _OPENERS or part.size == 0:
            yield stream
            return
        with _OPENERS[ending](stream) as plain:
            yield plain


def _check_end(part: Part, form: str, data: bytes, end: int) -> None:
    """Refuse a file of Spark whose last bytes are no line end."""
    if data and part.partition is not None and not data.endswith(_LINE_ENDS):
        raise CorruptFileError(
            f"{part.url}: a {form} file of Spark must end with a line end, this one is "
            f"cut short at offset {end}. Copy it again, or have the job write it "
            "again; if it is whole, end its last line."
        )


def _end_of_lines(data: bytes) -> int:
    """Return the offset behind the last line that surely ends here, 0 without one."""
    # Behind a carriage return a line feed may follow.
    return data.rfind(b"\n") + 1 or data.rfind(b"\r", 0, len(data) - 1) + 1


def _check_line(n_bytes: int) -> None:
    """Refuse to hold more of a line than one can have."""
    if n_bytes > _MOST_LINE_BYTES:
        raise EOFError(f"no line end in {n_bytes} bytes")


def _text(data: bytes, start: int) -> bytes:
    return data if start else data.removeprefix(codecs.BOM_UTF8)


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


def _whole(stream: Any, most: int) -> bytes:
    """Read a compressed file, unless it is far larger than what it came from."""
    pieces, n_bytes = [], 0
    while data := stream.read(_HEAD_BYTES):
        pieces.append(data)
        n_bytes += len(data)
        if n_bytes > most:
            raise EOFError(f"it holds more than {most} bytes when it is decompressed")
    return b"".join(pieces)


def _rest_of_line(stream: Any, last: bytes, ends: re.Pattern[bytes]) -> bytes:
    """Read what follows the byte `last` up to the end of its line."""
    line, searched, step = bytearray(last), 0, _STEP_BYTES
    while True:
        found = ends.search(line, searched)
        # Behind a carriage return a line feed may follow.
        if found and (found.end() < len(line) or line.endswith(b"\n")):
            return bytes(line[1 : found.end()])
        _check_line(len(line))
        searched = found.start() if found else len(line)
        more = stream.read(step)
        if not more:
            return bytes(line[1:])
        line += more
        step *= 2
