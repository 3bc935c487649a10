"""The whole way: Spark's files on HDFS, training, predictions that Spark reads."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from daskdl_bridge.storage import filesystem
from tests.spark.places import client_options

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


@pytest.fixture(scope="module")
def ran(hdfs):
    """The digits job run against HDFS: its figures, and where its predictions are."""
    root = f"{hdfs.uri}/first-light"
    upload(DIGITS / "data", f"{root}/data")
    job = [f"data.{part}={root}/data/{part}" for part in ("train", "test")]
    figures = daskdl("run", DIGITS / "job.yaml", *job, "--output", f"{root}/run")
    predicted = daskdl(
        "predict",
        f"{root}/run/model.safetensors",
        f"{root}/data/test",
        *("--features", "features", "--key", "id", "--output", f"{root}/predicted"),
    )
    return root, figures, predicted


@pytest.fixture(scope="module")
def read(spark, hdfs):
    """Return how Spark, which may run already, reads Parquet of the mini cluster."""
    return spark.read.options(**client_options(hdfs)).parquet


def upload(folder, url):
    store, top = filesystem(url)
    for path in folder.rglob("*"):
        if path.is_file():
            target = f"{top}/{path.relative_to(folder).as_posix()}"
            store.makedirs(target.rpartition("/")[0], exist_ok=True)
            store.pipe_file(target, path.read_bytes())


def daskdl(*words):
    command = [Path(sys.executable).with_name("daskdl"), *words, "--json"]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.timeout(300)
def test_the_job_learns_the_digits_from_hdfs(ran):
    assert ran[1]["accuracy"] >= 0.97


@pytest.mark.timeout(300)
def test_spark_finds_the_accuracy_that_the_run_reported(ran, read):
    root, figures, _ = ran
    predicted = read(f"{root}/predicted")
    labelled = read(f"{root}/data/test").select("id", "label")
    joined = predicted.join(labelled, "id")
    right = joined.where("prediction = label").count()
    assert right / labelled.count() == pytest.approx(figures["accuracy"], abs=1e-9)


@pytest.mark.timeout(300)
def test_spark_reads_every_key_once(ran, read):
    root, _, _ = ran
    predicted = read(f"{root}/predicted").select("id")
    keys = read(f"{root}/data/test").select("id")
    assert sorted(predicted.collect()) == sorted(keys.collect())


@pytest.mark.timeout(300)
def test_spark_reads_the_probabilities_as_vectors(ran, read):
    schema = read(f"{ran[0]}/predicted").schema
    assert schema["probability"].dataType.simpleString() == "vector"
