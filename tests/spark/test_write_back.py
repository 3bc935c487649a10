"""What the sink writes, Spark reads as its own."""

import numpy as np
import pyarrow as pa
import pytest

from daskdl.data.sinks import open_sink
from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.source import PathSources
from tests.spark.test_written_formats import python_key
from tests.unit.bridge.sample_forms import FORMS, path_of
from tests.unit.cluster.stored_keys import PERSON, STORED

KEYS = {
    "parquet_key_long": "bigint",
    "parquet_key_string": "string",
    "parquet_key_struct": "struct<source:string,number:bigint>",
}

SPARK_TYPES = {
    "decimal": "decimal(12,2)",
    "int64 of nothing but null": "bigint",
    "int32 with a null": "int",
    "int8": "tinyint",
    "float32": "float",
    "bool": "boolean",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "instant": "timestamp",
    "wall clock": "timestamp_ntz",
    "time difference": "interval day to second",
    "struct with null fields": "struct<name:string,age:int>",
    "lists": "array<int>",
    "map": "map<string,int>",
}
KEY_TYPES = {
    **{kind: (SPARK_TYPES[kind], *STORED[kind]) for kind in STORED},
    "int16": ("smallint", pa.int16(), [[1, -(2**15)], [None], [2**15 - 1]]),
    "float64": ("double", pa.float64(), [[0.1, -1e300], [None], [5e-324]]),
    "lists of structs": (
        "array<struct<name:string,age:int>>",
        pa.list_(PERSON),
        [[[]], [[{"name": "a", "age": None}]], [None]],
    ),
}


def write(url, parts):
    sink = open_sink(str(url))
    sink.prepare()
    sink.commit([sink.write_part(i, part) for i, part in enumerate(parts)])
    return str(url)


def predictions(rng, keys):
    scores = rng.random((len(keys), 10)).astype("float32")
    probability = scores / scores.sum(axis=1, keepdims=True)
    return {
        "key": keys,
        "prediction": probability.argmax(axis=1).astype("float64"),
        "probability": probability,
    }


@pytest.mark.parametrize("form", KEYS)
def test_keyed_predictions_are_read_with_their_keys(spark, folder, rng, form):
    """From Spark's file through a data set and the sink back into Spark."""
    options = SourceOptions(key="key", require_labels=False)
    source = PathSources().open(path_of(form), options)
    parts = [predictions(rng, p.load().keys) for p in source.partitions]
    frame = spark.read.parquet(write(f"{folder}/out", parts))
    types = dict(frame.dtypes)
    assert types == {
        "key": KEYS[form],
        "prediction": "double",
        "probability": "vector",
    }
    theirs = spark.read.parquet(path_of(form))
    assert frame.count() == FORMS[form]["rows"]
    assert frame.select("key").exceptAll(theirs.select("key")).count() == 0


def test_values_are_exact(spark, folder, rng):
    parts = [predictions(rng, np.arange(i * 50, i * 50 + 50)) for i in range(3)]
    rows = spark.read.parquet(write(f"{folder}/out", parts)).orderBy("key").collect()
    found = np.array([row["probability"].toArray() for row in rows])
    expected = np.concatenate([part["probability"] for part in parts])
    np.testing.assert_array_equal(found, expected.astype("float64"))
    assert [row["key"] for row in rows] == list(range(150))
    assert [row["prediction"] for row in rows] == expected.argmax(axis=1).tolist()


def test_evaluator_of_spark_takes_the_vectors(spark, folder, rng):
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator

    part = predictions(rng, np.arange(40))
    part["label"] = part["prediction"].copy()
    part["label"][:10] += 1
    frame = spark.read.parquet(write(f"{folder}/out", [part]))
    evaluator = MulticlassClassificationEvaluator(metricName="accuracy")
    assert evaluator.evaluate(frame) == 0.75


def test_output_without_rows_has_its_columns(spark, folder, rng):
    empty = predictions(rng, np.array([], dtype="int64"))
    frame = spark.read.parquet(write(f"{folder}/out", [empty]))
    assert dict(frame.dtypes)["probability"] == "vector"
    assert frame.count() == 0


@pytest.mark.parametrize("kind", KEY_TYPES)
def test_keys_keep_type_and_value(spark, folder, kind):
    spark_type, stored, parts = KEY_TYPES[kind]
    columns = [
        {"key": pa.array(keys, stored), "prediction": np.full(len(keys), float(number))}
        for number, keys in enumerate(parts)
    ]
    frame = spark.read.parquet(write(f"{folder}/out", columns))
    assert dict(frame.dtypes)["key"] == spark_type
    found = [as_stored(row["key"]) for row in frame.collect()]
    expected = [as_collected(key, kind) for keys in parts for key in keys]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def as_stored(value):
    """Return what Spark collects, which has classes of its own for some values."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, list):
        return [as_stored(one) for one in value]
    return value.asDict() if hasattr(value, "asDict") else value


def as_collected(key, kind):
    """Return a key as Spark collects it: instants in the time zone of the machine."""
    if kind == "instant" and key is not None:
        return key.astimezone().replace(tzinfo=None)
    return python_key(kind, key)


@pytest.mark.parametrize(
    ("column", "spark_type"),
    [
        (np.array([1], "int32"), "int"),
        (np.array([1], "uint8"), "smallint"),
        (np.array([1.5], "float16"), "float"),
        (np.array([True]), "boolean"),
        (np.array(["2024-01-02T03:04:05.000006"], "M8[ns]"), "timestamp_ntz"),
        (pa.array([1], pa.timestamp("us", "UTC")), "timestamp"),
        (pa.array([1], pa.duration("s")), "interval day to second"),
        (pa.array([b"x"]), "binary"),
        (pa.array([[1.0, 2.0]], pa.list_(pa.float32())), "array<float>"),
        (pa.array([{"a": [1]}]), "struct<a:array<bigint>>"),
    ],
    ids=str,
)
def test_columns_of_other_types(spark, folder, column, spark_type):
    frame = spark.read.parquet(write(f"{folder}/out", [{"x": column}]))
    assert dict(frame.dtypes) == {"x": spark_type}
    assert frame.collect()[0]["x"] is not None
