"""What Spark makes of names of directories; run as a script, it writes that down.

python -m tests.spark.partition_oracle tests/data/spark/partition_values.json
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.unit.bridge.partition_texts import all_cases, random_cases

# In one directory: Spark takes its time for each, not for each column.
COLUMNS = 8


def spark_infers(
    spark: Any, cases: Sequence[list[str]], folder: Path
) -> list[tuple[str, list[str | None]]]:
    """Return the type of a partition column and its values as text, for each case."""
    found: list[Any] = []
    for start in range(0, len(cases), COLUMNS):
        some = cases[start : start + COLUMNS]
        found += _inferred(spark, some, folder / str(start))
    return found


def _inferred(spark: Any, cases: Sequence[list[str]], folder: Path) -> Iterator[Any]:
    """Have Spark read one directory, with a partition column for each case."""
    for row in range(max(map(len, cases))):
        place = folder
        for number, texts in enumerate(cases):
            place /= f"v{number}={texts[min(row, len(texts) - 1)]}"
        place.mkdir(parents=True)
        (place / "part-00000").write_text(f"{row}\n")
    frame = spark.read.text(str(folder))
    names = [f"v{number}" for number in range(len(cases))]
    as_text = [f"string({name}) {name}" for name in names]
    rows = sorted(frame.selectExpr("int(value) row", *as_text).collect())
    for name, texts in zip(names, cases, strict=True):
        kind = frame.schema[name].dataType.simpleString()
        yield kind, [row[name] for row in rows[: len(texts)]]


def record(spark: Any, path: Path) -> None:
    """Write down what Spark infers, one case a line."""
    chosen = [*all_cases(), *random_cases(300, seed=5)]
    with TemporaryDirectory() as folder:
        found = spark_infers(spark, chosen, Path(folder))
    lines = [
        json.dumps([texts, *case]) for texts, case in zip(chosen, found, strict=True)
    ]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config(
        "spark.ui.enabled", "false"
    )
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    builder = builder.config("spark.driver.host", "127.0.0.1")
    session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    record(session, Path(sys.argv[1]))
    session.stop()
