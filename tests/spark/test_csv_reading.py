"""The cells that daskdl is held against are still those that this Spark reads."""

import json
from pathlib import Path

import pytest

from tests.spark.csv_oracle import spark_reads
from tests.unit.bridge.csv_strings import OPTIONS

GOLDEN = Path(__file__).parents[1] / "data" / "spark" / "csv_cells.json"
QUICK = ("defaults", "all at once")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name in OPTIONS
    ],
)
def test_spark_reads_what_was_written_down(spark, tmp_path, name):
    cases = [case[1:] for case in json.loads(GOLDEN.read_text()) if case[0] == name]
    files = [data.encode("latin-1") for data, _ in cases]
    expected = [rows for _, rows in cases]
    assert spark_reads(spark, OPTIONS[name], files, tmp_path) == expected
