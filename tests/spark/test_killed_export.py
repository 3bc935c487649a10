"""Exports while an executor is killed amid a task: every row once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("killed_export.py")
# A master, two executors and a third one, and a process of Python in each.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    folder = tmp_path_factory.mktemp("killed")
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": folder / "local",
        "spark.sql.warehouse.dir": folder / "warehouse",
    }
    done = subprocess.run(
        [
            *(submit, "--master", "local-cluster[2,1,1024]"),
            *(f"--conf={name}={value}" for name, value in options.items()),
            *(PROGRAM, folder),
        ],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def told(folder):
    return json.loads((folder / "told.json").read_text())


@pytest.mark.parametrize("kind", ["frame", "rdd"])
def test_no_row_is_lost_or_doubled(folder, told, kind):
    assert (folder / kind).exists(), "no executor was killed"
    assert told[kind] == list(range(600))


def test_nothing_of_the_export_is_left(told):
    assert told["left"] == []
