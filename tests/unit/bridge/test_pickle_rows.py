"""Spark's pickle files as examples: columns of objects, spans, and what is refused."""

import array
import datetime
import decimal
import os
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError, CorruptFileError, DataError
from daskdl_bridge.readers import sequence_table, table_partitions
from daskdl_bridge.source import PathSources
from tests.unit.bridge import spark_classes
from tests.unit.bridge.sequence_files import header, records, stored_bytes
from tests.unit.bridge.spark_classes import spark_class
from tests.unit.bridge.table_files import load_one, open_path

UTC = datetime.timezone.utc
DAY, NOW = datetime.date(2024, 1, 2), datetime.datetime(2024, 1, 2, 3, 4, 5, 6)  # noqa: DTZ001
LONG, PRICE = datetime.timedelta(days=1, seconds=2), decimal.Decimal("12.50")

CLASSES = {"key": "NullWritable", "value": "BytesWritable"}
OUTER = bytes.fromhex("aced00057572") + b"\0\3[[BK\xfd\x19\x15gg\xdb7\2\0\0xp"
INNER = b"ur\0\2[B\xac\xf3\x17\xf8\6\x08T\xe0\2\0\0xp"
AGAIN = b"uq\0\x7e\0\2"


def pickled(*batches: Any, protocol: int = 5) -> bytes:
    """Return the value of a record, each batch an array of bytes."""
    return framed(*(pickle.dumps(batch, protocol) for batch in batches))


def framed(*arrays: bytes) -> bytes:
    made = OUTER + len(arrays).to_bytes(4, "big")
    for index, one in enumerate(arrays):
        made += (AGAIN if index else INNER) + stored_bytes(one)
    return stored_bytes(made)


def write(path: Path, *values: bytes, sync_every: int = 0) -> str:
    pairs = [(b"", value) for value in values]
    path.write_bytes(header(**CLASSES) + records(pairs, sync_every=sync_every))
    return str(path)


def features_of(path: str, column: str = "value") -> list[Any]:
    return load_one(path, features=column, require_labels=False).features.tolist()


@pytest.mark.parametrize(
    ("one", "types"),
    [
        (("a", np.zeros(2, "f4")), {"key": "string", "value": "list<item: float>"}),
        ((1, [1, 2]), {"key": "int64", "value": "list<item: double>"}),
        ((1, b"abc"), {"key": "int64", "value": "binary"}),
        ((1, 2.5), {"_c0": "int64", "_c1": "double"}),
        (
            (True, [0.5], None),
            {"_c0": "bool", "_c1": "list<item: double>", "_c2": "null"},
        ),
        ({"x": 1.5, "y": np.int32(1)}, {"x": "double", "y": "int64"}),
        (
            (DAY, NOW, NOW.replace(tzinfo=UTC), LONG, PRICE),
            {
                "_c0": "date32[day]",
                "_c1": "timestamp[us]",
                "_c2": "timestamp[us, tz=UTC]",
                "_c3": "duration[us]",
                "_c4": "decimal128(38, 18)",
            },
        ),
        ([DAY], {"value": "list<item: date32[day]>"}),
        (("a", {"x": 1}), {"key": "string", "x": "int64"}),
        (OrderedDict(y=1.5, x=DAY), {"y": "double", "x": "date32[day]"}),
        ([1.0, 2.0], {"value": "list<item: double>"}),
        (7, {"value": "int64"}),
        (np.zeros((2, 3)), {"value": "list<item: list<item: double>>"}),
    ],
)
def test_the_first_object_tells_the_columns(one, types, tmp_path):
    path = write(tmp_path / "part-00000", pickled([one]))
    assert PathSources().look(path, SourceOptions()).columns == types


def test_labelled_points_have_label_and_features(tmp_path, monkeypatch):
    spark_classes.provide(monkeypatch)
    dense = spark_class("mllib.linalg", "DenseVector")(0.0, 0.5, 0.0)
    sparse = spark_class("mllib.linalg", "SparseVector")(3, [2], [1.5])
    point = spark_class("mllib.regression", "LabeledPoint")
    path = write(tmp_path / "x.seq", pickled([point(0.0, dense), point(1.0, sparse)]))
    batch = load_one(path, n_classes=2)
    assert batch.features.tolist() == [[0, 0.5, 0], [0, 0, 1.5]]
    assert batch.labels.tolist() == [[1, 0], [0, 1]]


def test_labelled_points_may_have_keys(tmp_path, monkeypatch):
    spark_classes.provide(monkeypatch)
    vector = spark_class("mllib.linalg", "DenseVector")(0.5, 1.5)
    point = spark_class("mllib.regression", "LabeledPoint")
    pairs = [("a", point(0.0, vector)), ("b", point(1.0, vector))]
    path = write(tmp_path / "x.seq", pickled(pairs))
    batch = load_one(path, n_classes=2, key="key")
    assert batch.keys.tolist() == ["a", "b"]
    assert batch.features.tolist() == [[0.5, 1.5]] * 2
    assert batch.labels.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("keys", "stored"),
    [
        ([DAY, None], pa.date32()),
        ([NOW, None], pa.timestamp("us")),
        ([NOW.replace(tzinfo=UTC)] * 2, pa.timestamp("us", "UTC")),
        ([LONG, None], pa.duration("us")),
        ([PRICE, None, -PRICE], pa.decimal128(38, 18)),
    ],
    ids=str,
)
def test_keys_of_dates_times_and_decimals_come_back(keys, stored, tmp_path):
    path = write(tmp_path / "x.seq", pickled([(key, [0.5]) for key in keys]))
    (partition,) = open_path(
        path, features="value", key="key", require_labels=False
    ).partitions
    found = partition.stored_keys(partition.load().keys)
    assert found.type == stored
    assert found.to_pylist() == keys


def test_a_pair_whose_columns_have_the_name_of_its_key_is_refused(tmp_path):
    path = write(tmp_path / "x.seq", pickled([("a", {"key": 1})]))
    with pytest.raises(DataError, match=r"column '_c1' must hold .* got a dict"):
        PathSources().look(path, SourceOptions())


@pytest.mark.parametrize("later", [NOW.replace(tzinfo=UTC), DAY, "2024-01-02"])
def test_times_are_of_the_kind_of_the_first(later, tmp_path):
    path = write(tmp_path / "x.seq", pickled([(NOW, [0.5]), (later, [0.5])]))
    with pytest.raises(ColumnError, match=r"column 'key' must hold timestamp\[us\] as"):
        load_one(path, features="value", key="key", require_labels=False)


def test_decimals_of_more_digits_are_refused(tmp_path):
    long = decimal.Decimal("0." + "1" * 19)
    path = write(tmp_path / "x.seq", pickled([(PRICE, [0.5]), (long, [0.5])]))
    with pytest.raises(
        ColumnError, match=r"column 'key' must hold decimal128\(38, 18\)"
    ):
        load_one(path, features="value", key="key", require_labels=False)


def test_rows_have_the_columns_that_they_name(tmp_path, monkeypatch):
    spark_classes.provide(monkeypatch)
    rows = [spark_classes.Row(label=i, features=[i, 0.5]) for i in range(3)]
    path = write(tmp_path / "x.seq", pickled(rows))
    batch = load_one(path, n_classes=3)
    assert batch.features.tolist() == [[0, 0.5], [1, 0.5], [2, 0.5]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([array.array("d", [1, 2])] * 2, [[1, 2]] * 2),
        ([[1, 2], [0.5, 1.5]], [[1, 2], [0.5, 1.5]]),
        ([[[1, 2], [3, 4]]], [[[1, 2], [3, 4]]]),
        ([np.arange(4.0).reshape(2, 2)], [[[0, 1], [2, 3]]]),
        ([np.arange(4.0).reshape(2, 2).T], [[[0, 2], [1, 3]]]),
        (
            [np.arange(8.0).reshape(2, 2, 2)] * 2,
            [[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]] * 2,
        ),
        ([np.ones((1, 2)), [[2, 3]]], [[[1, 1]], [[2, 3]]]),
        ([np.array([True, False])], [[1, 0]]),
        ([np.arange(2, dtype="f2")], [[0, 1]]),
        ([0.5, 1], [[0.5], [1]]),
        ([b"\1\2"], [[1, 2]]),
    ],
)
def test_values_become_features(values, expected, tmp_path):
    path = write(tmp_path / "part-00000", pickled(values))
    assert features_of(path) == expected


def test_batches_may_be_several_and_objects_alone(tmp_path):
    path = write(tmp_path / "x.seq", pickled([1.0, 2.0], [3.0], 4.0))
    assert features_of(path) == [[1], [2], [3], [4]]


def test_all_columns_may_be_in_the_path(tmp_path):
    directory = tmp_path / "group=7"
    directory.mkdir()
    write(directory / "x.seq", pickled([1.0, 2.0], [3.0]))
    assert features_of(str(tmp_path), "group") == [[7]] * 3


def test_files_without_records_have_no_examples(tmp_path):
    write(tmp_path / "a.seq")
    write(tmp_path / "b.seq", pickled([{"x": 1.0}]))
    partitions = open_path(str(tmp_path), features="x", require_labels=False).partitions
    assert [one.load().features.tolist() for one in partitions] == [[], [[1]]]


def test_a_large_file_is_shared_out_and_read_by_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(table_partitions, "_SPAN_BYTES", 1000)
    monkeypatch.setattr(sequence_table, "BLOCK_BYTES", 500)
    values = [pickled([[float(i), 0.0]]) for i in range(100)]
    path = write(tmp_path / "part-00000", *values, sync_every=3)
    partitions = open_path(path, features="value", require_labels=False).partitions
    assert len(partitions) > 5
    blocks = [list(one.load_blocks()) for one in partitions]
    found = [row[0] for some in blocks for block in some for row in block.features]
    assert found == list(range(100))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            {"x": 1.0},
            "object 1 must have the columns 'x', 'y' as the first of all does",
        ),
        (1.0, "object 1 must have the columns .* got 'value'"),
        (
            {"x": "a", "y": 1},
            "column 'x' must hold double as in the first object, object",
        ),
        ({"x": [1.0], "y": 1}, ".* object 1 has list<item: double>"),
        ({"x": {}, "y": 1}, ".* object 1 has a dict"),
    ],
)
def test_objects_must_be_like_the_first(other, message, tmp_path):
    path = write(tmp_path / "part-00000", pickled([{"x": 1.0, "y": 1}, other]))
    with pytest.raises(
        ColumnError, match=rf"part-00000: the record at .* \d+: {message}"
    ):
        features_of(path, "x")


def test_arrays_must_be_of_the_type_of_the_first(tmp_path):
    values = [np.zeros(2, "f4"), np.zeros(2, "f8")]
    path = write(tmp_path / "part-00000", pickled(values))
    with pytest.raises(ColumnError, match="object 1 has list<item: double>"):
        features_of(path)


def test_arrays_must_be_of_the_shape_of_the_first(tmp_path):
    path = write(tmp_path / "x.seq", pickled([np.zeros((2, 2)), np.zeros((2, 3))]))
    with pytest.raises(DataError, match="must hold lists of one length"):
        features_of(path)


def test_arrays_with_axes_may_not_be_missing(tmp_path):
    path = write(tmp_path / "x.seq", pickled([np.zeros((2, 2)), None]))
    with pytest.raises(
        DataError, match="'value' must hold a value in every row, row 1 is null"
    ):
        features_of(path)


def test_lists_must_hold_one_type(tmp_path):
    path = write(tmp_path / "part-00000", pickled([[1.0, "a"]]))
    with pytest.raises(
        ColumnError, match="column 'value' must hold list<item: double>"
    ):
        features_of(path)


@pytest.mark.parametrize("one", [{"x": {}}, [{}], [np.zeros(1)], (1, [[{}]])])
def test_what_is_no_example_is_refused(one, tmp_path):
    path = write(tmp_path / "part-00000", pickled([one]))
    with pytest.raises(DataError, match="must hold numbers, texts, bytes, dates, l"):
        open_path(path, features="value", require_labels=False)


@pytest.mark.parametrize("values", [[[]], []])
def test_the_first_record_must_hold_an_object(values, tmp_path):
    path = write(tmp_path / "part-00000", pickled(*values))
    with pytest.raises(DataError, match="must hold an object, got none"):
        open_path(path, features="value", require_labels=False)


class Making:
    """Has a pickle make a directory."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("n_before", [0, 1])
def test_nothing_that_a_file_names_is_run(n_before, tmp_path):
    made = tmp_path / "made"
    path = write(tmp_path / "x.seq", pickled([1.0] * n_before + [Making(str(made))]))
    with pytest.raises(DataError, match=r"record at offset \d+: pickle 0: .*\.mkdir'"):
        features_of(path)
    assert not made.exists()


def test_object_files_of_the_jvm_are_refused(tmp_path):
    value = bytes.fromhex("aced00057572") + b"\0\x13[Ljava.lang.Object;" + bytes(20)
    path = write(tmp_path / "part-00000", stored_bytes(value))
    with pytest.raises(DataError, match="got objects of a program in Java or Scala"):
        open_path(path, features="value", label="key")


WHOLE = pickled([1.0], [2.0])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (WHOLE[:-1], "value must have the .* bytes that it says"),
        (stored_bytes(WHOLE[4:-1]), "bytes must follow"),
        (stored_bytes(WHOLE[4:] + b"\0"), "the last array must end the value"),
        (WHOLE.replace(AGAIN, b"uq\0\x7e\0\3"), "an array of bytes must follow"),
        (framed(b"\x80\x04G\0"), "pickle 0: a pickle must be whole"),
    ],
)
def test_damage_is_refused_with_the_offset(value, message, tmp_path):
    path = write(tmp_path / "part-00000", value)
    with pytest.raises(
        CorruptFileError, match=rf"part-00000: .* offset \d+.*{message}"
    ):
        features_of(path)
