"""Hadoop's compression, beside what its own files show: damage, limits, zstd."""

import struct

import pyarrow as pa
import pytest

from daskdl_bridge.readers.hadoop_codecs import CODECS, decompressed
from tests.unit.bridge.sequence_files import COMPRESS, COMPRESSORS

PLAIN = b"".join(b"%d and more " % i for i in range(2000))


def framed(codec: str, *frames: list[bytes]) -> bytes:
    """Return chunks in Hadoop's frames, each compressed by pyarrow."""
    made = b""
    for chunks in frames:
        made += struct.pack(">I", sum(map(len, chunks)))
        for chunk in chunks:
            compressed = pa.Codec(codec).compress(chunk, asbytes=True)
            made += struct.pack(">I", len(compressed)) + compressed
    return made


FRAMED = {"SnappyCodec": "snappy", "Lz4Codec": "lz4_raw"}
STORED = {
    **{name: compress(PLAIN) for name, compress in COMPRESSORS.items()},
    **{
        name: framed(codec, [PLAIN[:5], PLAIN[5:9000]], [], [PLAIN[9000:]])
        for name, codec in FRAMED.items()
    },
}


@pytest.mark.parametrize("name", STORED)
def test_all_bytes_come_back(name):
    assert decompressed(COMPRESS + name, STORED[name], len(PLAIN)) == PLAIN


@pytest.mark.parametrize("name", STORED)
def test_more_than_the_limit_is_refused(name):
    with pytest.raises(ValueError, match=f"more than {len(PLAIN) - 1} bytes when it"):
        decompressed(COMPRESS + name, STORED[name], len(PLAIN) - 1)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("name", STORED)
def test_bytes_that_end_too_early_are_refused(name, share):
    cut = STORED[name][: int(share * len(STORED[name]))]
    with pytest.raises(ValueError, match=r"\w"):
        decompressed(COMPRESS + name, cut, len(PLAIN))


@pytest.mark.parametrize("name", ["DefaultCodec", "GzipCodec", "BZip2Codec"])
def test_streams_may_stand_behind_one_another(name):
    twice = decompressed(COMPRESS + name, 2 * STORED[name], 2 * len(PLAIN))
    assert twice == 2 * PLAIN


@pytest.mark.parametrize("codec", CODECS)
def test_nothing_makes_nothing(codec):
    assert decompressed(codec, b"", 10) == b""


@pytest.mark.parametrize("name", FRAMED)
def test_a_chunk_that_is_larger_than_its_frame_is_refused(name):
    stored = struct.pack(">I", 3) + framed(FRAMED[name], [b"abcd"])[4:]
    with pytest.raises(ValueError, match="a chunk of 4 bytes where 3 are left"):
        decompressed(COMPRESS + name, stored, 100)


def test_a_chunk_of_snappy_must_tell_its_size():
    stored = struct.pack(">II", 9, 6) + b"\xff" * 6
    with pytest.raises(ValueError, match="a chunk of snappy without its size"):
        decompressed(COMPRESS + "SnappyCodec", stored, 100)


@pytest.mark.parametrize("size", [1, 14, 15, 16, 270, 271, 5000])
@pytest.mark.parametrize("unit", [b"a", bytes(range(256)) * 20])
def test_lz4_tells_its_size_by_lengths_alone(unit, size):
    plain = (unit * size)[:size] + bytes(range(20))
    assert (
        decompressed(COMPRESS + "Lz4Codec", framed("lz4_raw", [plain]), 9999) == plain
    )
