"""What the sink writes beside Parquet, Spark reads with equal values and types."""

import datetime
import math

import numpy as np
import pyarrow as pa
import pytest

from daskdl.data.sinks import open_sink
from tests.unit.bridge.csv_strings import STRINGS
from tests.unit.cluster.stored_keys import STORED, UTC

# So that Spark tells an empty text from null, and texts may have line ends.
OF_CSV = {"header": True, "multiLine": True, "nullValue": "nothing"}
NESTED = {"struct with null fields", "lists", "map"}
NUMBERS = [0.1, -0.0, 1e300, 5e-324, math.nan, math.inf, -math.inf]

# What Python makes of a key, for each type that a SequenceFile has a Writable of.
WRITABLE = {
    "string": (pa.string(), ["a", "", "ü\n\0"], str),
    "int8": (pa.int8(), [1, -128, 127], int),
    "int16": (pa.int16(), [1, -(2**15), 2**15 - 1], int),
    "int32": (pa.int32(), [1, -(2**31), 2**31 - 1], int),
    "int64": (pa.int64(), [1, -(2**63), 2**63 - 1], int),
    "float32": (pa.float32(), [0.5, -1.25, math.inf], float),
    "float64": (pa.float64(), [0.1, -1e300, math.inf], float),
    "bool": (pa.bool_(), [True, False, True], bool),
    "binary": (pa.binary(), [b"a", b"", b"\0\xff"], bytearray),
}


def write(url, output_format, parts):
    sink = open_sink(str(url), format=output_format)
    sink.prepare()
    sink.commit([sink.write_part(i, part) for i, part in enumerate(parts)])
    return str(url)


def parts_of(arrays):
    """Return parts of which `prediction` numbers the rows."""
    starts = np.cumsum([0, *map(len, arrays)])
    return [
        {
            "key": keys,
            "prediction": np.arange(float(len(keys))) + start,
            "probability": np.full((len(keys), 2), 0.5, "float32"),
        }
        for keys, start in zip(arrays, starts[:-1], strict=True)
    ]


def of_kind(kind):
    stored, parts = STORED[kind]
    return parts_of([pa.array(keys, stored) for keys in parts])


def keys_in_order(frame):
    return [row["key"] for row in frame.orderBy("prediction").select("key").collect()]


def as_parquet(spark, folder, parts):
    return spark.read.parquet(write(f"{folder}/parquet", "parquet", parts))


@pytest.mark.parametrize("kind", STORED)
def test_json_gives_the_keys_that_parquet_gives(spark, folder, kind):
    expected = as_parquet(spark, folder, of_kind(kind))
    schema = expected.select("key", "prediction").schema
    path = write(f"{folder}/json", "json", of_kind(kind))
    found = spark.read.schema(schema).json(path, mode="FAILFAST")
    assert keys_in_order(found) == keys_in_order(expected)


@pytest.mark.parametrize("kind", sorted(STORED.keys() - NESTED - {"binary"}))
def test_csv_gives_the_keys_that_parquet_gives(spark, folder, kind):
    expected = as_parquet(spark, folder, of_kind(kind))
    schema = expected.select("key", "prediction").schema.add("probability", "string")
    path = write(f"{folder}/csv", "csv", of_kind(kind))
    found = spark.read.schema(schema).csv(path, mode="FAILFAST", **OF_CSV)
    assert keys_in_order(found) == keys_in_order(expected)


@pytest.mark.parametrize("kind", sorted(NESTED))
def test_csv_has_nested_keys_as_json(spark, folder, kind):
    from pyspark.sql.functions import from_json

    expected = as_parquet(spark, folder, of_kind(kind))
    path = write(f"{folder}/csv", "csv", of_kind(kind))
    found = spark.read.csv(path, **OF_CSV, inferSchema=True)
    key = from_json("key", expected.schema["key"].dataType, {"mode": "FAILFAST"})
    assert keys_in_order(found.withColumn("key", key)) == keys_in_order(expected)


def python_key(kind, key):
    return dict(key) if kind == "map" and key is not None else key


@pytest.mark.parametrize("kind", STORED)
def test_pickles_give_the_keys_as_python_has_them(spark, folder, kind):
    path = write(f"{folder}/pickle", "pickle", of_kind(kind))
    found = spark.sparkContext.pickleFile(path).collect()
    expected = [python_key(kind, k) for keys in STORED[kind][1] for k in keys]
    assert sorted(map(repr, found)) == sorted(
        repr((key, [0.5, 0.5])) for key in expected
    )


@pytest.mark.parametrize("kind", WRITABLE)
def test_sequence_files_give_keys_of_their_type(spark, folder, kind):
    stored, keys, python_type = WRITABLE[kind]
    parts = parts_of([pa.array(keys[:1], stored), pa.array(keys[1:], stored)])
    path = write(f"{folder}/seq", "sequence_file", parts)
    found = [key for key, _ in spark.sparkContext.sequenceFile(path).collect()]
    assert sorted(found) == sorted(keys)
    assert {type(key) for key in found} <= {python_type, bytes}


def test_a_large_sequence_file_is_read_in_several_splits(spark, folder):
    keys = np.arange(20_000)
    path = write(f"{folder}/seq", "sequence_file", parts_of([keys]))
    pairs = spark.sparkContext.sequenceFile(path, minSplits=4)
    assert pairs.getNumPartitions() >= 4
    assert sorted(pairs.keys().collect()) == keys.tolist()


VALUES = {
    "double": ({"prediction": np.array([0.1])}, 0.1),
    "vector": ({"prediction": np.array([[0.1, -2.0]])}, {0: 0.1, 1: -2.0}),
    "class": (
        {"prediction": np.array([1.0]), "probability": np.array([[0.25, 0.75]])},
        {0: 0.25, 1: 0.75},
    ),
    "two outputs": (
        {"prediction": np.array([2.5]), "prediction_1": np.array([[0.5]])},
        {"prediction": 2.5, "prediction_1": {0: 0.5}},
    ),
    "every type": (
        {
            "prediction": np.array([2.5]),
            "day": pa.array(["Monday"]),
            "number": pa.array([None], pa.int32()),
            "long": pa.array([2**60]),
            "flag": pa.array([True]),
            "small": pa.array([0.5], pa.float32()),
            "bytes": pa.array([b"ab"]),
            "struct": pa.array([{"a": 1, "b": [0.5]}]),
        },
        {
            "prediction": 2.5,
            "day": "Monday",
            "number": None,
            "long": 2**60,
            "flag": True,
            "small": 0.5,
            "bytes": b"ab",
            "struct": {"a": 1, "b": {0: 0.5}},
        },
    ),
}


@pytest.mark.parametrize("kind", VALUES)
def test_values_of_sequence_files_are_numbers_or_dicts(spark, folder, kind):
    columns, expected = VALUES[kind]
    path = write(f"{folder}/seq", "sequence_file", [{"key": ["a"], **columns}])
    assert spark.sparkContext.sequenceFile(path).collect() == [("a", expected)]


def test_values_of_pickles_have_their_columns_where_there_are_several(spark, folder):
    instant = datetime.datetime(2024, 1, 2, 3, 4, 5, 6, UTC)
    columns = {
        "key": ["a"],
        "prediction": np.array([1.0]),
        "probability": np.array([[0.25, 0.75]]),
        "at": pa.array([instant], pa.timestamp("us", "Europe/Berlin")),
    }
    path = write(f"{folder}/pickle", "pickle", [columns])
    (pair,) = spark.sparkContext.pickleFile(path).collect()
    assert pair == ("a", {"probability": [0.25, 0.75], "at": instant})


@pytest.mark.parametrize("output_format", ["csv", "json"])
def test_texts_come_back_as_they_are(spark, folder, output_format):
    keys = [*STRINGS, None]
    path = write(f"{folder}/out", output_format, parts_of([pa.array(keys)]))
    reader = spark.read.schema("key string, prediction double, probability string")
    options = OF_CSV if output_format == "csv" else {}
    found = getattr(reader, output_format)(path, **options)
    assert keys_in_order(found) == keys


@pytest.mark.parametrize("output_format", ["csv", "json"])
def test_numbers_come_back_bit_for_bit(spark, folder, output_format):
    from pyspark.sql.functions import from_json

    vectors = np.array([NUMBERS])
    part = {"key": ["a"], "prediction": np.array([0.1]), "probability": vectors}
    path = write(f"{folder}/out", output_format, [part])
    if output_format == "csv":
        frame = spark.read.csv(path, header=True)
        frame = frame.select(from_json("probability", "array<double>").alias("x"))
    else:
        schema = "probability array<double>"
        frame = spark.read.schema(schema).json(path).toDF("x")
    np.testing.assert_array_equal(frame.first()["x"], NUMBERS)


@pytest.mark.parametrize("output_format", ["csv", "json"])
def test_single_numbers_may_be_infinite(spark, folder, output_format):
    part = {"key": np.arange(len(NUMBERS)), "prediction": np.array(NUMBERS)}
    path = write(f"{folder}/out", output_format, [part])
    reader = spark.read.schema("key long, prediction double")
    options = {"header": True} if output_format == "csv" else {}
    rows = getattr(reader, output_format)(path, **options).orderBy("key").collect()
    np.testing.assert_array_equal([row["prediction"] for row in rows], NUMBERS)


@pytest.mark.parametrize("output_format", ["csv", "json", "sequence_file", "pickle"])
def test_output_without_rows_is_read(spark, folder, output_format):
    keys = pa.array([], pa.string())
    path = write(f"{folder}/out", output_format, parts_of([keys]))
    read = {
        "csv": lambda: spark.read.csv(path, header=True),
        "json": lambda: spark.read.schema("key string").json(path),
        "sequence_file": lambda: spark.sparkContext.sequenceFile(path),
        "pickle": lambda: spark.sparkContext.pickleFile(path),
    }
    assert read[output_format]().count() == 0
