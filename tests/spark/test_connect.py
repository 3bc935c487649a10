"""Spark Connect has no RDDs and no Java machine beside the program."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("connect_program.py")


@pytest.mark.timeout(300)
def test_a_program_without_a_guard_runs_on_connect(tmp_path):
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
    sql = pytest.importorskip("pyspark", reason="pyspark is not installed")
    if sql.__version__.startswith("3."):
        pytest.skip("the estimators of Spark 3 need a Java machine")
    exports = tmp_path / "exports"
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "DASKDL_EXPORT_DIRECTORY": str(exports),
        "TMPDIR": tempfile.mkdtemp(dir=tmp_path),
    }
    ended = subprocess.run(
        [sys.executable, PROGRAM, tmp_path],
        capture_output=True,
        text=True,
        env=environment,
        timeout=280,
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["rows"] == 200
    assert found["right"] > 180
    assert found["same"]
    assert found["overwritten"] == [True, True]
    *nulls, broken, broken_too = found["errors"]
    for kind, message, _ in nulls:
        assert kind == "DataError", message
        assert re.fullmatch(
            r"Spark DataFrame: column 'label' must hold a value in every row, at least "
            r"\d+ are null\.",
            message,
        )
    for _, message, notes in (broken, broken_too):
        assert "ZeroDivisionError" in message
        assert "Python failed in an executor" in notes
    # What the program left out of a with block goes with its process.
    assert list(exports.glob("*")) == []
