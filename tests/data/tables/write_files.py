"""Write sinks of streaming queries, files of growing schemas, and times of ORC.

Beside them lies what Spark reads of them.

With pyspark 4.0.* and Java 17: ``python write_files.py DIRECTORY``.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

# A compact file every third batch.
CONFIG = {
    "spark.sql.streaming.fileSink.log.compactInterval": "3",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}

# Name of a sink to the number of its batches and its partition columns.
SINKS = {"plain": (2, []), "compacted": (7, []), "partitioned": (4, ["place", "half"])}


def numbered(frame: DataFrame) -> DataFrame:
    return frame.selectExpr(
        "id",
        "id / 4D as x",
        "cast(id % 2 as int) as half",
        "if(id % 2 = 0, 'a b/c%d=e', null) as place",
    )


def write_sink(
    spark: SparkSession, directory: Path, batches: int, columns: list[str]
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        for batch in range(batches):
            rows = spark.range(batch * 4, batch * 4 + 4, 1, 1)
            rows.write.mode("append").parquet(f"{scratch}/given")
        given = spark.readStream.schema("id bigint").option("maxFilesPerTrigger", 1)
        query = (
            numbered(given.parquet(f"{scratch}/given"))
            .writeStream.format("parquet")
            .option("checkpointLocation", f"{scratch}/checkpoint")
            .partitionBy(*columns)
            .trigger(availableNow=True)
            .start(str(directory))
        )
        query.awaitTermination()
    # What a batch that failed leaves.
    for file in sorted(directory.rglob("part-*.parquet"))[:2]:
        start = len("part-00000-")
        failed = file.name[:start] + "0" * 8 + file.name[start + 8 :]
        shutil.copyfile(file, file.with_name(failed))
    rows = spark.read.parquet(str(directory)).orderBy("id").select("id", "x", "half")
    return {
        "files": len(list(directory.rglob("part-*.parquet"))),
        "rows": [list(row) for row in rows.collect()],
    }


def write_grown(spark: SparkSession, directory: Path, form: str) -> list[Any]:
    """Write files of which the second has more columns, and the third fewer."""
    rows = spark.range(6).selectExpr(
        "id", "id / 4D as x", "concat('n', id) as name", "id * 2D as extra"
    )
    columns = (["id", "x"], ["id", "x", "name", "extra"], ["x", "name"])
    for number, chosen in enumerate(columns):
        some = rows.where(f"id div 2 = {number}").select(*chosen).coalesce(1)
        some.write.mode("append").format(form).save(str(directory))
    read = spark.read.option("mergeSchema", "true").format(form)
    merged = read.load(str(directory)).orderBy("x").select("id", "x", "name", "extra")
    return [list(row) for row in merged.collect()]


def write_times(spark: SparkSession, directory: Path) -> list[Any]:
    times = spark.range(4).selectExpr(
        "id",
        "if(id = 2, null, timestamp_ntz'1969-07-20 20:17:40.123456' + make_interval("
        "cast(id * 60 as int))) as time",
    )
    times = times.selectExpr("*", "array(time) as several", "struct(time) as nested")
    times.coalesce(1).write.orc(str(directory))
    rows = spark.read.orc(str(directory)).orderBy("id").select("id", "time")
    return [[row[0], row[1] and row[1].isoformat()] for row in rows.collect()]


def main(directory: Path) -> None:
    for name in ("streams", "grown", "times_orc"):
        shutil.rmtree(directory / name, ignore_errors=True)
    builder = SparkSession.builder.master("local[1]").appName("streams")
    for key, value in CONFIG.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    found = {
        name: write_sink(spark, directory / "streams" / name, batches, columns)
        for name, (batches, columns) in SINKS.items()
    }
    grown = {
        form: write_grown(spark, directory / "grown" / form, form)
        for form in ("parquet", "orc", "json")
    }
    times = write_times(spark, directory / "times_orc")
    manifest = {"spark": spark.version, "streams": found, "grown": grown}
    manifest["times_orc"] = times
    (directory / "files.json").write_text(json.dumps(manifest) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
