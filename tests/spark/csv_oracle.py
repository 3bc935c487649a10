"""What Spark reads in CSV files; run as a script, it writes that down for other tests.

python -m tests.spark.csv_oracle tests/data/spark/csv_cells.json
"""

import json
import sys
import urllib.parse
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.unit.bridge.csv_strings import OPTIONS, STRINGS, raw_files

SCHEMA = "a string, n string, b string, malformed string"


def spark_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options under the names that Spark gives them."""

    def camel_case(name: str) -> str:
        first, *others = name.split("_")
        return first + "".join(other.title() for other in others)

    return {camel_case(name): value for name, value in options.items()}


def written_files(spark: Any, options: Mapping[str, Any], folder: Path) -> list[bytes]:
    """Have Spark write each string into a file of its own."""
    rows = [(index, string, "1", string) for index, string in enumerate(STRINGS)]
    frame = spark.createDataFrame(rows, "i int, a string, n string, b string")
    writer = frame.repartition(1).write.partitionBy("i")
    writer.options(**spark_options(options)).csv(str(folder))
    return [
        path.read_bytes()
        for index in range(len(STRINGS))
        for path in folder.glob(f"i={index}/part-*")
    ]


def spark_reads(
    spark: Any, options: Mapping[str, Any], files: Iterable[bytes], folder: Path
) -> list[list[list[str | None]] | None]:
    """Return the rows that Spark reads in each file; None if one is malformed to it."""
    for number, data in enumerate(files):
        (folder / f"{number}.csv").write_bytes(data)
    reader = spark.read.schema(SCHEMA).options(**spark_options(options))
    frame = reader.option("columnNameOfCorruptRecord", "malformed").csv(str(folder))
    names = frame.selectExpr("*", "input_file_name() file").collect()
    found: list[Any] = [[] for _ in range(number + 1)]
    for row in names:
        file = int(Path(urllib.parse.urlparse(row.file).path).stem)
        is_good = row.malformed is None and found[file] is not None
        found[file] = [*found[file], [row.a, row.n, row.b]] if is_good else None
    return found


def record(spark: Any, path: Path) -> None:
    """Write down what Spark reads, one file a line, bytes as Latin-1."""
    cases = []
    for name, options in OPTIONS.items():
        with TemporaryDirectory() as folder:
            written = written_files(spark, options, Path(folder, "written"))
            files = list(dict.fromkeys([*raw_files(options), *written]))
            (Path(folder) / "read").mkdir()
            read = spark_reads(spark, options, files, Path(folder, "read"))
        cases += [
            json.dumps([name, data.decode("latin-1"), rows])
            for data, rows in zip(files, read, strict=True)
        ]
    path.write_text("[\n" + ",\n".join(cases) + "\n]\n")


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").getOrCreate()
    record(session, Path(sys.argv[1]))
    session.stop()
