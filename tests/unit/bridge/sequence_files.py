"""SequenceFiles, written without Hadoop."""

import bz2
import gzip
import struct
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

HADOOP = Path(__file__).parents[2] / "data" / "hadoop"

IO = "org.apache.hadoop.io."
COMPRESS = f"{IO}compress."
SYNC = bytes(range(100, 116))
MARK = b"\xff\xff\xff\xff" + SYNC

COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "DefaultCodec": zlib.compress,
    "GzipCodec": gzip.compress,
    "BZip2Codec": bz2.compress,
    "ZStandardCodec": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}

Pairs = Sequence[tuple[bytes, bytes]]


def vint(number: int) -> bytes:
    if -112 <= number <= 127:
        return struct.pack("b", number)
    magnitude, base = (number, -112) if number >= 0 else (~number, -120)
    n_bytes = (magnitude.bit_length() + 7) // 8
    return struct.pack("b", base - n_bytes) + magnitude.to_bytes(n_bytes, "big")


def text(value: str) -> bytes:
    return vint(len(value.encode())) + value.encode()


def stored_bytes(value: bytes) -> bytes:
    """Return a BytesWritable."""
    return struct.pack(">i", len(value)) + value


def header(
    key: str = "BytesWritable",
    value: str = "Text",
    codec: str | None = None,
    *,
    is_block: bool = False,
    version: int = 6,
    metadata: bytes = b"\0\0\0\0",
) -> bytes:
    names = b"".join(text(one if "." in one else IO + one) for one in (key, value))
    flags = bytes([codec is not None, is_block])
    named = b"" if codec is None or version < 5 else text(COMPRESS + codec)
    after = metadata if version >= 6 else b""
    return b"SEQ" + bytes([version]) + names + flags + named + after + SYNC


def records(pairs: Pairs, codec: str | None = None, *, sync_every: int = 0) -> bytes:
    compress = COMPRESSORS[codec] if codec else bytes
    made = b""
    for index, (key, value) in enumerate(pairs):
        if sync_every and index and index % sync_every == 0:
            made += MARK
        stored = compress(value)
        made += struct.pack(">ii", len(key) + len(stored), len(key)) + key + stored
    return made


def block(pairs: Pairs, codec: str) -> bytes:
    keys, values = zip(*pairs, strict=True) if pairs else ((), ())
    buffers = [
        b"".join(vint(len(key)) for key in keys),
        b"".join(keys),
        b"".join(vint(len(value)) for value in values),
        b"".join(values),
    ]
    return block_of_buffers(len(pairs), [COMPRESSORS[codec](one) for one in buffers])


def block_of_buffers(n_records: int, buffers: Sequence[bytes]) -> bytes:
    sized = b"".join(vint(len(buffer)) + buffer for buffer in buffers)
    return MARK + vint(n_records) + sized
