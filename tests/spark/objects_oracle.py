"""Have Spark write the samples in tests/data/spark_objects.

Run from the root of the project as ``python -m tests.spark.objects_oracle`` with
PySpark 4.3.
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
    shutil.rmtree(SAMPLES, ignore_errors=True)
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.getcwd()}
    builder = SparkSession.builder.master("local[1]")
    context = builder.config("spark.ui.enabled", "false").getOrCreate().sparkContext
    for name in ("times", "ordered", "point", "reading"):
        rows = context.parallelize(ROWS, 2).map(getattr(spark_objects, name))
        rows.saveAsPickleFile(str(SAMPLES / name))
    context.parallelize(ROWS, 2).map(labelled).saveAsPickleFile(
        str(SAMPLES / "labelled")
    )
    for name, (_, made) in spark_objects.TUPLES.items():
        pairs = context.parallelize([(row, made(row)) for row in ROWS], 2)
        pairs.saveAsSequenceFile(str(SAMPLES / name))
    for checksum in SAMPLES.rglob(".*.crc"):
        checksum.unlink()


if __name__ == "__main__":
    main()
