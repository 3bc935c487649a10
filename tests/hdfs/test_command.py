"""The command with everything on HDFS: data, run directory, predictions."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import daskdl
from daskdl.data.filesystems import filesystem
from tests.hdfs.digits import put_digits


def daskdl_command(*arguments):
    """Run the command in a process of its own; return exit code, figures, stderr."""
    program = "from daskdl.cli.main import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, json.loads(result.stdout), result.stderr


@pytest.fixture(scope="module")
def home(hdfs):
    """URL of a directory with the digits and a job."""
    return put_digits(f"{hdfs.uri}/digits")


@pytest.fixture(scope="module")
def figures(home):
    code, figures, told = daskdl_command(
        "run", f"{home}/job.yaml", "training.epochs=6", "output=run"
    )
    assert code == 0, told
    return figures


def test_a_job_on_hdfs_trains(figures):
    assert figures["accuracy"] > 0.9


def test_the_model_is_on_hdfs(figures, home):
    assert figures["model"] == f"{home}/run/model.safetensors"
    assert daskdl.load(figures["model"]).epoch_count == 6


def test_the_run_directory_is_complete(figures, home):
    fs, path = filesystem(f"{home}/run")
    assert {Path(entry).name for entry in fs.ls(path, detail=False)} == {
        "model.safetensors",
        "evaluation.json",
        "statistics.json",
        "timeline.jsonl",
        "page.json",
        "report.html",
        "job.yaml",
    }


def test_predictions_are_written_to_hdfs(figures, home):
    code, found, told = daskdl_command(
        "predict",
        f"{home}/run",
        f"{home}/data/test",
        "--key",
        "id",
        "--output",
        f"{home}/predictions",
    )
    assert (code, found["examples"]) == (0, 360), told
    fs, path = filesystem(f"{home}/predictions")
    assert fs.exists(f"{path}/_SUCCESS")


def test_an_output_that_exists_on_hdfs_is_refused(figures, home):
    code, found, _ = daskdl_command("run", f"{home}/job.yaml", "output=run")
    assert code == 2
    assert f"output must not exist yet, got {home}/run" in found["error"]


def test_a_refused_job_leaves_nothing_on_hdfs(home):
    code, _, _ = daskdl_command(
        "run", f"{home}/job.yaml", "data.label=id", "output=refused"
    )
    fs, path = filesystem(home)
    assert code == 2
    assert not fs.exists(f"{path}/refused")
