"""Have Spark write the same rows in every form that the test bed's program does not.

    python -m tests.spark.written_forms ROOT [PACKAGE...]

It makes ROOT/<form> of each form. With Maven packages it writes the forms that need one
of them, and no others.
"""

import datetime
import decimal
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.spark.places import SESSION
from tests.unit.bridge.test_tfrecord import example

N_ROWS = 60
IMAGES = Path(__file__).parents[1] / "data" / "images" / "by_class"
AVRO_CODECS = ("uncompressed", "deflate", "snappy", "bzip2", "xz", "zstandard")
CODECS = ("none", "gzip", "bzip2", "deflate", "snappy", "lz4")
# Of lines of text the Gzip codec too, which SequenceFiles need a native library for.
HADOOP_CODECS = {
    name: f"org.apache.hadoop.io.compress.{name}"
    for name in (
        "BZip2Codec",
        "DefaultCodec",
        "DeflateCodec",
        "Lz4Codec",
        "SnappyCodec",
    )
}
GZIP = {"GzipCodec": "org.apache.hadoop.io.compress.GzipCodec"}
MAP_FILE = "org.apache.hadoop.mapreduce.lib.output.MapFileOutputFormat"
TFRECORD = "org.tensorflow.hadoop.io.TFRecordFileOutputFormat"
WRITABLE = "org.apache.hadoop.io"
START = datetime.datetime(2024, 1, 2, 3, 4, 5)  # noqa: DTZ001 - Spark's wall clock

# Numbers that fit a byte, so that bytes are features too.
KEYS = [f"k{i:02}" for i in range(N_ROWS)]
FEATURES = [[i, 100 - i] for i in range(N_ROWS)]
LABELS = [i % 3 for i in range(N_ROWS)]
ROWS = list(zip(KEYS, LABELS, *zip(*FEATURES, strict=True), strict=True))
SERIES = [[float(i + step) for step in range(1 + i % 4)] for i in range(N_ROWS)]

# Partition columns: name, type, and the three values that it takes.
PARTITIONED = {
    "whole": ("int", [1, -2, None]),
    "long": ("bigint", [2**40, 1, 2]),
    "real": ("double", [0.5, -1e300, 2.0]),
    "day": ("date", [datetime.date(2024, 1, day) for day in (1, 2, 3)]),
    "at": ("timestamp", [START.replace(day=day) for day in (1, 2, 3)]),
    "text": ("string", ["a b/c=é", "%", "x:y"]),
    "price": ("decimal(30,0)", [decimal.Decimal(10**25 + i) for i in range(3)]),
}


def main(root: str, *packages: str) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = _session(packages)
    written = _with_packages(spark, packages) if packages else _of_spark(spark)
    for name, write in written.items():
        write(f"{root}/{name}")
    spark.stop()


def _session(packages: tuple[str, ...]) -> Any:
    from pyspark.sql import SparkSession

    options = dict(SESSION)
    if packages:
        options["spark.jars.packages"] = ",".join(packages)
    return SparkSession.builder.master("local[2]").config(map=options).getOrCreate()


def _of_spark(spark: Any) -> dict[str, Any]:
    """Return how each form is written, all of them in two parts."""
    table = spark.createDataFrame(
        spark.sparkContext.parallelize(ROWS, 2), "key string, label int, p0 int, p1 int"
    )
    forms = _pairs(spark) | _pickles(spark) | _lines(spark, table) | _series(spark)
    forms |= _images(spark)
    forms["partitioned"] = lambda path: (
        _partitioned(spark).write.partitionBy(*PARTITIONED).parquet(path)
    )
    if int(spark.version.split(".")[0]) >= 4:
        tags = {"rowTag": "example", "rootTag": "examples"}
        for codec in ("none", "gzip"):
            forms[f"xml_{codec}"] = lambda path, codec=codec: table.write.options(
                **tags, compression=codec
            ).xml(path)
    return forms


def _pairs(spark: Any) -> dict[str, Any]:
    """Return how SequenceFiles and MapFiles are written."""
    values = [bytearray(row) for row in FEATURES]
    pairs = spark.sparkContext.parallelize(list(zip(KEYS, values, strict=True)), 2)
    numbers = spark.sparkContext.parallelize([(i, i / 2) for i in range(N_ROWS)], 2)
    forms: dict[str, Any] = {
        f"sequence_{name}": lambda path, codec=codec: pairs.saveAsSequenceFile(
            path, codec
        )
        for name, codec in {"none": None, **HADOOP_CODECS}.items()
    }
    forms["sequence_of_numbers"] = numbers.saveAsSequenceFile
    forms["map_file"] = lambda path: pairs.saveAsNewAPIHadoopFile(
        path, MAP_FILE, f"{WRITABLE}.Text", f"{WRITABLE}.BytesWritable"
    )
    return forms


def _pickles(spark: Any) -> dict[str, Any]:
    from pyspark.ml.linalg import Vectors
    from pyspark.mllib.linalg import Vectors as OldVectors
    from pyspark.mllib.regression import LabeledPoint
    from pyspark.sql import Row

    rows = [dict(zip(("key", "label", "p0", "p1"), row, strict=True)) for row in ROWS]
    sparse = [OldVectors.sparse(2, [0, 1], one) for one in FEATURES]
    objects = {
        "dicts": rows,
        "rows": [Row(**row) for row in rows],
        "points": [*map(LabeledPoint, LABELS, sparse)],
        "vectors": [*zip(KEYS, map(Vectors.dense, FEATURES), strict=True)],
        "arrays": [*zip(KEYS, np.array(FEATURES, "int16"), strict=True)],
    }
    return {
        f"pickle_{name}": spark.sparkContext.parallelize(some, 2).saveAsPickleFile
        for name, some in objects.items()
    }


def _lines(spark: Any, table: Any) -> dict[str, Any]:
    """Return how lines of text, CSV and JSON are written, with each codec."""
    lines = [f"{key}: {x} {y} -> {label}" for key, label, x, y in ROWS]
    text = spark.sparkContext.parallelize(lines, 2)
    forms: dict[str, Any] = {
        f"text_{name}": lambda path, codec=codec: text.saveAsTextFile(path, codec)
        for name, codec in {"none": None, **HADOOP_CODECS, **GZIP}.items()
    }
    for codec in CODECS:
        forms[f"csv_{codec}"] = lambda path, codec=codec: table.write.csv(
            path, header=True, compression=codec
        )
        forms[f"json_{codec}"] = lambda path, codec=codec: table.write.json(
            path, compression=codec
        )
    return forms


def _series(spark: Any) -> dict[str, Any]:
    rows = list(zip(KEYS, LABELS, SERIES, strict=True))
    frame = spark.createDataFrame(
        spark.sparkContext.parallelize(rows, 2),
        "key string, label int, features array<double>",
    )
    return {
        f"series_{form}": _writer(frame, form) for form in ("parquet", "orc", "json")
    }


def _images(spark: Any) -> dict[str, Any]:
    """Return how Spark's two sources of image files are written."""
    read = spark.read.option("recursiveFileLookup", "true")
    files = read.format("binaryFile").load(f"file://{IMAGES}").repartition(2)
    images = read.format("image").load(f"file://{IMAGES}").repartition(2)
    return {
        f"{name}_{form}": _writer(frame, form)
        for name, frame in {"binary_file": files, "image": images}.items()
        for form in ("parquet", "orc")
    }


def _writer(frame: Any, form: str) -> Any:
    return frame.write.format(form).save


def _partitioned(spark: Any) -> Any:
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in PARTITIONED.items())
    rows = [
        (key, label, *pair, *(values[i % 3] for _, values in PARTITIONED.values()))
        for i, (key, label, *pair) in enumerate(ROWS)
    ]
    return spark.createDataFrame(
        rows, f"key string, label int, p0 int, p1 int, {columns}"
    )


def _with_packages(spark: Any, packages: tuple[str, ...]) -> dict[str, Any]:
    forms: dict[str, Any] = {}
    if any("avro" in package for package in packages):
        table = spark.createDataFrame(ROWS, "key string, label int, p0 int, p1 int")
        for codec in AVRO_CODECS:
            forms[f"avro_{codec}"] = (
                table.write.format("avro").option("compression", codec).save
            )
    if any("tensorflow" in package for package in packages):
        records = [
            (bytearray(example(key=[key.encode()], label=[label], p=list(p))), None)
            for key, label, *p in ROWS
        ]
        forms["tfrecord"] = lambda path: spark.sparkContext.parallelize(
            records, 2
        ).saveAsNewAPIHadoopFile(
            path, TFRECORD, f"{WRITABLE}.BytesWritable", f"{WRITABLE}.NullWritable"
        )
    return forms


if __name__ == "__main__":
    main(*sys.argv[1:])
