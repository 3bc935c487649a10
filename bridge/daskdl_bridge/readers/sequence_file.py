"""Hadoop's SequenceFiles: pairs of bytes, plain or compressed, and where they are cut.

A file has a header, and behind it records, or blocks of records that are compressed
together. Between records, and before each block, stand marks of synchronisation: four
bytes of ones and sixteen that are random in each file. Whoever starts in the midst of a
file looks for one. Of a span of bytes, the records count whose last mark before them
begins there; those before the first mark of a file belong to the span from its start.
That is also where Hadoop cuts.

What the bytes of a key or a value mean is in `daskdl_bridge.readers.writables`.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias, cast

from daskdl.checks import some
from daskdl.dl4j.java.counted_stream import CountedStream
from daskdl.errors import CorruptFileError, DataError
from daskdl_bridge.readers.hadoop_codecs import CODECS, decompressed
from daskdl_bridge.readers.scanned_stream import ScannedStream
from daskdl_bridge.readers.vints import take_vint, vint_at

__all__ = ["MAGIC", "SequenceFile", "SequenceHeader"]

MAGIC = b"SEQ"
"""What each such file begins with."""

Record: TypeAlias = tuple[int, bytes, bytes]
"""Offset of the record or its block, bytes of the key, bytes of the value."""

# The first that writes names as Text; those of 2006 have another one.
_OLDEST, _NEWEST = 4, 6
_WITH_CODEC, _WITH_METADATA = 5, 6
_DEFAULT_CODEC = "org.apache.hadoop.io.compress.DefaultCodec"

_MARK_LENGTH = -1
_ESCAPE = b"\xff\xff\xff\xff"
_SYNC_BYTES = 16

# Of a record, or all buffers of a block: as much as a block of HDFS. Examples are far
# smaller, and a damaged length claims anything.
_MOST_BYTES = 128 << 20
_MOST_NAME_BYTES = 1 << 10
_MOST_ENTRIES, _MOST_TEXT_BYTES = 1 << 10, 1 << 20


@dataclass(frozen=True, kw_only=True)
class SequenceHeader:
    """What a file tells of itself in front.

    Parameters
    ----------
    key_class, value_class : str
        Names of Java classes.
    codec : str or None
        Class of what compressed it; None if nothing did.
    is_block_compressed : bool
        Whether blocks of records are compressed together, and not each value.
    sync : bytes of length 16
        In every mark.
    end : int
        Offset of the first byte behind the header.
    """

    key_class: str
    value_class: str
    codec: str | None
    is_block_compressed: bool
    sync: bytes
    end: int


class SequenceFile:
    """Reads the header of a file and then its records, one at a time.

    Parameters
    ----------
    stream : binary stream
        At its start.
    name : str
        Path or URL for messages.

    Raises
    ------
    CorruptFileError
        If it is no SequenceFile, cut short or damaged; with the offset.
    DataError
        If its version or its codec is none that can be read.
    """

    def __init__(self, stream: Any, name: str) -> None:
        self._scanned = ScannedStream(stream)
        self._name = name
        self.header = _header(self._counted())

    def records(self, span: tuple[int, int] | None = None) -> Iterator[Record]:
        """Yield the records of a span of bytes, all without one; can be called once.

        Yields
        ------
        (offset, key, value) : int, bytes, bytes
            Where the record begins, or its block. Values are decompressed.

        Raises
        ------
        CorruptFileError
            If the file is cut short or damaged, or a record or a block of them takes
            more than 128 MiB; with the offset.
        """
        start, stop = (0, sys.maxsize) if span is None else span
        self._scanned.skip_to(max(start, self.header.end))
        if start and not self._scanned.find(_ESCAPE + self.header.sync, stop):
            return
        counted = self._counted()
        if self.header.is_block_compressed:
            yield from _of_blocks(counted, self.header, stop)
        else:
            yield from _one_by_one(counted, self.header, stop)

    def _counted(self) -> CountedStream:
        # All that it needs of a stream is its `read`.
        counted = CountedStream(cast("BinaryIO", self._scanned), self._name)
        counted.offset = self._scanned.offset
        return counted


def _header(counted: CountedStream) -> SequenceHeader:
    magic = counted.take(len(MAGIC))
    if magic != MAGIC:
        raise counted.corrupt("a SequenceFile must begin with b'SEQ'", repr(magic), 0)
    version = counted.take(1)[0]
    if not _OLDEST <= version <= _NEWEST:
        raise DataError(
            f"{counted.name}: a SequenceFile must be of version {_OLDEST} to "
            f"{_NEWEST}, got {version}. Have Hadoop write it anew."
        )
    key_class, value_class = _class_name(counted), _class_name(counted)
    is_compressed, is_block_compressed = (_flag(counted) for _ in range(2))
    codec = None
    if is_compressed:
        codec = _codec(counted) if version >= _WITH_CODEC else _DEFAULT_CODEC
    elif is_block_compressed:
        raise counted.corrupt("blocks must be compressed", "no compression")
    if version >= _WITH_METADATA:
        _skip_metadata(counted)
    return SequenceHeader(
        key_class=key_class,
        value_class=value_class,
        codec=codec,
        is_block_compressed=is_block_compressed,
        sync=counted.take(_SYNC_BYTES),
        end=counted.offset,
    )


def _class_name(counted: CountedStream) -> str:
    return counted.take_text_of(
        _size(counted, "bytes of a class name", _MOST_NAME_BYTES)
    )


def _codec(counted: CountedStream) -> str:
    codec = _class_name(counted)
    if codec not in CODECS:
        known = [name.rpartition(".")[2] for name in CODECS]
        raise DataError(
            f"{counted.name}: a SequenceFile must be compressed by one of "
            f"{some(known, len(known))}, got {codec!r}. Have it written with one of "
            "those, or without compression."
        )
    return codec


def _flag(counted: CountedStream) -> bool:
    return bool(counted.take_count(">b", "a flag", 1))


def _skip_metadata(counted: CountedStream) -> None:
    n_entries = counted.take_count(">i", "entries of metadata", _MOST_ENTRIES)
    for _ in range(2 * n_entries):
        counted.take(_size(counted, "bytes of metadata", _MOST_TEXT_BYTES))


def _one_by_one(
    counted: CountedStream, header: SequenceHeader, stop: int
) -> Iterator[Record]:
    while not counted.is_at_end():
        start = counted.offset
        length = counted.take_number(">i")
        if length == _MARK_LENGTH:
            if start >= stop:
                return
            _take_sync(counted, header)
            continue
        if not 0 <= length <= _MOST_BYTES:
            must = f"a record must have 0 to {_MOST_BYTES} bytes"
            raise counted.corrupt(must, str(length), start)
        key_length = counted.take_count(">i", "bytes of a key", length)
        key = counted.take(key_length)
        value = counted.take(length - key_length)
        if header.codec is not None:
            value = _plain(counted.name, header.codec, value, start, _MOST_BYTES)
        yield start, key, value


def _of_blocks(
    counted: CountedStream, header: SequenceHeader, stop: int
) -> Iterator[Record]:
    codec = header.codec or _DEFAULT_CODEC
    while not counted.is_at_end():
        start = counted.offset
        if start >= stop:
            return
        length = counted.take_number(">i")
        if length != _MARK_LENGTH:
            raise counted.corrupt("a block must begin with -1", str(length), start)
        _take_sync(counted, header)
        n_records = _size(counted, "records of a block", _MOST_BYTES)
        buffers = _plain_buffers(counted, codec, start)
        yield from _of_block(counted.name, start, n_records, buffers)


def _plain_buffers(counted: CountedStream, codec: str, start: int) -> list[bytes]:
    buffers, room = [], _MOST_BYTES
    for _ in range(4):
        stored = counted.take(_size(counted, "bytes of a block's buffer", _MOST_BYTES))
        buffers.append(_plain(counted.name, codec, stored, start, room))
        room -= len(buffers[-1])
    return buffers


def _of_block(
    name: str, start: int, n_records: int, buffers: list[bytes]
) -> Iterator[Record]:
    """Yield the records of a block: key lengths, keys, value lengths, values."""
    keys, values = _Items(*buffers[:2]), _Items(*buffers[2:])
    try:
        for _ in range(n_records):
            yield start, keys.take(), values.take()
        keys.check_end()
        values.check_end()
    except ValueError as error:
        raise _damaged_block(name, start, error) from error


class _Items:
    """Items behind one another, and their lengths.

    Those are read as they are needed: a list of numbers takes far more than the bytes.
    """

    def __init__(self, lengths: bytes, items: bytes) -> None:
        self._lengths, self._items = lengths, items
        self._next_length, self._next_item = 0, 0

    def take(self) -> bytes:
        length, self._next_length = vint_at(self._lengths, self._next_length)
        start, end = self._next_item, self._next_item + length
        if length < 0 or end > len(self._items):
            raise ValueError(f"an item of {length} bytes at {start} of its buffer")
        self._next_item = end
        return self._items[start:end]

    def check_end(self) -> None:
        left = len(self._items) - self._next_item
        if left or self._next_length < len(self._lengths):
            raise ValueError(f"{left} bytes behind the last of its items")


def _plain(name: str, codec: str, data: bytes, start: int, most_bytes: int) -> bytes:
    try:
        return decompressed(codec, data, most_bytes)
    except ValueError as error:
        raise _damaged_block(name, start, error) from error


def _damaged_block(name: str, start: int, error: ValueError) -> CorruptFileError:
    return CorruptFileError(
        f"{name}: the record or block at offset {start} must be whole, and make at "
        f"most {_MOST_BYTES} bytes, it does not: {error}. Copy the file again, or have "
        "it written anew, in smaller blocks if it is whole "
        "(io.seqfile.compress.blocksize)."
    )


def _take_sync(counted: CountedStream, header: SequenceHeader) -> None:
    start = counted.offset
    sync = counted.take(_SYNC_BYTES)
    if sync != header.sync:
        must = f"the file's mark {header.sync.hex()} must follow -1"
        raise counted.corrupt(must, sync.hex(), start)


def _size(counted: CountedStream, what: str, most: int) -> int:
    start = counted.offset
    size = take_vint(counted)
    if not 0 <= size <= most:
        must = f"the number of {what} must be from 0 to {most}"
        raise counted.corrupt(must, str(size), start)
    return size
