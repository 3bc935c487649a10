"""A script that Spark runs on executors of its own, of which one is killed."""

import json
from pathlib import Path

import pytest

from tests.left_processes import left_with
from tests.spark.submitted import submit

DRIVER = Path(__file__).with_name("cluster_driver.py")
MARK = "DASKDL_TEST_OF_CLUSTER"
# Two executors, a master and a driver, and then as many processes of Python.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("submitted")
    submit(DRIVER, folder, **{MARK: str(folder)})
    return folder


@pytest.fixture(scope="module")
def told(folder):
    return json.loads((folder / "told.json").read_text())


def test_the_executor_that_was_killed_is_a_worker_that_left(told):
    assert told["lost"] == 1


def test_the_next_executor_trains(told):
    assert told["joined"] >= 1


def test_spark_reads_every_prediction(told):
    assert told["predicted"] == 360


def test_the_digits_are_learned(told):
    assert told["accuracy"] >= 0.9


def test_no_job_of_spark_is_left(told):
    assert told["jobs"] == 0


def test_no_process_is_left(folder):
    assert left_with(MARK, str(folder)) == []


def test_no_file_is_left(folder):
    assert list((folder / "local").rglob("*daskdl*")) == []
