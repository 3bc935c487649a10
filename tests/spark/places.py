"""Where Spark writes what daskdl reads, and the other way about."""

import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

PLACES = ["local", "hdfs"]

SESSION = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
    # Paths are of this machine, also where HADOOP_CONF_DIR names a mini HDFS.
    "spark.hadoop.fs.defaultFS": "file:///",
}
"""Options of every session of Spark in these tests."""


def root_at(place: str, request: pytest.FixtureRequest, folder: Path) -> str:
    """Return the URL of a directory that is not there yet."""
    if place == "local":
        return str(folder / "written")
    return f"{request.getfixturevalue('hdfs').uri}/written-{uuid.uuid4().hex}"


def run(folder: Path, *command: object) -> str:
    """Run a program of Python with a Spark of its own; return what it says."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        # Spark leaves a warehouse there.
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def client_options(mini: Any) -> dict[str, str]:
    """Return what a client of the mini HDFS has to know."""
    return {
        str(entry.findtext("name")): str(entry.findtext("value"))
        for path in Path(mini.conf_dir).glob("*-site.xml")
        for entry in ElementTree.parse(path).iter("property")
        if entry.findtext("name") != "fs.defaultFS"
    }
