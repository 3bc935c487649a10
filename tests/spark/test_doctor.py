"""What ``daskdl doctor --spark`` finds in a Spark on this machine."""

import os

import pytest

from daskdl.cluster.calls import Answers

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
]


@pytest.fixture
def findings(spark):
    """A function that returns the findings by name."""
    from daskdl_bridge.spark.doctor import doctor

    return lambda cluster=None: {one.what: one for one in doctor(cluster)}


def test_a_spark_that_is_well_is_ok_and_lives_on(findings, spark):
    found = findings()
    assert {one.level for one in found.values()} == {"ok"}
    assert spark.version in found["Spark"].found
    assert found["clocks of the executors"].found.startswith("this machine's own")
    assert spark.range(3).count() == 3


def test_executors_without_what_is_needed_are_an_error(findings, monkeypatch):
    from daskdl_bridge.spark import doctor

    def broken(batches):
        raise ModuleNotFoundError("No module named 'pyarrow'")
        yield

    monkeypatch.setattr(doctor, "facts", broken)
    executors = findings()["executors"]
    assert executors.is_failure
    assert executors.found == "ModuleNotFoundError: No module named 'pyarrow'"


class Elsewhere:
    """A cluster whose only worker has another directory at every place."""

    def __init__(self, *mark):
        self.mark = mark

    def on_workers(self, function, *given):
        return Answers({"tcp://h:1": self.mark})


@pytest.mark.parametrize(
    ("mark", "level"),
    [(("h", 0, 0), "error"), (("h", 1, 1), "warning")],
    ids=["none", "another"],
)
def test_a_worker_with_another_directory_is_found(
    findings, monkeypatch, tmp_path, mark, level
):
    monkeypatch.setenv("DASKDL_EXPORT_DIRECTORY", str(tmp_path))
    directory = findings(Elsewhere(*mark))["export directory"]
    assert directory.level == level
    assert "'worker tcp://h:1'" in directory.found
    assert os.listdir(tmp_path) == []


def test_executors_look_where_they_are(spark, tmp_path):
    from daskdl_bridge.spark import doctor
    from daskdl_bridge.spark.executor_facts import MARKS, directory_mark, marks_of

    (row, *_) = doctor._on_executors(spark, marks_of(str(tmp_path)), MARKS)
    assert tuple(row) == directory_mark(str(tmp_path))
