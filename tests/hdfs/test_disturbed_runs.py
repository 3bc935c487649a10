"""Whole runs on HDFS while its active NameNode is killed, or all servers freeze.

``DASKDL_FAULT_RUNS`` says how many runs a stage has.
"""

import json
import os
import subprocess
import sys
import uuid

import pytest

import daskdl
from daskdl.data.filesystems import filesystem
from tests.hdfs.digits import put_digits

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

STAGES = ["training", "checkpoint", "final"]
N_RUNS = int(os.environ.get("DASKDL_FAULT_RUNS", "5"))
LIMIT_S = 300
STORAGE_FAILED = 4


@pytest.fixture
def home(hdfs):
    """URL of a directory with the digits and a job, on an HDFS with both NameNodes."""
    return put_digits(f"{hdfs.uri}/disturbed-{uuid.uuid4().hex}")


def disturbed_run(hdfs, home, stage, seed, disturbance):
    """Return exit code, figures and standard error of a run."""
    state = hdfs.dir / "state.json"
    program = ["-m", "tests.hdfs.disturbed_run", stage, str(seed), state, disturbance]
    command = ["run", f"{home}/job.yaml", "training.epochs=6", "output=run", "--json"]
    result = subprocess.run(
        [sys.executable, *program, *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    figures = json.loads(result.stdout) if result.stdout else {}
    return result.returncode, figures, result.stderr


def names(url):
    fs, path = filesystem(url)
    return sorted(name.rpartition("/")[2] for name in fs.ls(path, detail=False))


def check_complete(home, figures):
    """Check that nothing is missing, and nothing else is left."""
    assert figures["accuracy"] > 0.9
    assert daskdl.load(f"{home}/run/model.safetensors").epoch_count == 6
    assert names(f"{home}/run") == [
        "evaluation.json",
        "job.yaml",
        "model.safetensors",
        "page.json",
        "report.html",
        "statistics.json",
        "timeline.jsonl",
    ]
    assert names(home) == ["data", "job.yaml", "run"]


@pytest.mark.parametrize("seed", range(N_RUNS))
@pytest.mark.parametrize("stage", STAGES)
def test_death_of_the_active_namenode_costs_nothing(hdfs, home, stage, seed):
    active = int(hdfs.command("active"))
    try:
        code, figures, told = disturbed_run(hdfs, home, stage, seed, "kill")
        assert code == 0, told
        assert "disturbed: kill ok" in told
    finally:
        hdfs.command("start-namenode", active)
    check_complete(home, figures)


@pytest.mark.parametrize("stage", STAGES)
def test_frozen_servers_end_in_a_result_or_an_error_of_storage(hdfs, home, stage):
    try:
        code, figures, told = disturbed_run(hdfs, home, stage, 0, "freeze")
    finally:
        hdfs.command("resume")
    assert "disturbed: freeze" in told
    assert code in (0, STORAGE_FAILED), told
    if code == 0:
        check_complete(home, figures)
    else:
        assert "within 60 s" in figures["error"]
