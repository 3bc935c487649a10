"""Write Fashion-MNIST with Spark: 60,000 and 10,000 grey images of 28 x 28 pixels.

    apt-get install dataset-fashion-mnist        # 31 MB, Debian and Ubuntu
    pip install 'pyspark>=3.5,<5'
    python examples/lenet/prepare.py [DIRECTORY]

writes DIRECTORY/train (8 parts) and DIRECTORY/test (2 parts): Parquet with the columns
id (bigint), label (int) and features (a vector of the 784 pixels, row by row, 0 to 1).
The directory may be any URL that Spark can write, for example hdfs://mini/fashion.
"""

import argparse
import gzip
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pyspark.ml.linalg import DenseVector, VectorUDT
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

HERE = Path(__file__).parent
IDX_FILES = Path("/usr/share/datasets/fashion-mnist")
# 784 kB of pixels: Spark warns of tasks that carry more than 1 MiB.
BLOCK_ROWS = 1000
SCHEMA = StructType(
    [
        StructField("id", LongType()),
        StructField("label", IntegerType()),
        StructField("features", VectorUDT()),
    ]
)

# First id, images of shape (rows, 784), labels of shape (rows,).
Block = tuple[int, NDArray[np.uint8], NDArray[np.uint8]]


def main(target: str, idx_files: Path) -> None:
    if not idx_files.is_dir():
        sys.exit(
            f"{idx_files} is missing. Run: apt-get install dataset-fashion-mnist "
            "(or give the directory of the IDX files with --idx-files)"
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.appName("fashion").getOrCreate()
    for name, idx_name, n_parts in (("train", "train", 8), ("test", "t10k", 2)):
        images, labels = read_images(idx_files, idx_name)
        frame = images_frame(spark, images, labels, n_parts)
        frame.write.parquet(f"{target}/{name}")
    spark.stop()


def read_images(
    directory: Path, name: str
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    images = read_idx(directory / f"{name}-images-idx3-ubyte.gz")
    labels = read_idx(directory / f"{name}-labels-idx1-ubyte.gz")
    return images.reshape(len(images), -1), labels


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an array of bytes: a magic number, the sizes, the values."""
    content = gzip.decompress(path.read_bytes())
    n_axes = content[3]
    shape = np.frombuffer(content, ">i4", count=n_axes, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * n_axes).reshape(shape)


def images_frame(
    spark: SparkSession,
    images: NDArray[np.uint8],
    labels: NDArray[np.uint8],
    n_parts: int,
) -> DataFrame:
    blocks = [
        (start, images[start : start + BLOCK_ROWS], labels[start : start + BLOCK_ROWS])
        for start in range(0, len(labels), BLOCK_ROWS)
    ]
    rows = spark.sparkContext.parallelize(blocks, len(blocks)).flatMap(rows_of)
    return spark.createDataFrame(rows.coalesce(n_parts), SCHEMA)


def rows_of(block: Block) -> Iterator[tuple[int, int, DenseVector]]:
    first, images, labels = block
    for key, (image, label) in enumerate(zip(images, labels, strict=True), first):
        yield key, int(label), DenseVector(image / 255.0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", default=(HERE / "data").as_uri())
    parser.add_argument("--idx-files", type=Path, default=IDX_FILES)
    options = parser.parse_args()
    main(options.directory, options.idx_files)
