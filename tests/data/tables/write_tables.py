"""Write the tables beside this file, and the rows that Spark reads of each version.

With pyspark 4.0.*, NumPy, Java 17 and a network for Maven:
``python write_tables.py DIRECTORY``. Files of checksums (``*.crc``) are left out.
"""

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

from pyspark.ml.feature import StringIndexer
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

PACKAGES = (
    "io.delta:delta-spark_2.13:4.0.0",
    "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.1",
)
EXTENSIONS = (
    "io.delta.sql.DeltaSparkSessionExtension",
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
)

# A statement of SQL, or what is done with a session and the name of a table.
Step = str | Callable[[SparkSession, str], None]


def rows_of(spark: SparkSession, start: int, stop: int) -> DataFrame:
    files = 2 if start == 0 else 1
    return spark.range(start, stop, 1, files).selectExpr(
        "id",
        "cast(id % 3 as int) as label",
        "id / 4D as x",
        "array(cast(id as float), cast(id * 2 as float)) as pair",
        "if(id % 5 = 4, null, concat('n', id)) as name",
        "cast(id % 2 as int) as half",
        "if(id % 7 = 6, null, date'2026-01-01' + cast(id % 3 as int)) as day",
    )


def append(start: int, stop: int, *more: str) -> Step:
    def step(spark: SparkSession, table: str) -> None:
        rows_of(spark, start, stop).createOrReplaceTempView("added")
        columns = spark.table(table).columns
        chosen = [one.split(" as ")[-1] for one in more]
        kept = [name for name in columns if name not in chosen]
        listed = ", ".join([*kept, *more])
        names = ", ".join([*kept, *chosen])
        spark.sql(f"INSERT INTO {table} ({names}) SELECT {listed} FROM added")

    return step


CHANGES: list[Step] = [
    append(20, 30),
    "DELETE FROM {table} WHERE id IN (3, 4, 25)",
    "UPDATE {table} SET x = -x WHERE id IN (1, 22)",
    (
        "MERGE INTO {table} t "
        "USING (SELECT id + 1000 AS id, id AS old FROM range(5, 9)) s ON t.id = s.old "
        "WHEN MATCHED AND t.id < 7 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET t.name = 'merged', t.id = s.id"
    ),
    "ALTER TABLE {table} ADD COLUMNS (extra double, note string)",
    append(30, 36, "id / 8D as extra", "'new' as note"),
]
RENAMES: list[Step] = [
    "ALTER TABLE {table} RENAME COLUMN x TO width",
    "ALTER TABLE {table} DROP COLUMN name",
    "ALTER TABLE {table} ADD COLUMNS (name double)",
    append(36, 40, "-1D as extra", "id as name", "id / 4D as width", "null as note"),
    "DELETE FROM {table} WHERE id = 37",
]

MAPPED = "'delta.columnMapping.mode' = 'name'"
VECTORS = "'delta.enableDeletionVectors' = 'true'"
MERGE_ON_READ = ", ".join(
    f"'write.{one}.mode' = 'merge-on-read'" for one in ("delete", "update", "merge")
)

# Columns that only one table has.
MORE = {
    "escaped": ", if(half = 0, 'a b/c%d=e', if(id < 9, 'caf\u00e9', null)) AS place, "
    "timestamp'2026-01-02 03:04:05.678' + make_interval(0, 0, 0, 0, half) AS moment"
}

# Name of a table to its partition columns, its properties, and what is done to it.
DELTA: dict[str, tuple[str, str, list[Step]]] = {
    "changed": ("", "'delta.checkpointInterval' = '4'", [*CHANGES, "OPTIMIZE {table}"]),
    "partitioned": ("half, day", "", CHANGES),
    "vectors": ("", VECTORS, [*CHANGES, "DELETE FROM {table} WHERE id = 31"]),
    "mapped": ("half", MAPPED, [*CHANGES, *RENAMES]),
    "mapped_by_id": ("", "'delta.columnMapping.mode' = 'id'", [*CHANGES, *RENAMES]),
    "all_of_it": (
        "day",
        (
            f"{MAPPED}, {VECTORS}, 'delta.checkpointPolicy' = 'v2', "
            "'delta.checkpointInterval' = '5'"
        ),
        [*CHANGES, *RENAMES],
    ),
    "escaped": ("place, moment", VECTORS, ["DELETE FROM {table} WHERE id IN (0, 5)"]),
    "widened": (
        "",
        "'delta.enableTypeWidening' = 'true'",
        [
            "ALTER TABLE {table} ALTER COLUMN label TYPE bigint",
            append(20, 24, "3000000000L as label"),
        ],
    ),
}
ICEBERG: dict[str, tuple[str, str, list[Step]]] = {
    "changed": ("", "", [*CHANGES, *RENAMES]),
    "partitioned": ("half, days(day), bucket(4, id)", "", CHANGES),
    "merge_on_read": ("half", MERGE_ON_READ, [*CHANGES, *RENAMES]),
    "vectors": ("", f"'format-version' = '3', {MERGE_ON_READ}", CHANGES),
    "compacted": (
        "",
        MERGE_ON_READ,
        [
            *CHANGES,
            (
                "CALL ice.system.rewrite_data_files(table => 'db.compacted', "
                "options => map('rewrite-all', 'true'))"
            ),
        ],
    ),
    "respecified": (
        "half",
        MERGE_ON_READ,
        [
            "ALTER TABLE {table} DROP PARTITION FIELD half",
            "ALTER TABLE {table} ADD PARTITION FIELD truncate(2, name)",
            *CHANGES,
        ],
    ),
    "escaped": (
        "place, moment",
        MERGE_ON_READ,
        ["DELETE FROM {table} WHERE id IN (0, 5)"],
    ),
    "widened": (
        "",
        "",
        [
            "ALTER TABLE {table} ALTER COLUMN label TYPE bigint",
            append(20, 24, "3000000000L as label"),
        ],
    ),
    "orc": ("", "'write.format.default' = 'orc'", [append(20, 24)]),
    "avro": ("", "'write.format.default' = 'avro'", [append(20, 24)]),
}


def session(warehouse: Path) -> SparkSession:
    delta = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    config = {
        "spark.jars.packages": ",".join(PACKAGES),
        "spark.sql.extensions": ",".join(EXTENSIONS),
        "spark.sql.catalog.spark_catalog": delta,
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": f"file:{warehouse}/iceberg",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
    }
    builder = SparkSession.builder.master("local[2]").appName("tables")
    for key, value in config.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def plain(value: Any) -> Any:
    """Return a value as JSON has it; dates as text."""
    if isinstance(value, date | datetime):
        return value.isoformat()
    return [plain(one) for one in value] if isinstance(value, list) else value


def version(rows: DataFrame) -> dict[str, Any]:
    return {
        "columns": [[name, kind] for name, kind in rows.dtypes],
        "rows": [[plain(one) for one in row] for row in rows.orderBy("id").collect()],
    }


def make(
    spark: SparkSession, table: str, using: str, spec: tuple[str, str, list[Step]]
) -> None:
    partitions, properties, steps = spec
    more = MORE.get(re.split("[./]", table.strip("`"))[-1], "")
    rows_of(spark, 0, 20).createOrReplaceTempView("first")
    spark.sql(
        f"CREATE TABLE {table} USING {using} "
        + (f"PARTITIONED BY ({partitions}) " if partitions else "")
        + (f"TBLPROPERTIES ({properties}) " if properties else "")
        + f"AS SELECT *{more} FROM first"
    )
    for step in steps:
        if isinstance(step, str):
            spark.sql(step.format(table=table))
        else:
            step(spark, table)


def write_vectors(spark: SparkSession, path: Path) -> None:
    """Write vectors of Spark ML and names of classes, each row in four versions."""
    rows = [
        (n, "cat" if n % 3 else "dog", Vectors.dense([n, 1]))
        if n % 2
        else (n, "cat" if n % 3 else "dog", Vectors.sparse(2, [0], [n]))
        for n in range(6)
    ]
    schema = StructType().add("id", "long").add("animal", "string")
    frame = spark.createDataFrame(rows, schema.add("features", VectorUDT()))
    indexer = StringIndexer(inputCol="animal", outputCol="label")
    frame = indexer.fit(frame).transform(frame).drop("animal").coalesce(1)
    writer = frame.write.format("delta").option("delta.checkpointInterval", "2")
    for _ in range(4):
        writer.mode("append").save(str(path))


def delta_versions(spark: SparkSession, path: Path) -> Iterator[dict[str, Any]]:
    history = spark.sql(f"DESCRIBE HISTORY delta.`{path}`").orderBy("version")
    for row in history.collect():
        read = spark.read.format("delta").option("versionAsOf", row["version"])
        yield {
            "version": row["version"],
            "timestamp": row["timestamp"].isoformat(),
            "operation": row["operation"],
            **version(read.load(str(path))),
        }


def iceberg_versions(spark: SparkSession, table: str) -> Iterator[dict[str, Any]]:
    for row in spark.table(f"{table}.snapshots").orderBy("committed_at").collect():
        read = spark.read.format("iceberg").option("snapshot-id", row["snapshot_id"])
        yield {
            "snapshot_id": row["snapshot_id"],
            "timestamp": row["committed_at"].isoformat(),
            "operation": row["operation"],
            **version(read.load(table)),
        }
    # The schema of now may be younger than the last snapshot.
    yield {"snapshot_id": None, **version(spark.table(table))}


def main(directory: Path) -> None:
    shutil.rmtree(directory / "delta", ignore_errors=True)
    shutil.rmtree(directory / "iceberg", ignore_errors=True)
    spark = session(directory)
    spark.sparkContext.setLogLevel("ERROR")
    manifest: dict[str, Any] = {"spark": spark.version, "packages": PACKAGES}
    manifest["delta"], manifest["iceberg"] = {}, {}
    for name, spec in DELTA.items():
        path = directory / "delta" / name
        make(spark, f"delta.`{path}`", "delta", spec)
        manifest["delta"][name] = list(delta_versions(spark, path))
    write_vectors(spark, directory / "delta" / "of_ml")
    for name, spec in ICEBERG.items():
        make(spark, f"ice.db.{name}", "iceberg", spec)
        manifest["iceberg"][name] = list(iceberg_versions(spark, f"ice.db.{name}"))
    text = json.dumps(manifest, indent=None, default=str)
    (directory / "manifest.json").write_text(text.replace('{"v', '\n{"v') + "\n")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
