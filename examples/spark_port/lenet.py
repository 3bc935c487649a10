"""LeNet in a Spark program, step by step as DL4J's examples for Spark train.

    python examples/lenet/prepare.py               # writes the data, once
    spark-submit examples/spark_port/lenet.py
    python examples/spark_port/lenet.py --training-master shared --num-epochs 5

`README.md` has each step beside its Java. Executors make minibatches, which are classes
of daskdl: they need it installed, as the driver does.
"""

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

import daskdl
import daskdl.spark
from daskdl.cluster.masters.options import TrainingMaster

DATA = Path(__file__).parents[1] / "lenet" / "data"
N_CLASSES = 10


def main(options: argparse.Namespace) -> None:
    builder = SparkSession.builder.appName("DL4J Spark LeNet example")
    if options.use_spark_local:
        builder = builder.master("local[*]")
    spark = builder.getOrCreate()

    # An RDD of DataSet, each a minibatch.
    batched = partial(minibatches, batch_size=options.batch_size_per_worker)
    train = spark.read.parquet(f"{options.data}/train").rdd.mapPartitions(batched)
    test = spark.read.parquet(f"{options.data}/test").rdd.mapPartitions(batched)

    with daskdl.spark.connect(spark) as client:
        network = daskdl.DaskMultiLayer(client, lenet(), training_master(options))
        network.fit(train, epochs=options.num_epochs)

        (evaluation,) = network.do_evaluation(
            test, [daskdl.Evaluation()], batch_size=64
        )
        print("***** Evaluation *****")
        print(evaluation.stats())
        if options.save is not None:
            network.save(options.save, format="dl4j")

    daskdl.spark.delete_temp_files()
    spark.stop()


def minibatches(rows: Iterator[Any], *, batch_size: int) -> Iterator[daskdl.DataSet]:
    """Yield the rows of a partition as minibatches; the last one may be smaller."""
    held: list[Any] = []
    for row in rows:
        held.append(row)
        if len(held) == batch_size:
            yield minibatch(held)
            held = []
    if held:
        yield minibatch(held)


def minibatch(rows: list[Any]) -> daskdl.DataSet:
    features = np.array([row["features"].toArray() for row in rows], np.float32)
    labels = np.eye(N_CLASSES, dtype=np.float32)[[row["label"] for row in rows]]
    return daskdl.DataSet(features, labels)


def lenet() -> daskdl.MultiLayerConfiguration:
    return daskdl.MultiLayerConfiguration(
        seed=12345,
        l2=0.0005,
        weight_init="xavier",
        updater=daskdl.Nesterovs(learning_rate=0.01, momentum=0.9),
        layers=[
            daskdl.Convolution2D(
                n_out=20, kernel_size=(5, 5), stride=(1, 1), activation="identity"
            ),
            daskdl.Subsampling(pooling_type="max", kernel_size=(2, 2), stride=(2, 2)),
            daskdl.Convolution2D(
                n_out=50, kernel_size=(5, 5), stride=(1, 1), activation="identity"
            ),
            daskdl.Subsampling(pooling_type="max", kernel_size=(2, 2), stride=(2, 2)),
            daskdl.Dense(n_out=500, activation="relu"),
            daskdl.Output(n_out=10, loss="negativeloglikelihood", activation="softmax"),
        ],
        input=daskdl.ConvolutionalFlat(height=28, width=28, channels=1),
    )


def training_master(options: argparse.Namespace) -> TrainingMaster:
    if options.training_master == "shared":
        return daskdl.SharedTrainingMaster(
            threshold_algorithm=daskdl.AdaptiveThresholdAlgorithm(
                initial_threshold=1e-3
            ),
        )
    return daskdl.ParameterAveragingTrainingMaster(
        averaging_frequency=5,
        worker_prefetch_num_batches=2,
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "--use-spark-local",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="Run Spark on this machine; else as spark-submit says",
    )
    parser.add_argument(
        "--batch-size-per-worker",
        type=int,
        default=16,
        help="Number of examples to fit each worker with",
    )
    parser.add_argument("--num-epochs", type=int, default=3)
    parser.add_argument(
        "--training-master", choices=("averaging", "shared"), default="averaging"
    )
    parser.add_argument(
        "--data", default=DATA.as_uri(), help="Directory of train and test, as Parquet"
    )
    parser.add_argument("--save", help="Where to save the network, for DL4J")
    return parser.parse_args()


if __name__ == "__main__":
    main(arguments())
