"""What the sink writes, Spark reads as its own."""

import numpy as np
import pyarrow as pa
import pytest

from daskdl.data.sinks import open_sink
from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.source import PathSources
from tests.unit.bridge.sample_forms import FORMS, path_of

KEYS = {
    "parquet_key_long": "bigint",
    "parquet_key_string": "string",
    "parquet_key_struct": "struct<source:string,number:bigint>",
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
def test_keyed_predictions_are_read_with_their_keys(spark, tmp_path, rng, form):
    """From Spark's file through a data set and the sink back into Spark."""
    options = SourceOptions(key="key", require_labels=False)
    source = PathSources().open(path_of(form), options)
    parts = [predictions(rng, p.load().keys) for p in source.partitions]
    frame = spark.read.parquet(write(tmp_path / "out", parts))
    types = dict(frame.dtypes)
    assert types == {
        "key": KEYS[form],
        "prediction": "double",
        "probability": "vector",
    }
    theirs = spark.read.parquet(path_of(form))
    assert frame.count() == FORMS[form]["rows"]
    assert frame.select("key").exceptAll(theirs.select("key")).count() == 0


def test_values_are_exact(spark, tmp_path, rng):
    parts = [predictions(rng, np.arange(i * 50, i * 50 + 50)) for i in range(3)]
    rows = spark.read.parquet(write(tmp_path / "out", parts)).orderBy("key").collect()
    found = np.array([row["probability"].toArray() for row in rows])
    expected = np.concatenate([part["probability"] for part in parts])
    np.testing.assert_array_equal(found, expected.astype("float64"))
    assert [row["key"] for row in rows] == list(range(150))
    assert [row["prediction"] for row in rows] == expected.argmax(axis=1).tolist()


def test_evaluator_of_spark_takes_the_vectors(spark, tmp_path, rng):
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator

    part = predictions(rng, np.arange(40))
    part["label"] = part["prediction"].copy()
    part["label"][:10] += 1
    frame = spark.read.parquet(write(tmp_path / "out", [part]))
    evaluator = MulticlassClassificationEvaluator(metricName="accuracy")
    assert evaluator.evaluate(frame) == 0.75


def test_output_without_rows_has_its_columns(spark, tmp_path, rng):
    empty = predictions(rng, np.array([], dtype="int64"))
    frame = spark.read.parquet(write(tmp_path / "out", [empty]))
    assert dict(frame.dtypes)["probability"] == "vector"
    assert frame.count() == 0


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
def test_columns_of_other_types(spark, tmp_path, column, spark_type):
    frame = spark.read.parquet(write(tmp_path / "out", [{"x": column}]))
    assert dict(frame.dtypes) == {"x": spark_type}
    assert frame.collect()[0]["x"] is not None
