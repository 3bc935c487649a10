"""Parquet that Spark takes for its own."""

import datetime
import decimal
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from daskdl.errors import DataError
from daskdl_bridge.readers.vectors import VECTOR
from daskdl_bridge.writers.parquet import encode_parquet, to_table
from tests.unit.bridge.sample_forms import first_file

ROW_METADATA = b"org.apache.spark.sql.parquet.row.metadata"


def spark_schema(table_or_schema):
    schema = json.loads(table_or_schema.metadata[ROW_METADATA])
    return {field["name"]: field["type"] for field in schema["fields"]}


def test_matrix_becomes_the_vector_type_that_spark_writes():
    written = to_table({"features": np.zeros((2, 3), "float32")}).schema
    by_spark = pq.read_schema(first_file("parquet_vector_dense"))
    assert written.field("features").type == by_spark.field("features").type
    assert spark_schema(written)["features"] == spark_schema(by_spark)["features"]


def test_values_come_back():
    columns = {"key": ["a", "b"], "probability": np.array([[0.25, 0.75], [1, 0]])}
    data, rows = encode_parquet({**columns, "prediction": np.array([1.0, 0.0])})
    found = pq.read_table(pa.BufferReader(data))
    assert rows == 2
    assert found["key"].to_pylist() == ["a", "b"]
    assert found["prediction"].to_pylist() == [1.0, 0.0]
    assert found["probability"][0].as_py()["values"] == [0.25, 0.75]


@pytest.mark.parametrize(
    ("column", "stored", "spark"),
    [
        (np.array([1, 2]), pa.int64(), "long"),
        (np.array([1, 2], "int32"), pa.int32(), "integer"),
        (np.array([1, 2], "uint8"), pa.int16(), "short"),
        (np.array([1, 2], "uint32"), pa.int64(), "long"),
        (np.array([1, 2], "float16"), pa.float32(), "float"),
        (np.array([1.0]), pa.float64(), "double"),
        (np.array([True]), pa.bool_(), "boolean"),
        (np.array(["a"]), pa.string(), "string"),
        (np.array(["a", None], object), pa.string(), "string"),
        (pa.array(["a"], pa.large_string()), pa.string(), "string"),
        (pa.array(["a"]).dictionary_encode(), pa.string(), "string"),
        (pa.chunked_array([["a"], ["b"]]), pa.string(), "string"),
        (pa.nulls(2), pa.string(), "string"),
        (pa.array([b"a"]), pa.binary(), "binary"),
        (pa.array([b"ab"], pa.binary(2)), pa.binary(), "binary"),
        (pa.array([datetime.date(2024, 1, 2)]), pa.date32(), "date"),
        (np.array(["2024-01-02"], "M8[ns]"), pa.timestamp("us"), "timestamp_ntz"),
        (
            pa.array([0], pa.timestamp("ms", "UTC")),
            pa.timestamp("us", "UTC"),
            "timestamp",
        ),
        (pa.array([decimal.Decimal("1.50")]), pa.decimal128(3, 2), "decimal(3,2)"),
        (
            pa.array([[np.float16(1)]], pa.list_(pa.float16())),
            pa.list_(pa.float32()),
            {"type": "array", "elementType": "float", "containsNull": True},
        ),
        (
            pa.array([[("a", 1)]], pa.map_(pa.string(), pa.uint8())),
            pa.map_(pa.string(), pa.int16()),
            {
                "type": "map",
                "keyType": "string",
                "valueType": "short",
                "valueContainsNull": True,
            },
        ),
    ],
    ids=str,
)
def test_types_that_spark_reads(column, stored, spark):
    table = to_table({"x": column})
    assert table.schema.field("x").type == stored
    assert spark_schema(table.schema)["x"] == spark


def test_struct_keys_keep_their_fields():
    keys = np.array([{"source": "a", "number": 1}, {"source": "b", "number": 2}])
    table = to_table({"key": keys})
    fields = spark_schema(table.schema)["key"]["fields"]
    assert [(f["name"], f["type"]) for f in fields] == [
        ("source", "string"),
        ("number", "long"),
    ]
    assert table["key"].to_pylist() == keys.tolist()


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (pa.time32("s"), "23:59:58"),
        (pa.time32("ms"), "23:59:58.000"),
        (pa.time64("us"), "23:59:58.000000"),
        (pa.time64("ns"), "23:59:58.000000000"),
    ],
    ids=str,
)
def test_times_of_day_are_texts(kind, text):
    times = pa.array([datetime.time(23, 59, 58), None], kind)
    table = to_table(
        {"x": times, "y": pa.array([[times[0].as_py()], []], pa.list_(kind))}
    )
    assert table["x"].to_pylist() == [text, None]
    assert table["y"].to_pylist() == [[text], []]
    assert spark_schema(table.schema)["x"] == "string"


def test_lost_digits_are_refused():
    column = pa.array([1], pa.timestamp("ns"))
    with pytest.raises(DataError, match=r"column 'x' .* would lose data"):
        to_table({"x": column})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1], "y": [1, 2]}, r"one length, got {'x': 1, 'y': 2}"),
        ({"x": np.zeros((1, 2, 3))}, r"column 'x' must have shape"),
        ({"x": np.array([1, "a"], object)}, r"column 'x' must hold values of one type"),
        (
            {"x": pa.array([1], pa.uint64())},
            r"^output: column 'x' must have a type that Spark .* keep takes the names",
        ),
    ],
)
def test_what_spark_cannot_read_is_refused(columns, message):
    with pytest.raises(DataError, match=message):
        to_table(columns)


def test_vector_struct_is_a_vector_column_too():
    column = pa.array([None], VECTOR)
    assert spark_schema(to_table({"x": column}).schema)["x"]["type"] == "udt"
