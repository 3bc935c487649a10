"""What Spark makes of names of directories; run as a script, it writes that down.

python -m tests.spark.partition_oracle tests/data/spark/partition_values.json
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.unit.bridge.partition_texts import cases, random_cases


def spark_infers(
    spark: Any, directories: Iterable[list[str]], folder: Path
) -> list[tuple[str, list[str | None]] | None]:
    """Return the type of a partition column and its values as text, for each case.

    None where Spark fails, which it does for values that its own type does not hold.
    """
    found: list[Any] = []
    for number, texts in enumerate(directories):
        case = folder / str(number)
        for index, text in enumerate(texts):
            (case / f"v={text}").mkdir(parents=True)
            (case / f"v={text}" / "part-00000").write_text(f"{index}\n")
        found.append(_inferred(spark, case))
    return found


def _inferred(spark: Any, case: Path) -> tuple[str, list[str | None]] | None:
    # Spark 4 turns dates of years beyond 9999 into errors only when they are read.
    try:
        frame = spark.read.text(str(case))
        rows = frame.selectExpr("int(value) i", "string(v) v").collect()
    except Exception:  # noqa: BLE001 - py4j's errors have no common class of their own
        return None
    return frame.schema["v"].dataType.simpleString(), [r.v for r in sorted(rows)]


def record(spark: Any, path: Path) -> None:
    """Write down what Spark infers, one case a line."""
    chosen = [*cases(), *random_cases(300, seed=5)]
    with TemporaryDirectory() as folder:
        found = spark_infers(spark, chosen, Path(folder))
    lines = [
        json.dumps([texts, *(case or (None, None))])
        for texts, case in zip(chosen, found, strict=True)
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
