"""Push a DataFrame by tasks that fail when they have sent half: each is tried again.

Prints what came of it, as JSON.
"""

import json
import os
import sys

from distributed import Client, LocalCluster

from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.spark import direct as driver
from daskdl_bridge.spark import direct_sending, direct_session
from daskdl_bridge.spark.sources import SparkSources

ROWS, PARTITIONS = 300, 3


def main():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.hadoop.fs.defaultFS": "file:///",
    }
    # Two threads, and a task may fail three times.
    builder = SparkSession.builder.master("local[2,4]").config(map=options)
    spark = builder.getOrCreate()
    direct_sending._PIECE_BYTES = 100
    direct_sending._pieces = failing_first(direct_sending._pieces)
    local = {
        "threads_per_worker": 1,
        "dashboard_address": "127.0.0.1:0",
        "host": "127.0.0.1",
    }
    with LocalCluster(n_workers=2, **local) as cluster, Client(cluster) as client:
        sys.stdout.write(f"{json.dumps(found(spark, client))}\n")
    spark.stop()


def failing_first(pieces):
    def half(batches, most_bytes):
        from pyspark import TaskContext

        made = list(pieces(batches, most_bytes))
        if TaskContext.get().attemptNumber() > 0:
            yield from made
        else:
            yield from made[: len(made) // 2]
            raise RuntimeError("half of it is sent")

    return half


def found(spark, client):
    frame = spark.range(0, ROWS, 1, PARTITIONS).selectExpr("array(id) x", "id")
    held_before = []
    settled = direct_session.Session.settled

    def looked_at(session, manifest):
        held_before.extend(held(client))
        return settled(session, manifest)

    direct_session.Session.settled = looked_at
    with driver.direct(frame, client) as data:
        counted = sorted(piece.key for piece in data.pieces)
        read = SourceOptions(features="x", key="id", require_labels=False)
        partitions = SparkSources().open(data, read).partitions
        keys = [int(key) for one in partitions for key in one.load().keys]
        return {
            "failed attempts": len(attempts(held_before) - attempts(counted)),
            "held before": set(counted) < set(held_before),
            "held after": sorted(held(client)) == counted,
            "rows": keys == list(range(ROWS)),
        }


def held(client):
    return [key for keys in client.run(held_here).values() for key in keys]


def held_here():
    from daskdl_bridge.spark.direct_inbox import _OPEN

    (inbox,) = _OPEN.values()
    return list(inbox.pieces._held)


def attempts(keys):
    return {tuple(key.split("/")[:2]) for key in keys}


if __name__ == "__main__":
    main()
