"""The job for CUDA devices, as far as a machine without one goes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from daskdl.cli.job_file import load_job
from tests.images import JOB, write_images

LENET = JOB.parents[1] / "lenet" / "job.yaml"


def daskdl(*words, **variables):
    return subprocess.run(
        [Path(sys.executable).with_name("daskdl"), *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
    )


def test_its_network_and_data_are_those_of_the_job_for_the_cpu():
    job, lenet = (load_job(str(path)) for path in (JOB, LENET))
    assert job.network == lenet.network
    assert job.data == lenet.data
    assert job.cluster.kind == "cuda"


def test_without_a_device_it_ends_before_it_looks_for_data():
    done = daskdl("run", JOB, CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 2
    assert "`daskdl doctor --gpu` tells what there is" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["inspect"])
def test_it_can_be_looked_at_anywhere(command, tmp_path):
    write_images(tmp_path / "train.parquet", 32)
    write_job(tmp_path)
    done = daskdl(command, tmp_path / "job.yaml")
    assert done.returncode == 0, done.stderr


def test_it_trains_on_the_cpu_as_well(tmp_path):
    write_images(tmp_path / "train.parquet", 64)
    write_job(tmp_path)
    here = ["cluster.type=local", "cluster.workers=2", "training.epochs=1"]
    done = daskdl("run", tmp_path / "job.yaml", *here, "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert (figures["workers"], figures["examples"]) == (2, 64)


def write_job(folder):
    text = JOB.read_text()
    text = text.replace("train: ../lenet/data/train", "train: train.parquet")
    text = text.replace("  test: ../lenet/data/test\n", "")
    text = text.replace("batch_size: 256", "batch_size: 8")
    (folder / "job.yaml").write_text(text)
