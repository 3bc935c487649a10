"""Formats that the first bytes of a file tell, where its name tells none.

Only what is certain counts: of text, objects of JSON, lines of libsvm and declarations
of XML. What may be CSV may be anything.
"""

import codecs
import json
import re
from collections.abc import Sequence

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import DataError
from daskdl_bridge.listing import Part
from daskdl_bridge.readers import avro_file, sequence_file
from daskdl_bridge.readers.crc32c import masked_crc32c
from daskdl_bridge.readers.lines import is_compressed, open_plain

__all__ = ["format_by_first_bytes", "is_text"]

_HEAD_BYTES = 64 << 10
# Spark writes a file for each partition, also where that is empty.
_FILES_LOOKED_AT = 100
_LINES_LOOKED_AT = 100

_BINARY = {
    b"PAR1": "parquet",
    b"ORC": "orc",
    avro_file.MAGIC: "avro",
    sequence_file.MAGIC: "sequence_file",
}
_COMPRESSED = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\x28\xb5\x2f\xfd": ".zst"}

# Of a TFRecord: the length of the record, and its checksum.
_LENGTH_BYTES, _CHECKSUM_BYTES = 8, 4

# A run of digits is matched in one way only, for the time that long ones take.
_NUMBER = rb"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_LIBSVM = re.compile(rb"\s*%s(?:\s+\d+:%s)+\s*(?:#.*)?" % (_NUMBER, _NUMBER))

# Bytes that text has: blanks, and all that is no control character.
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")


def format_by_first_bytes(parts: Sequence[Part], options: SourceOptions) -> str | None:
    """Return the format of files by the first of them that is not empty.

    Parameters
    ----------
    parts : sequence of Part
        Whose names tell no format, but perhaps how they are compressed.
    options : SourceOptions

    Returns
    -------
    str or None
        None if nothing is certain.

    Raises
    ------
    DataError
        If the file is compressed, and its name does not say so.
    """
    for part in parts[:_FILES_LOOKED_AT]:
        head = _head(part, options)
        if head:
            return _format_of_head(head, part)
    return None


def is_text(part: Part, options: SourceOptions) -> bool:
    """Tell whether a file begins with text, of which CSV is some."""
    head = _head(part, options)
    return bool(head) and not _NO_TEXT.search(head)


def _head(part: Part, options: SourceOptions) -> bytes:
    held = b""
    with open_plain(part, "data", options.storage_options) as stream:
        while len(held) < _HEAD_BYTES and (data := stream.read(_HEAD_BYTES)):
            held += data
    return held[:_HEAD_BYTES]


def _format_of_head(head: bytes, part: Part) -> str | None:
    # A file that was cut short right there is no text.
    if not _NO_TEXT.search(head) and head not in _BINARY:
        return _format_of_text(head.removeprefix(codecs.BOM_UTF8))
    if _is_tfrecord(head):
        return "tfrecord"
    if is_compressed(part):
        # Others are not compressed as a whole.
        return None
    for magic, ending in _COMPRESSED.items():
        if head.startswith(magic):
            raise DataError(
                f"{part.url}: the name of a compressed file must end in its codec, "
                f"here {ending}, got {part.name!r}. Rename the file."
            )
    return next((name for m, name in _BINARY.items() if head.startswith(m)), None)


def _is_tfrecord(head: bytes) -> bool:
    length = head[:_LENGTH_BYTES]
    stored = head[_LENGTH_BYTES : _LENGTH_BYTES + _CHECKSUM_BYTES]
    is_whole = len(stored) == _CHECKSUM_BYTES
    return is_whole and masked_crc32c(length) == int.from_bytes(stored, "little")


def _format_of_text(head: bytes) -> str | None:
    if head.startswith(b"<?xml"):
        return "xml"
    lines = head.splitlines()
    if len(head) == _HEAD_BYTES and len(lines) > 1:
        # The last one may go on.
        lines.pop()
    lines = [line for line in lines[:_LINES_LOOKED_AT] if line.strip()]
    if lines and all(map(_LIBSVM.fullmatch, lines)):
        return "libsvm"
    return "json" if lines and all(map(_is_object, lines)) else None


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (RecursionError, ValueError):
        return False
