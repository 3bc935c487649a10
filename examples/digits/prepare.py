"""Write scikit-learn's 1,797 handwritten digits with Spark, as a Spark job would.

    pip install 'pyspark>=3.5,<5' scikit-learn
    python examples/digits/prepare.py [DIRECTORY]

writes DIRECTORY/train (1,437 rows, 4 parts) and DIRECTORY/test (360 rows, 2 parts):
Parquet with the columns id (bigint), label (double) and features (a vector of the 64
pixels, row by row, 0 to 16). The directory may be any URL that Spark can write, for
example hdfs://mini/digits. The test rows are spread evenly over the data set, so that
both directories hold every digit and every writer about equally often.
"""

import os
import sys
from pathlib import Path

from pyspark.ml.linalg import Vectors
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from sklearn.datasets import load_digits

N_ROWS, N_TEST_ROWS = 1797, 360
DEFAULT_DIRECTORY = Path(__file__).with_name("data")


def main(directory: str) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.appName("digits").getOrCreate()
    digits = digits_frame(spark).cache()
    # 31 has no factor in common with 1797, so this visits each remainder once. Every
    # fifth row would not do: the writers' digits repeat in tens.
    is_test = col("id") * 31 % N_ROWS < N_TEST_ROWS
    digits.where(~is_test).coalesce(4).write.parquet(f"{directory}/train")
    digits.where(is_test).coalesce(2).write.parquet(f"{directory}/test")
    spark.stop()


def digits_frame(spark: SparkSession) -> DataFrame:
    pixels, labels = load_digits(return_X_y=True)
    rows = [
        (key, float(label), Vectors.dense(row))
        for key, (label, row) in enumerate(zip(labels, pixels, strict=True))
    ]
    names = ["id", "label", "features"]
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, 4), names)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_DIRECTORY.as_uri())
