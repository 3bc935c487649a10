"""Have Spark write the samples in tests/data/spark_objects.

Run from the root of the project as ``python -m tests.spark.objects_oracle`` with
PySpark 4.3, and again with PYSPARK_ENABLE_NAMEDTUPLE_PATCH=1, which has named tuples
pickled by the names of their fields.
"""

import os
import shutil
import sys
from pathlib import Path

from pyspark.mllib.linalg import Vectors
from pyspark.mllib.regression import LabeledPoint
from pyspark.sql import SparkSession

from tests.unit.bridge import spark_objects

SAMPLES = Path(__file__).parents[1] / "data" / "spark_objects"
ROWS = range(6)


def labelled(row):
    return f"k{row}", LabeledPoint(row % 2, Vectors.dense([row + 0.5, 1.0]))


def main():
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.getcwd()}
    builder = SparkSession.builder.master("local[1]")
    context = builder.config("spark.ui.enabled", "false").getOrCreate().sparkContext
    rows = context.parallelize(ROWS, 2)
    if os.environ.get("PYSPARK_ENABLE_NAMEDTUPLE_PATCH") == "1":
        write(rows.map(spark_objects.point), "patched_point")
        return
    for name in ("times", "ordered", "point", "reading"):
        write(rows.map(getattr(spark_objects, name)), name)
    write(rows.map(labelled), "labelled")
    for name, (_, made) in spark_objects.TUPLES.items():
        pairs = context.parallelize([(row, made(row)) for row in ROWS], 2)
        write(pairs, name, "saveAsSequenceFile")


def write(rdd, name, how="saveAsPickleFile"):
    shutil.rmtree(SAMPLES / name, ignore_errors=True)
    getattr(rdd, how)(str(SAMPLES / name))
    for checksum in (SAMPLES / name).glob(".*.crc"):
        checksum.unlink()


if __name__ == "__main__":
    main()
