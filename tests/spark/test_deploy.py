"""The program of docs/guide/deploy.md that is submitted."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples" / "digits" / "data"
pytestmark = [pytest.mark.timeout(600), pytest.mark.slow]


def test_the_program_learns_where_spark_is(tmp_path):
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    program = ROOT / "examples" / "deploy" / "on_spark.py"
    done = subprocess.run(
        [
            *(submit, "--master", "local[2]"),
            *("--conf=spark.ui.enabled=false", f"--conf=spark.local.dir={tmp_path}"),
            *(program, DIGITS / "train", DIGITS / "test"),
        ],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (accuracy,) = re.findall(r"Accuracy: +([\d.]+)", done.stdout)
    assert float(accuracy) > 0.95
