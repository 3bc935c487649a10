"""Avro files: Spark's and others', and some whose schema and records can be damaged."""

import bz2
import json
import lzma
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from tests.unit.bridge.fuzz.seeds import Seed, of_file
from tests.unit.bridge.sample_forms import SAMPLES

__all__ = ["avro_seeds"]

_STORED = {"features": ("x", "a"), "label": "label", "key": "id"}
_VECTORS = {"label": "label", "most_part_bytes": 1 << 24}
_KEYS = tuple(
    {"features": "x", "key": key, "require_labels": False}
    for key in ("name", "day", "at", "price", "maybe")
)
_MADE = {"features": ("x", "a"), "label": "y"}
_KEPT = {"features": "x", "require_labels": False}
_NESTED = {"features": "r.x", "label": "y"}

_SYNC = bytes(range(16))
_COMPRESSORS: Mapping[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": lambda data: zlib.compress(data)[2:-4],
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstandard": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
    "snappy": lambda data: (
        pa.Codec("snappy").compress(data, asbytes=True)
        + zlib.crc32(data).to_bytes(4, "big")
    ),
}
_FIELDS: Sequence[Mapping[str, Any]] = (
    {"name": "x", "type": "double"},
    {"name": "a", "type": {"type": "array", "items": "float"}},
    {"name": "y", "type": ["null", "int"]},
    {
        "name": "r",
        "type": {
            "type": "record",
            "name": "R",
            "fields": [{"name": "x", "type": "long"}],
        },
    },
    {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["p", "q"]}},
    {"name": "f", "type": {"type": "fixed", "name": "F", "size": 2}},
    {
        "name": "d",
        "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
    },
    {"name": "m", "type": {"type": "map", "values": "string"}},
)


def avro_seeds() -> list[Seed]:
    """Return Spark's files by each codec, and one of every type by each codec."""
    stored = [
        of_file(
            next((SAMPLES / "avro" / one).glob("part-*")),
            _STORED,
            _VECTORS,
            *_KEYS,
            name="part-00000",
        )
        for one in ("snappy", "deflate", "xz", "zstandard", "bzip2", "blocks")
    ]
    return [*stored, *map(_every_type, _COMPRESSORS)]


def _every_type(codec: str) -> Seed:
    schema = json.dumps({"type": "record", "name": "T", "fields": list(_FIELDS)})
    record = (
        *(bytes(8), b"\x04" + bytes(8) + b"\0", b"\x02\x04", b"\x06", b"\x02", b"ab"),
        *(b"\x04\x01\x02", b"\x02\x02k\x02v\0"),
    )
    pieces = (schema.encode(), b"\x04", b"".join(record) * 2)
    how = [_MADE, _NESTED, {**_KEPT, "keep": ("y", "r", "e", "d")}]
    how += [{**_MADE, "key": key} for key in ("e", "f", "d")]
    return Seed("part-00000", pieces, tuple(how), _file_by(codec))


def _file_by(codec: str) -> Callable[[Sequence[bytes]], bytes]:
    def build(pieces: Sequence[bytes]) -> bytes:
        schema, n_records, data = pieces
        named = _sized(b"avro.schema") + _sized(schema)
        named += _sized(b"avro.codec") + _sized(codec.encode())
        block = n_records + _sized(_COMPRESSORS[codec](data)) + _SYNC
        return b"Obj\x01\x04" + named + b"\0" + _SYNC + block * 2

    return build


def _sized(data: bytes) -> bytes:
    number, made = 2 * len(data), bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes([*made, number]) + data
