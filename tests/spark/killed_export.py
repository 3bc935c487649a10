"""A script for ``spark-submit``: exports of which executors are killed amid a task.

Its argument is a folder, in which it leaves what the test looks at.
"""

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
import psutil
from pyspark.sql import SparkSession

import daskdl as dl
from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.spark.sources import SparkSources

FOLDER = Path(sys.argv[1])
ROWS, PARTITIONS = 600, 6


def kill_once(name):
    """Kill the executor that this task runs in, the first time of all tasks."""
    try:
        (FOLDER / name).touch(exist_ok=False)
    except FileExistsError:
        return
    parents = psutil.Process().parents()
    java = next(parent.pid for parent in parents if parent.name() == "java")
    os.kill(java, signal.SIGKILL)


def half_and_half(batches):
    for batch in batches:
        middle = batch.num_rows // 2
        yield batch.slice(0, middle)
        kill_once("frame")
        yield batch.slice(middle)


def pairs_of(numbers):
    numbers = list(numbers)
    for at, number in enumerate(numbers):
        if at == len(numbers) // 2:
            kill_once("rdd")
        yield number, np.full(2, number, np.float32)


def told(data, **options):
    """Return the numbers of the rows that came through."""
    with dl.spark.export(data, str(FOLDER / "exports")) as there:
        how = SourceOptions(require_labels=False, **options)
        source = SparkSources().open(there, how)
        loaded = [one.load() for one in source.partitions]
    return sorted(int(x) for one in loaded for x in one.features[:, 0])


spark = SparkSession.builder.getOrCreate()
ids = spark.range(0, ROWS, 1, PARTITIONS)
frame = ids.mapInArrow(half_and_half, "id long").selectExpr("array(float(id)) x")
rdd = spark.sparkContext.parallelize(range(ROWS), PARTITIONS).mapPartitions(pairs_of)
# What it holds is looked at by a job of its own, which is not to be the one.
(FOLDER / "rdd").touch()
dl.spark.export(rdd, str(FOLDER / "looked_at")).delete_temp_files()
(FOLDER / "rdd").unlink()
found = {"frame": told(frame, features="x"), "rdd": told(rdd)}
found["left"] = [str(one) for one in (FOLDER / "exports").iterdir()]
(FOLDER / "told.json").write_text(json.dumps(found))
spark.stop()
