"""A job that is killed in its pretraining goes on there, and ends the same."""

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import daskdl

COMMAND = [sys.executable, "-m", "daskdl"]
# So many of each of two layers, and of the network.
EPOCHS = 4


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """Return the path of a job that pretrains two layers in front of its training."""
    folder = tmp_path_factory.mktemp("job")
    rng = np.random.default_rng(5)
    for name, rows in (("train", 4000), ("test", 100)):
        features = rng.standard_normal((rows, 8)).astype(np.float32)
        columns = {"x": list(features), "y": (features[:, 0] > 0).astype(int)}
        (folder / name).mkdir()
        pq.write_table(pa.table(columns), folder / name / "part-00000.parquet")
        (folder / name / "_SUCCESS").touch()
    encoder = {"type": "auto_encoder", "corruption_level": 0.2}
    values = {
        "network": {
            "input": {"type": "feed_forward", "size": 8},
            "activation": "tanh",
            "updater": "adam",
            "layers": [
                {**encoder, "name": "first", "n_out": 6},
                {**encoder, "name": "second", "n_out": 4},
                {"type": "output", "n_out": 2},
            ],
        },
        "data": {"train": "train", "test": "test", "features": "x", "label": "y"},
        "training": {
            "master": "averaging",
            "epochs": EPOCHS,
            "pretrain": {"epochs": EPOCHS},
            "batch_size": 8,
        },
        "cluster": {"workers": 1, "security": "none"},
    }
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump(values))
    return path


def command(*arguments):
    result = subprocess.run(
        [*COMMAND, "run", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stderr


def stopped(job, output, epochs, how):
    """Begin a run, and stop it and its workers behind so many epochs."""
    with subprocess.Popen(
        [*COMMAND, "run", str(job), "--output", str(output)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        for line in process.stderr:
            epochs -= line.startswith("epoch ") and "  done in" in line
            if not epochs:
                break
        how(process)
        process.stderr.read()


def kill(process):
    os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def whole(job):
    """Return the network of a run that was never stopped."""
    command(job, "--output", job.parent / "whole")
    return daskdl.load(job.parent / "whole" / "model.safetensors")


@pytest.mark.parametrize(
    ("epochs", "how", "layers"),
    [
        pytest.param(2, kill, ["first", "second"], marks=pytest.mark.slow),
        pytest.param(EPOCHS, subprocess.Popen.terminate, ["second"]),
        pytest.param(EPOCHS + 3, kill, ["second"]),
        pytest.param(2 * EPOCHS + 2, kill, [], marks=pytest.mark.slow),
    ],
    ids=["first layer", "between", "second layer", "training"],
)
def test_a_job_goes_on_at_the_layer_where_it_was(
    job, whole, tmp_path, epochs, how, layers
):
    stopped(job, tmp_path / "run", epochs, how)
    told = command("--resume", tmp_path / "run")
    assert "going on from" in told
    assert re.findall(r"^pretraining (\w+) on [\d,]+ examples", told, re.M) == layers
    ended = daskdl.load(tmp_path / "run" / "model.safetensors")
    np.testing.assert_array_equal(ended.params, whole.params)
    np.testing.assert_array_equal(ended.updater_state, whole.updater_state)
