"""Part files of lines (CSV, JSON, libsvm) as bytes, decompressed and checked.

A byte order mark of UTF-8, as Excel writes, is dropped, as Spark does.
"""

import bz2
import codecs
import gzip
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from daskdl.errors import CorruptFileError, DataError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.error_location import naming_damaged_file
from daskdl_bridge.storage import open_input

__all__ = ["FOREIGN_CODECS", "as_utf8", "read_head", "read_lines"]

_OPENERS: Mapping[str, Any] = MappingProxyType({".gz": gzip.open, ".bz2": bz2.open})

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

# Enough for a header and a few records; a first line longer than this is read anew.
_HEAD_BYTES = 1 << 20


def read_lines(part: Part, form: str, storage_options: Mapping[str, Any]) -> bytes:
    """Return all bytes of a part file, decompressed.

    Raises
    ------
    CorruptFileError
        If the compressed bytes end too early or are damaged, or if a file of Spark
        does not end with a line end: it was cut short.
    DataError
        If the codec is none of gzip and bzip2.
    """
    data = _read(part, form, storage_options, -1)
    if data and part.partition is not None and not data.endswith(_LINE_ENDS):
        raise CorruptFileError(
            f"{part.url}: a {form} file of Spark must end with a line end, this one is "
            f"cut short at offset {len(data)}."
        )
    return data


def read_head(part: Part, form: str, storage_options: Mapping[str, Any]) -> bytes:
    """Return the first lines of a part file, at least one if it holds any.

    Raises
    ------
    CorruptFileError, DataError
        As `read_lines`, as far as was read.
    """
    head = _read(part, form, storage_options, _HEAD_BYTES)
    if len(head) < _HEAD_BYTES - len(codecs.BOM_UTF8):
        return head
    if b"\n" in head:
        return head[: head.rindex(b"\n") + 1]
    return _read(part, form, storage_options, -1)


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


def _read(
    part: Part, form: str, storage_options: Mapping[str, Any], n_bytes: int
) -> bytes:
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
            return bytes(stream.read(n_bytes)).removeprefix(codecs.BOM_UTF8)
        with _OPENERS[ending](stream) as plain:
            return bytes(plain.read(n_bytes)).removeprefix(codecs.BOM_UTF8)
