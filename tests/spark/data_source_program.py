"""Programs with the data source that need a Spark of their own.

``retried``: a task fails once when it has written. ``connect``: through a server on the
port given. ``missing``: Spark's Python has no daskdl. ``rewritten``: written, added to
and replaced at the URL given. Each says what it found as JSON.
"""

import json
import os
import stat
import sys
from pathlib import Path

import numpy as np

import daskdl
from daskdl import SourceOptions
from daskdl.data.filesystems import filesystem
from daskdl_bridge.spark.data_source import register

ROWS = 60

OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.hadoop.fs.defaultFS": "file:///",
    # Several batches a task, so that some are written when it fails.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "5",
}


def main(what, folder, *arguments):
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    found = PROGRAMS[what](Path(folder), *arguments)
    sys.stdout.write(f"{json.dumps(found)}\n")


def retried(folder):
    # Two threads, and a task may fail once.
    spark = session("local[2,2]")
    out, marks = folder / "out", folder / "marks"
    marks.mkdir()

    def spoil_once(batches):
        import pyarrow
        from pyspark import TaskContext

        number = TaskContext.get().attemptNumber()
        there = len(list(out.glob("_temporary/*/*")))
        (marks / str(number)).write_text(str(there))
        for batch in batches:
            columns = batch.to_pydict()
            if number == 0 and ROWS - 1 in columns["label"]:
                columns["features"][-1] = None
            yield pyarrow.RecordBatch.from_pydict(columns, schema=batch.schema)

    rows = numbered_rows(spark, 1)
    # Null reaches the writer, which has written what came before.
    spoilt = rows.mapInArrow(spoil_once, "features array<float>, label long")
    spoilt.write.format("daskdl").mode("append").option("batch_size", 5).save(str(out))
    spark.stop()
    return {
        "attempts": len(list(marks.iterdir())),
        "written before": int((marks / "1").read_text()),
        "rows": features_in(out) == list(range(ROWS)),
        "left": sorted(one.name for one in out.iterdir()),
    }


def connect(folder, port):
    from pyspark.sql import SparkSession

    # A server in this process by its plugin: remote("local") has one port only.
    server = SparkSession.builder.master("local[2]").config(map=OPTIONS)
    plugin = "org.apache.spark.sql.connect.SparkConnectPlugin"
    server = server.config("spark.plugins", plugin)
    server = server.config("spark.connect.grpc.binding.port", port).getOrCreate()
    spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    register(spark)
    rows = numbered_rows(spark, 3)
    out = folder / "out"
    writer = rows.write.format("daskdl").mode("overwrite")
    writer.option("batch_size", 8).save(str(out))
    read = spark.read.format("daskdl").load(str(out))
    values = sorted(row.features[0] for row in read.collect())
    try:
        spark.read.format("daskdl").option("fetures", "x").load(str(out)).collect()
        refused = False
    except Exception as error:  # noqa: BLE001
        refused = "Did you mean 'features'" in str(error)
    found = {
        "connect": type(spark).__module__.startswith("pyspark.sql.connect"),
        "rows": values == features_in(out) == list(range(ROWS)),
        "refused": refused,
    }
    spark.stop()
    return found


def missing(folder):
    os.environ["PYSPARK_PYTHON"] = str(python_without_daskdl(folder))
    os.environ.pop("PYTHONPATH", None)
    spark = session("local[1]")
    try:
        spark.read.format("daskdl").load(str(folder)).collect()
        said = ""
    except Exception as error:  # noqa: BLE001
        said = str(error)
    spark.stop()
    return {"said": said}


def rewritten(folder, url):
    spark = session("local[2]")

    def write(frame, mode):
        writer = frame.write.format("daskdl").mode(mode)
        writer.option("batch_size", 8).save(url)
        return features_in(url)

    written = write(numbered_rows(spark, 3), "overwrite")
    read = spark.read.format("daskdl").load(url)
    collected = sorted(row.features[0] for row in read.collect())
    added = write(read.where("features[0] < 10"), "append")
    replaced = write(read.where("features[0] >= 50").coalesce(1), "overwrite")
    spark.stop()
    fs, path = filesystem(url)
    return {
        "written": sorted(written) == list(range(ROWS)),
        "collected": collected == list(range(ROWS)),
        "added": sorted(added) == sorted([*range(ROWS), *range(10)]),
        "replaced": sorted(replaced) == list(range(50, ROWS)),
        "left": sorted(name.rpartition("/")[2] for name in fs.ls(path, detail=False)),
    }


def python_without_daskdl(folder):
    """Return a Python that finds what Spark needs, and nothing else of ours."""
    import pyarrow

    packages = folder / "packages"
    packages.mkdir()
    for module in (np, pyarrow):
        place = Path(module.__file__).parent
        for one in (place, place.with_name(f"{place.name}.libs")):
            if one.exists():
                (packages / one.name).symlink_to(one)
    script = folder / "python"
    # -S leaves out what is installed; Spark tells where its own package is.
    script.write_text(
        "#!/bin/sh\n"
        f'PYTHONPATH="{packages}:$PYTHONPATH" exec "{sys.executable}" -S "$@"\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


def session(master):
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master(master).config(map=OPTIONS).getOrCreate()
    register(spark)
    return spark


def numbered_rows(spark, n_partitions):
    rows = spark.range(0, ROWS, 1, n_partitions)
    return rows.selectExpr("array(float(id)) features", "id label")


def features_in(path):
    source = daskdl.open_source(str(path), SourceOptions())
    return [float(x) for one in source.partitions for x in one.load().features[:, 0]]


PROGRAMS = {
    "connect": connect,
    "missing": missing,
    "retried": retried,
    "rewritten": rewritten,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
