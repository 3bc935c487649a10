"""Avro's object container files: blocks of records, and where they are cut.

A file has a header, whose last sixteen bytes are its mark of synchronisation, and
behind it blocks, each with the mark behind it. Whoever starts in the midst of a file
looks for one. Of a span of bytes, the blocks count before which the mark begins there.
"""

import bz2
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from types import MappingProxyType
from typing import Any, BinaryIO, cast

from daskdl.checks import some
from daskdl.dl4j.java.counted_stream import CountedStream
from daskdl.errors import CorruptFileError, DataError
from daskdl_bridge.readers.avro_schema import AvroSchema, read_schema
from daskdl_bridge.readers.hadoop_codecs import (
    PlainPieces,
    joined,
    plain_snappy,
    plain_streams,
    zstandard,
)
from daskdl_bridge.readers.scanned_stream import ScannedStream

__all__ = ["MAGIC", "AvroBlock", "AvroFile"]

MAGIC = b"Obj\x01"
"""What each such file begins with."""

_SYNC_BYTES = 16
# Of a block, stored and plain: as much as a block of HDFS. Writers end blocks at some
# ten kilobytes, and a damaged length claims anything.
_MOST_BYTES = 128 << 20
_MOST_ENTRIES, _MOST_TEXT_BYTES = 1 << 7, 4 << 20
# A varint of 64 bits.
_MOST_VARINT_BYTES = 10
_RAW_ZLIB = -15
_CHECKSUM_BYTES = 4
# What xz's dictionary may take.
_XZ_BYTES = 128 << 20


@dataclass(frozen=True)
class AvroBlock:
    """Records behind one another, decompressed.

    Parameters
    ----------
    offset : int
        Of the block in its file.
    n_records : int
        No more than there are bytes.
    data : bytes
    """

    offset: int
    n_records: int
    data: bytes


class AvroFile:
    """Reads the header of a file and then its blocks, one at a time.

    Parameters
    ----------
    stream : binary stream
        At its start.
    name : str
        Path or URL for messages.

    Raises
    ------
    CorruptFileError
        If it is no Avro file, cut short or damaged; with the offset.
    DataError
        If its codec or its schema is none that can be read.
    """

    def __init__(self, stream: Any, name: str) -> None:
        self._scanned = ScannedStream(stream)
        self._name = name
        counted = self._counted()
        magic = counted.take(len(MAGIC))
        if magic != MAGIC:
            must = f"an Avro file must begin with {MAGIC!r}"
            raise counted.corrupt(must, repr(magic), 0)
        metadata = _metadata(counted)
        self._codec = metadata.get("avro.codec", b"null").decode(errors="replace")
        if self._codec not in _CODECS:
            raise DataError(
                f"{name}: an Avro file must be compressed by one of "
                f"{some(_CODECS, len(_CODECS))}, got {self._codec!r}. Have it written "
                "with one of those."
            )
        self.metadata = metadata
        self.schema: AvroSchema = read_schema(metadata.get("avro.schema", b""), name)
        self._sync = counted.take(_SYNC_BYTES)
        self._header_end = counted.offset

    def blocks(self, span: tuple[int, int] | None = None) -> Iterator[AvroBlock]:
        """Yield the blocks of a span of bytes, all without one; can be called once.

        Raises
        ------
        CorruptFileError
            If the file is cut short or damaged, or a block takes more than 128 MiB;
            with the offset.
        """
        start, stop = (0, sys.maxsize) if span is None else span
        mark = self._header_end - _SYNC_BYTES
        if start > mark:
            self._scanned.skip_to(start)
            if not self._scanned.find(self._sync, stop):
                return
            mark = self._scanned.offset
            self._scanned.skip_to(mark + _SYNC_BYTES)
        counted = self._counted()
        while mark < stop and not counted.is_at_end():
            yield self._block(counted)
            mark = counted.offset
            sync = counted.take(_SYNC_BYTES)
            if sync != self._sync:
                must = f"the file's mark {self._sync.hex()} must follow a block"
                raise counted.corrupt(must, sync.hex(), mark)

    def _block(self, counted: CountedStream) -> AvroBlock:
        offset = counted.offset
        n_records = _count(counted, "records", sys.maxsize)
        stored = counted.take(_count(counted, "bytes of a block", _MOST_BYTES))
        try:
            data = _CODECS[self._codec](stored)
        except ValueError as error:
            raise CorruptFileError(
                f"{self._name}: the block at offset {offset} must be whole, and make "
                f"at most {_MOST_BYTES} bytes, it does not: {error}. Copy the file "
                "again, or have it written anew."
            ) from error
        # Records without a byte hold nothing, and there could be any number of them.
        if n_records > len(data):
            must = f"a block of {len(data)} bytes must hold no more records than that"
            raise counted.corrupt(must, str(n_records), offset)
        return AvroBlock(offset, n_records, data)

    def _counted(self) -> CountedStream:
        # All that it needs of a stream is its `read`.
        counted = CountedStream(cast("BinaryIO", self._scanned), self._name)
        counted.offset = self._scanned.offset
        return counted


def _metadata(counted: CountedStream) -> dict[str, bytes]:
    """Read a map: groups of entries, after a negative number of them their bytes."""
    found: dict[str, bytes] = {}
    while n_entries := _take_long(counted):
        if n_entries < 0:
            n_entries = -n_entries
            _take_long(counted)
        if n_entries + len(found) > _MOST_ENTRIES:
            must = f"the metadata must have {_MOST_ENTRIES} entries at most"
            raise counted.corrupt(must, str(n_entries))
        for _ in range(n_entries):
            key, value = (
                counted.take(_count(counted, "bytes of metadata", _MOST_TEXT_BYTES))
                for _ in range(2)
            )
            found[key.decode(errors="replace")] = value
    return found


def _count(counted: CountedStream, what: str, most: int) -> int:
    start = counted.offset
    count = _take_long(counted)
    if not 0 <= count <= most:
        must = f"the number of {what} must be from 0 to {most}"
        raise counted.corrupt(must, str(count), start)
    return count


def _take_long(counted: CountedStream) -> int:
    """Read a whole number: seven bits a byte, the lowest first, the sign in front."""
    start, value = counted.offset, 0
    for index in range(_MOST_VARINT_BYTES):
        byte = counted.take(1)[0]
        value |= (byte & 127) << 7 * index
        if byte < 128:
            return (value >> 1) ^ -(value & 1)
    must = f"a number must have {_MOST_VARINT_BYTES} bytes at most"
    raise counted.corrupt(must, "more", start)


def _of_streams(start: Callable[[], Any]) -> Callable[[bytes], bytes]:
    # fastavro leaves three bytes of a checksum behind what it deflates.
    return _of_pieces(lambda stream: plain_streams(start, stream, is_single=True))


def _of_pieces(pieces: PlainPieces) -> Callable[[bytes], bytes]:
    return lambda stored: joined(pieces(BytesIO(stored)), _MOST_BYTES)


def _snappy(stored: bytes) -> bytes:
    """Decompress a block that has the checksum of its plain bytes behind it."""
    data = plain_snappy(stored[:-_CHECKSUM_BYTES], _MOST_BYTES)
    if zlib.crc32(data).to_bytes(_CHECKSUM_BYTES, "big") != stored[-_CHECKSUM_BYTES:]:
        raise ValueError("the checksum is that of other bytes")
    return data


_CODECS: Mapping[str, Callable[[bytes], bytes]] = MappingProxyType(
    {
        "null": bytes,
        "deflate": _of_streams(lambda: zlib.decompressobj(_RAW_ZLIB)),
        "snappy": _snappy,
        "bzip2": _of_streams(bz2.BZ2Decompressor),
        "xz": _of_streams(lambda: lzma.LZMADecompressor(memlimit=_XZ_BYTES)),
        "zstandard": _of_pieces(zstandard),
    }
)
