"""A driver script as people submit: it has no ``if __name__ == "__main__"``.

Its argument is a folder, in which it leaves what the test looks at.
"""

import json
import os
import signal
import sys
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

import daskdl as dl
from daskdl.nn.fitting.events import WorkersJoined

FOLDER = Path(sys.argv[1])
DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "data"
CONFIGURATION = dl.MultiLayerConfiguration(
    updater=dl.Adam(learning_rate=0.01),
    input=dl.FeedForward(size=64),
    layers=[dl.Dense(n_out=32, activation="relu"), dl.Output(n_out=10, loss="mcxent")],
)


def executor_of_this_worker():
    parents = psutil.Process().parents()
    return next(parent.pid for parent in parents if parent.name() == "java")


class KilledExecutor(dl.Listener):
    """Kills an executor after the first epoch, and stops once its successor trains."""

    def __init__(self, client):
        self.client = client
        self.killed = None
        self.has_joined = False

    def on_epoch_end(self, fit):
        if self.killed is None:
            executors = self.client.run(executor_of_this_worker)
            self.killed = min(executors.values())
            os.kill(self.killed, signal.SIGKILL)
        elif self.has_joined:
            fit.stop()

    def on_event(self, event):
        self.has_joined = self.has_joined or isinstance(event, WorkersJoined)


spark = SparkSession.builder.getOrCreate()
frame = spark.read.parquet((DIGITS / "train").as_uri())
frame.where("label is not null").write.parquet((FOLDER / "train").as_uri())
with dl.spark.cluster(spark, workers=2, memory="1 GiB") as found:
    network = dl.DaskMultiLayer(
        found.client(), CONFIGURATION, dl.ParameterAveragingTrainingMaster()
    )
    listener = KilledExecutor(found.client())
    network.fit(
        str(FOLDER / "train"),
        features="features",
        label="label",
        batch_size=32,
        epochs=2000,
        normalizer=dl.NormalizerStandardize(),
        listeners=[listener],
    )
    network.feed_forward_with_key(
        str(DIGITS / "test"),
        key="id",
        features="features",
        output=str(FOLDER / "predicted"),
    )
predicted = spark.read.parquet((FOLDER / "predicted").as_uri())
test = spark.read.parquet((DIGITS / "test").as_uri()).select("id", "label")
right = predicted.join(test, "id").where("prediction = label").count()
(FOLDER / "told.json").write_text(
    json.dumps(
        {
            "predicted": predicted.count(),
            "accuracy": right / test.count(),
            "lost": len(network.last_fit.lost),
            "joined": len(network.last_fit.joined),
            "jobs": len(spark.sparkContext.statusTracker().getActiveJobsIds()),
        }
    )
)
spark.stop()
