"""Names that reach into structs, for features, labels and keys."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import ColumnError
from daskdl_bridge.readers.nested import field_of, type_of, with_type
from tests.unit.bridge.table_files import (
    load_one,
    open_path,
    write_json,
    write_orc,
    write_parquet,
    write_text,
)

ROWS = [
    {"data": {"x": [1.0, 2.0], "tag": 1}, "ids": {"site": "a", "number": 7}},
    {"data": {"x": [3.0, 4.0], "tag": 0}, "ids": {"site": "b", "number": 8}},
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}
NAMES = {"features": "data.x", "label": "data.tag", "key": "ids.site"}


@pytest.fixture
def path(tmp_path):
    return write_parquet(tmp_path / "x.parquet", COLUMNS)


@pytest.fixture(params=["parquet", "orc", "json", "table"])
def data(request, tmp_path):
    path = tmp_path / f"x.{request.param}"
    if request.param == "table":
        return pa.table(COLUMNS)
    if request.param == "json":
        return write_json(path, ROWS)
    write = {"parquet": write_parquet, "orc": write_orc}[request.param]
    return write(path, COLUMNS)


def test_fields_of_structs_are_columns(data):
    (partition,) = open_source(data, SourceOptions(**NAMES, n_classes=2)).partitions
    batch = partition.load()
    np.testing.assert_array_equal(batch.features, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(batch.labels, [[0, 1], [1, 0]])
    assert batch.keys.tolist() == ["a", "b"]


def test_keys_of_structs_have_their_type(data):
    (partition,) = open_source(data, SourceOptions(**NAMES)).partitions
    assert partition.stored_keys(partition.load().keys).type == pa.string()


def test_a_column_that_bears_the_name_comes_first(tmp_path):
    columns = {**COLUMNS, "data.x": [5.0, 6.0]}
    path = write_parquet(tmp_path / "x.parquet", columns)
    batch = load_one(path, **NAMES)
    np.testing.assert_array_equal(batch.features, [[5], [6]])


def test_the_longest_name_that_is_a_column_holds_the_field():
    types = {"a": pa.struct([("b", pa.int8())]), "a.b": pa.struct([("c", pa.int64())])}
    assert type_of("a.b.c", types) == pa.int64()


def test_a_null_struct_has_null_fields():
    column = pa.array([{"a": {"b": 1}}, None, {"a": None}])
    assert field_of(column, "s.a.b", "s").to_pylist() == [1, None, None]


def test_the_type_of_one_field_is_changed_alone():
    types = {"s": pa.struct([("a", pa.int64()), ("b", pa.int64())])}
    changed = with_type("s.b", types, pa.float64())
    assert changed["s"] == pa.struct([("a", pa.int64()), ("b", pa.float64())])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            {"features": "data.y"},
            r"'data.y' must exist, it does not: 'data' is struct<",
        ),
        ({"label": "data.tag.x"}, r"'data.tag.x' must exist"),
        ({"key": "ids.name"}, r"'ids.name' must exist"),
        ({"features": "date.x"}, r"'date.x' must exist.*The columns are 'data', 'ids'"),
        ({"features": "ids.site"}, r"'ids.site' must hold numbers.*got string"),
    ],
)
def test_fields_that_are_none_or_of_another_type_are_refused(path, names, message):
    with pytest.raises(ColumnError, match=message):
        open_path(path, **(NAMES | names))


def test_text_files_have_no_fields(tmp_path):
    path = write_text(tmp_path / "x.csv", "data,label\n1,0\n")
    with pytest.raises(ColumnError, match=r"column 'data\.x' must exist"):
        open_path(path, features="data.x")


def test_whole_numbers_of_json_may_be_followed_by_fractions(tmp_path):
    rows = [{"s": {"x": 1, "t": "NaN"}} for _ in range(1000)]
    rows += [{"s": {"x": 0.5, "t": "NaN"}}]
    path = write_json(tmp_path / "x.json", rows)
    batch = load_one(path, features="s.x", key="s.t", require_labels=False)
    assert (batch.features[-1, 0], batch.keys[0]) == (0.5, "NaN")


def test_numbers_of_json_that_are_not_finite_are_told_in_structs(tmp_path):
    path = write_json(tmp_path / "x.json", [{"s": {"x": 1.5}}, {"s": {"x": "NaN"}}])
    left = load_one(path, features="s.x", require_labels=False, handle_invalid="skip")
    np.testing.assert_array_equal(left.features, [[1.5]])


def test_rows_whose_struct_is_null_are_skipped(tmp_path):
    column = pa.array([{"x": 1.0}, None, {"x": None}])
    path = write_parquet(tmp_path / "x.parquet", {"s": column})
    left = load_one(path, features="s.x", require_labels=False, handle_invalid="skip")
    np.testing.assert_array_equal(left.features, [[1.0]])


def test_only_the_columns_that_are_named_are_read(path):
    (partition,) = open_path(path, **NAMES).partitions
    assert partition.columns.stored() == ["data", "ids"]


def test_two_keys_make_tuples(path):
    batch = load_one(path, **NAMES | {"key": ("ids.site", "ids.number")})
    assert batch.keys.tolist() == [("a", 7), ("b", 8)]


def test_each_of_two_keys_has_its_type(path):
    names = NAMES | {"key": ("ids.site", "ids.number")}
    (partition,) = open_path(path, **names).partitions
    numbers = np.array([7, 8], object)
    assert partition.stored_keys(numbers, 1).equals(pc.cast(pa.array([7, 8]), "int64"))
