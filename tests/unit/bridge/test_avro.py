"""Avro files: Spark's values in each codec, blocks, spans, and what is refused."""

import datetime
import itertools
import json
import pickle
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError, CorruptFileError, DataError, MissingExtraError
from daskdl_bridge.listing import list_parts
from daskdl_bridge.readers import avro, table_partitions
from daskdl_bridge.readers.avro_file import AvroFile
from daskdl_bridge.source import PathSources
from tests.unit.bridge.damaged_files import check_refused_or_read, damaged_copies
from tests.unit.bridge.sample_forms import SAMPLES
from tests.unit.bridge.table_files import load_one, open_path

fastavro = pytest.importorskip("fastavro", reason="fastavro is not installed")

AVRO = SAMPLES / "avro"
CODECS = ["uncompressed", "deflate", "snappy", "zstandard", "bzip2", "xz"]
NO_LABELS = {"require_labels": False}
START = datetime.datetime(2021, 1, 1, tzinfo=datetime.timezone.utc)
DAYS = datetime.date(2020, 1, 1)


def write(
    path: Path,
    rows: list[dict[str, Any]],
    *,
    codec: str = "null",
    metadata: dict[str, str] | None = None,
    **types: Any,
) -> str:
    """Write records whose fields have these types, in blocks of 100 bytes."""
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    schema = {"type": "record", "name": "r", "fields": fields}
    with path.open("wb") as file:
        how = {"codec": codec, "sync_interval": 100, "metadata": metadata}
        fastavro.writer(file, schema, rows, **how)
    return str(path)


def labelled(path: Path, n_rows: int = 100) -> str:
    rows = [{"features": [i, -i], "label": i % 3} for i in range(n_rows)]
    types = {"features": {"type": "array", "items": "double"}, "label": "int"}
    return write(path, rows, **types)


@pytest.mark.parametrize("codec", CODECS)
def test_examples_have_the_values_that_spark_was_given(codec):
    batch = load_one(str(AVRO / codec), features=("x", "a"), label="label", n_classes=3)
    expected = [[i / 8, i / 2, -i] for i in range(200)]
    assert batch.features.tolist() == expected
    assert batch.labels.argmax(axis=1).tolist() == [i % 3 for i in range(200)]


def test_structs_of_vectors_are_vectors():
    batch = load_one(str(AVRO / "snappy"), label="label")
    assert batch.features.tolist() == [
        [i, 1, 2] if i % 2 else [0, i, 0] for i in range(200)
    ]


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("id", list(range(200))),
        ("name", [f"k{i}" for i in range(200)]),
        ("day", [DAYS + datetime.timedelta(days=i) for i in range(200)]),
        ("at", [START + datetime.timedelta(seconds=i) for i in range(200)]),
        ("price", [Decimal(i) / 4 for i in range(200)]),
        ("maybe", [i if i % 5 else None for i in range(200)]),
    ],
)
def test_keys_come_back_as_they_were_stored(key, values):
    how = {"features": "x", "key": key, **NO_LABELS}
    (partition,) = open_path(str(AVRO / "snappy"), **how).partitions
    keys = partition.stored_keys(partition.load().keys)
    assert keys.to_pylist() == values


def test_dates_of_the_old_calendar_are_those_that_spark_reads(tmp_path):
    metadata = {
        "org.apache.spark.version": "4.3.0",
        "org.apache.spark.legacyDateTime": "",
        "org.apache.spark.timeZone": "UTC",
    }
    stored = datetime.date(1500, 1, 10)
    types = {
        "x": "double",
        "day": ["null", {"type": "int", "logicalType": "date"}],
        "at": {"type": "long", "logicalType": "timestamp-micros"},
    }
    at = datetime.datetime(1500, 1, 10, 12, tzinfo=datetime.timezone.utc)
    rows = [{"x": 0.5, "day": stored, "at": at}, {"x": 0.5, "day": None, "at": at}]
    path = write(tmp_path / "a.avro", rows, metadata=metadata, **types)
    read = {"features": "x", **NO_LABELS}
    days = load_one(path, key="day", **read).keys.tolist()
    assert days == [datetime.date(1500, 1, 1), None]
    instants = load_one(path, key="at", **read).keys.astype("M8[s]").astype(str)
    assert instants.tolist() == ["1500-01-01T12:00:00"] * 2


def test_bytes_become_numbers():
    batch = load_one(str(AVRO / "snappy"), features="raw", **NO_LABELS)
    assert batch.features.tolist() == [[i, 1, 2] for i in range(200)]


def test_images_of_spark_are_images():
    batch = load_one(str(AVRO / "image"), features="image", **NO_LABELS)
    assert batch.features.shape == (9, 3, 4, 5)


def test_the_content_of_files_is_images():
    stored = load_one(str(AVRO / "binaryfile"), features="content", **NO_LABELS)
    plain = load_one(str(AVRO / "image"), features="image", **NO_LABELS)
    assert sorted(stored.features.tolist()) == sorted(plain.features.tolist())


@pytest.mark.parametrize("n_bytes", [100, 1000, 5000])
def test_spans_have_each_row_once(monkeypatch, n_bytes):
    monkeypatch.setattr(table_partitions, "_SPAN_BYTES", n_bytes)
    how = {"features": "a", "label": "label", "key": "id"}
    partitions = open_path(str(AVRO / "blocks"), **how).partitions
    keys = [
        key
        for partition in pickle.loads(pickle.dumps(partitions))
        for key in partition.load().keys.tolist()
    ]
    assert len(partitions) > 2
    assert keys == list(range(200))


def test_blocks_have_each_row_once(tmp_path, monkeypatch):
    monkeypatch.setattr(avro, "BLOCK_BYTES", 200)
    monkeypatch.setattr(avro, "_DECODED_BYTES", 50)
    (partition,) = open_path(labelled(tmp_path / "x.avro")).partitions
    blocks = [block.features[:, 0].tolist() for block in partition.load_blocks()]
    assert len(blocks) > 10
    assert [*itertools.chain(*blocks)] == list(range(100))


@pytest.mark.parametrize("codec", ["deflate", "bzip2", "xz"])
def test_blocks_that_fastavro_wrote_are_read(tmp_path, codec):
    rows = [{"features": i / 2, "label": i % 2} for i in range(100)]
    types = {"features": "float", "label": "int"}
    path = write(tmp_path / "x.avro", rows, codec=codec, **types)
    assert load_one(path).features.tolist() == [[i / 2] for i in range(100)]


def test_a_file_without_records_has_no_rows(tmp_path):
    assert load_one(labelled(tmp_path / "x.avro", 0)).num_examples == 0


def test_columns_and_types_are_told(tmp_path):
    path = write(tmp_path / "x.avro", [], a="int", m={"type": "map", "values": "int"})
    assert PathSources().look(path, SourceOptions()).columns == {
        "a": "int32",
        "m": "a type that is not read",
    }


def test_a_column_of_no_known_type_is_refused(tmp_path):
    path = write(tmp_path / "x.avro", [], a="int", b=["int", "string"])
    with pytest.raises(
        ColumnError, match=r"'b' must be there, and not be a map, nor a union of"
    ):
        open_path(path, features="b", label="a")


def test_unions_of_whole_numbers_are_the_wider_one(tmp_path):
    rows = [{"a": i, "label": 1} for i in (1, 1 << 40)]
    path = write(tmp_path / "x.avro", rows, a=["null", "int", "long"], label="int")
    batch = load_one(path, features="a", dtype="float64")
    assert batch.features.tolist() == [[1], [1 << 40]]


def test_another_type_in_a_later_file_is_refused(tmp_path):
    write(tmp_path / "a.avro", [{"a": 1, "label": 0}], a="int", label="int")
    write(tmp_path / "b.avro", [{"a": "x", "label": 0}], a="string", label="int")
    partition = open_path(str(tmp_path), features="a").partitions[1]
    with pytest.raises(ColumnError, match=r"b\.avro: column 'a' must hold int32 as in"):
        partition.load()


def test_a_column_that_a_later_file_lacks_is_named(tmp_path):
    write(tmp_path / "a.avro", [{"a": 1, "label": 0}], a="int", label="int")
    write(tmp_path / "b.avro", [{"label": 0}], label="int")
    partition = open_path(str(tmp_path), features="a").partitions[1]
    with pytest.raises(ColumnError, match=r"b\.avro: column 'a' must exist"):
        partition.load()


def of_schema(path: Path, schema: bytes, codec: bytes = b"null", block=b"") -> str:
    """Write a header with a schema and a codec, and what follows."""
    entries = {b"avro.schema": schema, b"avro.codec": codec}
    stored = b"".join(text(k) + text(v) for k, v in entries.items())
    path.write_bytes(b"Obj\x01\x04" + stored + b"\0" + b"s" * 16 + block)
    return str(path)


def text(value: bytes) -> bytes:
    return long(len(value)) + value


def long(value: int) -> bytes:
    made, value = bytearray(), value << 1
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])


RECORD = b'{"type": "record", "name": "r", "fields": [%s]}'
FIXED = RECORD % b'{"name": "a", "type": {"type": "fixed", "name": "f", "size": %s}}'


def doubled(levels: int) -> bytes:
    """Return a schema of which each level of records holds the one below it twice."""
    kind: Any = "double"
    for level in range(levels):
        again = f"r{level - 1}" if level else "double"
        fields = [{"name": "a", "type": kind}, {"name": "b", "type": again}]
        kind = {"type": "record", "name": f"r{level}", "fields": fields}
    return json.dumps(kind).encode()


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (b"{", "must have a schema of Avro in front, it is damaged"),
        (b"[" * 100_000, "must have a schema of Avro in front, it is damaged"),
        (b'"int"', "must hold records, got 'int'"),
        (RECORD % b'{"name": "a", "type": "r"}', "types must not hold themselves"),
        (RECORD % b'{"name": "a", "type": "x"}', "there is no type 'x'"),
        (
            RECORD % b'{"name": "a", "type": {"type": "array", "items": "null"}}',
            "elements of lists must take a byte, got 'null'",
        ),
        (FIXED % b"1099511627776", "it is damaged: value too large"),
        (FIXED % b"1e999", "it is damaged: cannot convert float infinity"),
        (doubled(40), "it is damaged: it has more than 65536 types"),
    ],
)
def test_schemas_that_are_none_are_refused(tmp_path, schema, message):
    path = of_schema(tmp_path / "x.avro", schema)
    with pytest.raises(DataError, match=message):
        open_path(path, features="a", **NO_LABELS)


def test_an_unknown_codec_is_named(tmp_path):
    path = of_schema(tmp_path / "x.avro", RECORD % b"", b"lzo")
    with pytest.raises(DataError, match=r"must be compressed by one of .*, got 'lzo'"):
        open_path(path, features="a", **NO_LABELS)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (long(1 << 60) + long(1) + b"\x02", "must hold no more records than that"),
        (long(1) + long(1 << 40), "bytes of a block must be from 0 to 134217728"),
        (long(1) + long(2) + b"\x02\x02", "1 bytes are left behind the last"),
        (long(2) + long(2) + b"\x02\xff", "must hold 2 records of the file's schema"),
        (long(1) + long(1) + b"\x02" + b"t" * 16, "must follow a block, got"),
        (b"\xff" * 20, "a number must have 10 bytes at most"),
    ],
)
def test_blocks_that_lie_are_corrupt(tmp_path, block, message):
    schema = RECORD % b'{"name": "a", "type": "int"}'
    path = of_schema(tmp_path / "x.avro", schema, block=block)
    with pytest.raises(CorruptFileError, match=message):
        load_one(path, features="a", **NO_LABELS)


def test_records_that_take_no_byte_are_not_held(tmp_path):
    """As many as there are bytes are dicts of 64 bytes each."""
    block = long(1 << 20) + long(1 << 20) + bytes(1 << 20)
    schema = RECORD % b'{"name": "a", "type": "null"}'
    path = of_schema(tmp_path / "x.avro", schema, block=block)
    with Path(path).open("rb") as stream:
        file = AvroFile(stream, path)
        found = next(file.blocks())
    with pytest.raises(CorruptFileError, match="it does not: a record takes no byte"):
        next(avro._decoded(found, file.schema.plain, list_parts(path)[0]))


def test_a_bit_that_flipped_behind_snappy_is_refused(tmp_path):
    (stored,) = (AVRO / "snappy").glob("part-*")
    data = bytearray(stored.read_bytes())
    # The last byte of the checksum of the last block, in front of the mark.
    data[-17] ^= 1
    path = tmp_path / stored.name
    path.write_bytes(data)
    with pytest.raises(CorruptFileError, match="the checksum is that of other bytes"):
        load_one(str(path), features="a", **NO_LABELS)


@pytest.mark.parametrize("codec", CODECS)
def test_damage_is_refused_or_read(tmp_path, rng, codec):
    (stored,) = (AVRO / codec).glob("part-*")
    how = {"features": ("x", "a"), "label": "label", "key": "price"}
    for data in damaged_copies(stored.read_bytes(), rng, 60):
        check_refused_or_read(tmp_path / "x.avro", data, **how)


def test_damage_of_small_files_is_refused_or_read(tmp_path, rng):
    path = Path(labelled(tmp_path / "x.avro", 5))
    for data in damaged_copies(path.read_bytes(), rng, 1000):
        check_refused_or_read(path, data, features="features", label="label")


def test_fastavro_is_asked_for(tmp_path, monkeypatch):
    path = labelled(tmp_path / "x.avro")
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'daskdl\[avro\]'"):
        open_path(path)
