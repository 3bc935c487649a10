"""Programs that ``spark-submit`` runs on executors of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def submit(program, folder, **variables):
    """Run a program, which gets the folder, on two executors; fail if it fails."""
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": folder / "local",
        "spark.sql.warehouse.dir": folder / "warehouse",
    }
    spark_submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    done = subprocess.run(
        [
            *(spark_submit, "--master", "local-cluster[2,1,1024]"),
            *(f"--conf={name}={value}" for name, value in options.items()),
            *(program, folder),
        ],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, **variables},
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    assert done.returncode == 0, done.stderr
