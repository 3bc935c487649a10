"""The command with real workers, on the digits of the example."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

import daskdl

# Long enough on a busy machine: what is waited for comes at once, or never.
ENDS_WITHIN_S = 120
DIGITS = Path(__file__).parents[3] / "examples" / "digits"
MAIN = "from daskdl.cli.main import main; main()"
COMMAND = [sys.executable, "-c", MAIN]
# What a shell started in the background ignores Ctrl-C, and so do its children. Set by
# the child itself: a fork of this process, with threads of many packages, may hang.
HEARS_CTRL_C = [
    sys.executable,
    "-c",
    f"from signal import *; signal(SIGINT, default_int_handler); {MAIN}",
]


def daskdl_command(*arguments):
    """Run the command in a process of its own; return its line of JSON."""
    result = subprocess.run(
        [*COMMAND, *map(str, arguments), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    (line,) = result.stdout.splitlines()
    return json.loads(line)


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    return tmp_path_factory.mktemp("digits") / "run"


@pytest.fixture(scope="module")
def figures(output):
    """Figures of a run of six epochs with two workers."""
    return daskdl_command(
        "run", DIGITS / "job.yaml", "training.epochs=6", "--output", output
    )


def test_a_run_trains(figures):
    assert figures["accuracy"] > 0.9


def test_a_run_trains_every_example_once_an_epoch(figures):
    assert (figures["examples"], figures["repeated_examples"]) == (6 * 1437, 0)


def test_a_run_uses_the_workers_of_the_job(figures):
    assert figures["workers"] == 2


def test_a_run_leaves_a_network_that_loads(figures):
    assert daskdl.load(figures["model"]).epoch_count == 6


def test_a_run_ends_early_with_its_best_network(tmp_path):
    """The data that it validates on are its test data: their loss is the best score."""
    command = ["run", DIGITS / "job.yaml", "--output", tmp_path / "run", "--json"]
    stopping = "{max_epochs_with_no_improvement: 2, min_improvement: 0.05}"
    result = subprocess.run(
        [
            *COMMAND,
            *map(str, command),
            f"data.validation={DIGITS / 'data' / 'test'}",
            f"training.early_stopping={stopping}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(result.stdout)
    assert told["ended_by"].startswith("ScoreImprovementEpochTerminationCondition(")
    assert told["examples"] < 20 * 1437
    assert told["loss"] == pytest.approx(told["best_score"], rel=1e-5)
    assert daskdl.load(told["model"]).epoch_count == told["best_epoch"]
    assert "error" not in result.stderr.lower()


def test_evaluate_finds_the_accuracy_of_the_run(figures, output):
    found = daskdl_command("evaluate", output, DIGITS / "data/test", "--workers", 1)
    assert (found["accuracy"], found["examples"]) == (figures["accuracy"], 360)


def test_predict_returns_every_key_once(figures, output, tmp_path):
    predictions = tmp_path / "predictions"
    daskdl_command(
        "predict",
        figures["model"],
        DIGITS / "data/test",
        "--key",
        "id",
        "--output",
        predictions,
        "--workers",
        1,
    )
    given = pq.read_table(DIGITS / "data/test")["id"].to_pylist()
    returned = pq.read_table(predictions)["id"].to_pylist()
    assert sorted(returned) == sorted(given)


@pytest.fixture
def long_run(tmp_path):
    """A run that has finished two epochs of very many; killed at the end if need be."""
    process = subprocess.Popen(
        [
            *HEARS_CTRL_C,
            "run",
            str(DIGITS / "job.yaml"),
            "training.epochs=100000",
            "--output",
            str(tmp_path / "run"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for line in process.stderr:
        if line.startswith("epoch 2/100000  done"):
            break
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.stdout.close()
    process.stderr.close()
    process.wait()


def interrupt(process):
    """Press Ctrl-C: the terminal tells the whole group."""
    os.killpg(process.pid, signal.SIGINT)


@pytest.mark.parametrize(
    ("stop", "code"),
    [(interrupt, 130), (subprocess.Popen.terminate, 143)],
    ids=["ctrl-c", "sigterm"],
)
def test_a_run_that_is_stopped_releases_its_cluster(long_run, tmp_path, stop, code):
    """Exit code, message, checkpoint and processes of one stopped run."""
    workers = psutil.Process(long_run.pid).children(recursive=True)
    stop(long_run)
    _, told = long_run.communicate(timeout=ENDS_WITHIN_S)
    _, alive = psutil.wait_procs(workers, timeout=ENDS_WITHIN_S)
    run = tmp_path / "run"
    checkpoint = max(run.glob("checkpoint-*.safetensors"))
    assert long_run.returncode == code
    assert told.splitlines()[-2:] == [
        f"checkpoint kept: {checkpoint}; go on with: daskdl run --resume {run}",
        "error: interrupted.",
    ]
    assert "Traceback" not in told
    assert daskdl.load(str(checkpoint)).epoch_count >= 1
    assert alive == []


def test_a_run_that_was_killed_goes_on(long_run, tmp_path):
    """Its newest checkpoint is damaged: the one before is taken."""
    os.killpg(long_run.pid, signal.SIGKILL)
    long_run.wait()
    (left,) = tmp_path.glob("run.unfinished-*")
    newest = max(left.glob("checkpoint-*.safetensors"))
    reached = int(newest.stem.partition("-")[2])
    newest.write_bytes(newest.read_bytes()[:-1])
    epochs = f"training.epochs={reached + 1}"
    figures = daskdl_command("run", "--resume", tmp_path / "run", epochs)
    assert figures["examples"] == (reached + 1) * 1437
    assert daskdl.load(figures["model"]).epoch_count == reached + 1
    assert not left.exists()


def test_a_run_outlives_a_worker(tmp_path):
    """The report names the worker that was killed; no example is left out."""
    process = subprocess.Popen(
        [
            *COMMAND,
            "run",
            str(DIGITS / "job.yaml"),
            "training.epochs=15",
            "--output",
            str(tmp_path / "run"),
            "--json",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stderr:
        if line.startswith("epoch 2/15  done"):
            break
    workers = [
        child
        for child in psutil.Process(process.pid).children()
        # The one that began early, or another that Dask spawned.
        if re.search("ready_worker|spawn_main", " ".join(child.cmdline()))
    ]
    workers[0].kill()
    told, _ = process.communicate(timeout=ENDS_WITHIN_S)
    figures = json.loads(told)
    assert len(figures["lost_workers"]) == 1
    assert figures["examples"] - figures["repeated_examples"] >= 15 * 1437


def test_a_job_that_is_refused_leaves_no_process(tmp_path):
    """Who reads stderr would wait for it."""
    with subprocess.Popen(
        [*COMMAND, "run", str(tmp_path / "missing.yaml")],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        told = process.stderr.read()
        code = process.wait()
    left = [p for p in psutil.process_iter() if _session(p) == process.pid]
    # Whose parent has ended is waited for by init, which may take a moment.
    left = [p for p in left if p.status() != psutil.STATUS_ZOMBIE]
    assert (code, left) == (2, [])
    assert told.startswith("error: ")


def _session(process):
    with contextlib.suppress(OSError, psutil.Error):
        return os.getsid(process.pid)
    return None
