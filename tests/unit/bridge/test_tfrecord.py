"""TFRecord files: values, types of columns, checksums, and what is refused."""

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError, CorruptFileError
from daskdl_bridge.readers import tfrecord
from daskdl_bridge.readers.crc32c import crc32c, masked_crc32c
from daskdl_bridge.readers.tf_example import decode_example
from daskdl_bridge.source import PathSources
from tests.unit.bridge.damaged_files import check_refused_or_read, damaged_copies
from tests.unit.bridge.table_files import load_one, open_path

SAMPLE = Path(__file__).parents[2] / "data" / "tfrecord" / "examples.tfrecord"
LABELLED = {"features": "features", "label": "label"}


def varint(value: int) -> bytes:
    made, value = bytearray(), value % (1 << 64)
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])


def message(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(values: list[Any]) -> bytes:
    if values and isinstance(values[0], bytes):
        return message(1, b"".join(message(1, value) for value in values))
    if values and isinstance(values[0], float):
        return message(2, message(1, struct.pack(f"<{len(values)}f", *values)))
    return message(3, message(1, b"".join(map(varint, values))))


def example(**features: list[Any]) -> bytes:
    entries = (
        message(1, message(1, name.encode()) + message(2, feature(values)))
        for name, values in features.items()
    )
    return message(1, b"".join(entries))


def record(data: bytes) -> bytes:
    head = struct.pack("<Q", len(data))
    sums = [struct.pack("<I", masked_crc32c(one)) for one in (head, data)]
    return head + sums[0] + data + sums[1]


def write(path: Path, *examples: bytes) -> str:
    path.write_bytes(b"".join(map(record, examples)))
    return str(path)


@pytest.mark.parametrize(
    ("data", "checksum"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (b"\0" * 32, 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
    ],
)
def test_checksums_are_those_of_rfc_3720(data, checksum):
    assert crc32c(data) == checksum


@pytest.mark.parametrize("n_bytes", [1, 3, 16, 17, 1023, 1024, 1025, 1027, 3000])
def test_checksums_of_any_length_are_those_of_bit_by_bit(rng, n_bytes):
    data = rng.bytes(n_bytes)
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = (state >> 1) ^ (0x82F63B78 if state & 1 else 0)
    assert crc32c(data) == state ^ 0xFFFFFFFF


def test_examples_have_the_values_that_were_written():
    batch = load_one(str(SAMPLE), **LABELLED, key="name", n_classes=3)
    expected = np.float32([[i / 2, -i, i / 1000] for i in range(100)])
    assert batch.features.tolist() == expected.tolist()
    assert batch.labels.argmax(axis=1).tolist() == [i % 3 for i in range(100)]
    assert batch.keys.tolist() == [b"k%d" % i for i in range(100)]


@pytest.mark.parametrize(
    ("column", "row"),
    [
        ("big", lambda i: [-(i << 40)]),
        ("many", lambda i: [i, 300 * i, -1]),
        ("raw", lambda i: [i, 1, 2]),
    ],
)
def test_whole_numbers_and_bytes_become_features(column, row):
    how = {"features": column, "label": "label", "dtype": "float64"}
    assert load_one(str(SAMPLE), **how).features.tolist() == [
        row(i) for i in range(100)
    ]


def test_a_missing_feature_is_null():
    keys = load_one(str(SAMPLE), **LABELLED, key="maybe").keys.tolist()
    assert keys == [i if i % 5 else None for i in range(100)]


def test_columns_and_types_are_told():
    columns = PathSources().look(str(SAMPLE), SourceOptions()).columns
    assert columns["features"] == "list<item: float>"
    assert columns["maybe"] == "int64"
    assert columns["raw"] == "binary"


@pytest.mark.parametrize(
    "name", ["x.tfrecord.gz", "x.tfrecords.gz", "x-00000-of-00001.tfrecord.gz"]
)
def test_compressed_files_are_read(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(SAMPLE.read_bytes()))
    assert load_one(str(tmp_path / name), **LABELLED).num_examples == 100


def test_the_number_of_a_shard_is_no_ending(tmp_path):
    path = tmp_path / "train.tfrecord-00000-of-00010"
    path.write_bytes(SAMPLE.read_bytes())
    assert load_one(str(path), **LABELLED).num_examples == 100


def test_blocks_have_each_row_once(monkeypatch):
    monkeypatch.setattr(tfrecord, "BLOCK_BYTES", 5000)
    (partition,) = open_path(str(SAMPLE), **LABELLED).partitions
    blocks = [len(block.features) for block in partition.load_blocks()]
    assert len(blocks) > 5
    assert sum(blocks) == 100


def test_files_without_records_have_no_rows(tmp_path):
    write(tmp_path / "a.tfrecord")
    write(tmp_path / "b.tfrecord", example(features=[1.0], label=[1]))
    partitions = open_path(str(tmp_path), **LABELLED).partitions
    assert [one.load().num_examples for one in partitions] == [0, 1]


def test_a_feature_of_several_values_anywhere_in_front_is_a_list(tmp_path):
    rows = [example(a=[1.0], label=[0]), example(a=[1.0, 2.0], label=[0])]
    columns = PathSources().look(write(tmp_path / "x.tfrecord", *rows), SourceOptions())
    assert columns.columns["a"] == "list<item: float>"


@pytest.mark.parametrize(
    ("later", "message"),
    [
        ([1], r"'a' must hold float as in the first records, .* offset \d+ has int64"),
        ([1.0, 2.0], r"'a' must hold float as in the first .* has 2 values"),
        ([b"x"], r"'a' must hold float as in the first .* has binary"),
    ],
)
def test_values_must_be_of_the_types_of_the_first(
    tmp_path, monkeypatch, later, message
):
    monkeypatch.setattr(tfrecord, "_SAMPLED_RECORDS", 1)
    rows = [example(a=[1.0], label=[0]), example(a=later, label=[0])]
    path = write(tmp_path / "x.tfrecord", *rows)
    with pytest.raises(ColumnError, match=message):
        load_one(path, features="a", label="label")


def test_lists_that_are_not_packed_are_read():
    floats = b"".join(varint(1 << 3 | 5) + struct.pack("<f", x) for x in (0.5, 2))
    wholes = b"".join(varint(1 << 3) + varint(x) for x in (7, -1))
    entries = (
        message(1, message(1, name) + message(2, message(kind, values)))
        for name, kind, values in ((b"a", 2, floats), (b"b", 3, wholes))
    )
    found = decode_example(message(1, b"".join(entries)))
    assert found["a"].tolist() == [0.5, 2]
    assert found["b"].tolist() == [7, -1]


def test_a_sequence_example_is_refused(tmp_path):
    path = write(tmp_path / "x.tfrecord", message(1, b"") + message(2, b""))
    with pytest.raises(CorruptFileError, match=r"it is a tf\.train\.SequenceExample"):
        load_one(path, **LABELLED)


@pytest.mark.parametrize(
    ("at", "message"),
    [
        (0, "the checksum of a record's length must be"),
        (30, "the checksum of a record's bytes must be"),
        (-1, "the checksum of a record's bytes must be"),
    ],
)
def test_a_bit_that_flipped_is_refused(tmp_path, at, message):
    path = Path(write(tmp_path / "x.tfrecord", example(features=[1.0], label=[1])))
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptFileError, match=message):
        load_one(str(path), **LABELLED)


def test_a_length_that_claims_too_much_is_refused(tmp_path):
    head = struct.pack("<Q", 1 << 40)
    path = tmp_path / "x.tfrecord"
    path.write_bytes(head + struct.pack("<I", masked_crc32c(head)) + b"x" * 40)
    with pytest.raises(CorruptFileError, match="must have 0 to 134217728 bytes, got"):
        load_one(str(path), **LABELLED)


def test_damaged_files_are_refused_or_read(tmp_path, rng):
    for data in damaged_copies(SAMPLE.read_bytes()[:2000], rng, 300):
        check_refused_or_read(tmp_path / "x.tfrecord", data, **LABELLED)


def test_damaged_examples_are_refused_or_read(tmp_path, rng):
    whole = example(features=[1.0, 2.0], label=[1 << 40], name=[b"abc"])
    for data in damaged_copies(whole, rng, 1000):
        check_refused_or_read(tmp_path / "x.tfrecord", record(data), **LABELLED)
