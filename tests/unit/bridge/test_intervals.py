"""Intervals that Spark stored as whole numbers in Parquet, ORC and Avro."""

import datetime
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from daskdl.errors import ColumnError
from daskdl_bridge.readers.avro_schema import read_schema
from daskdl_bridge.readers.intervals import interval_type
from daskdl_bridge.writers.csv import encode_csv
from daskdl_bridge.writers.json import encode_json
from tests.unit.bridge.table_files import load_one, open_path
from tests.unit.bridge.test_calendars import STORED

FORMS = ["orc_hybrid", "parquet_legacy"]
SPANS = [datetime.timedelta(days=i, hours=3, minutes=4, seconds=5.5) for i in range(6)]
SCHEMA = "org.apache.spark.sql.parquet.row.metadata"


def partition_of(path, **options):
    options = {"features": "f", "require_labels": False, **options}
    (partition,) = open_path(path, **options).partitions
    return partition


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("span", SPANS),
        ("hm", [datetime.timedelta(hours=i, minutes=30) for i in range(6)]),
    ],
)
def test_keys_are_durations_whatever_their_units(form, column, expected):
    partition = partition_of(STORED / form, key=column)
    keys = partition.stored_keys(partition.load().keys)
    assert keys.type == pa.duration("us")
    assert keys.to_pylist() == expected


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("encode", [encode_json, encode_csv])
def test_results_have_them_as_spark_writes_them(form, encode):
    partition = partition_of(STORED / form, key="span")
    data, _ = encode({"key": partition.stored_keys(partition.load().keys)})
    assert b"INTERVAL '5 03:04:05.500000' DAY TO SECOND" in data


@pytest.mark.parametrize("form", FORMS)
def test_kept_columns_are_durations(form):
    (rows,) = partition_of(STORED / form, keep=("span",)).load_rows()
    assert rows.columns["span"].to_pylist() == SPANS


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("option", ["key", "keep"])
def test_years_and_months_are_refused(form, option):
    with pytest.raises(ColumnError, match="must not hold intervals of years and mon"):
        partition_of(STORED / form, **{option: "months"})


def nested(path, spark_type, values):
    """Write a column as Spark does, its schema in the footer."""
    fields = [
        {"name": "f", "type": "double", "nullable": True, "metadata": {}},
        {"name": "key", "type": spark_type, "nullable": True, "metadata": {}},
    ]
    text = json.dumps({"type": "struct", "fields": fields})
    table = pa.table({"f": [1.0], "key": values}).replace_schema_metadata(
        {SCHEMA: text}
    )
    pq.write_table(table, path)
    return path


@pytest.mark.parametrize(
    ("spark_type", "stored", "expected"),
    [
        (
            {"type": "array", "elementType": "interval hour", "containsNull": True},
            pa.array([[5_000_000, None]], pa.list_(pa.int64())),
            [datetime.timedelta(seconds=5), None],
        ),
        (
            {
                "type": "struct",
                "fields": [
                    {"name": "a", "type": "interval day"},
                    {"name": "b", "type": "long"},
                ],
            },
            pa.array([{"a": 5_000_000, "b": 5}]),
            {"a": datetime.timedelta(seconds=5), "b": 5},
        ),
        (
            {"type": "map", "keyType": "string", "valueType": "interval day"},
            pa.array([[("k", 5_000_000)]], pa.map_(pa.string(), pa.int64())),
            [("k", datetime.timedelta(seconds=5))],
        ),
    ],
    ids=["array", "struct", "map"],
)
def test_those_within_others_are_durations(tmp_path, spark_type, stored, expected):
    path = nested(tmp_path / "a.parquet", spark_type, stored)
    assert load_one(
        path, features="f", key="key", require_labels=False
    ).keys.tolist() == [expected]


def test_a_field_beside_months_is_read(tmp_path):
    fields = [{"name": "a", "type": "interval year"}, {"name": "b", "type": "long"}]
    stored = pa.array([{"a": 3, "b": 5}])
    path = nested(tmp_path / "a.parquet", {"type": "struct", "fields": fields}, stored)
    batch = load_one(path, features="key.b", key="f", require_labels=False)
    assert batch.features.tolist() == [[5]]


@pytest.mark.parametrize("schema", ["", "{", "[]", '{"fields": [{"name": 1}]}'])
def test_a_damaged_schema_of_spark_explains_nothing(tmp_path, schema):
    table = pa.table({"f": [1.0], "key": [3]}).replace_schema_metadata({SCHEMA: schema})
    pq.write_table(table, tmp_path / "a.parquet")
    options = {"features": "f", "key": "key", "require_labels": False}
    assert load_one(tmp_path / "a.parquet", **options).keys.tolist() == [3]


def test_avro_notes_them_beside_a_type():
    fields = [
        {
            "name": name,
            "type": [{"type": kind, "spark.sql.catalyst.type": noted}, "null"],
        }
        for name, kind, noted in [
            ("span", "long", "interval day to second"),
            ("months", "int", "interval year to month"),
        ]
    ]
    schema = {"type": "record", "name": "row", "fields": fields}
    types = read_schema(json.dumps(schema).encode(), "a.avro").types
    assert types == {
        "span": pa.duration("us"),
        "months": interval_type("interval year"),
    }
