"""What a task does before its worker starts, run as Spark runs it: from a pickle."""

import socket
import subprocess
import sys

import cloudpickle
import pytest

from daskdl.errors import (
    ClusterError,
    MissingExtraError,
    VersionMismatchError,
)
from daskdl_bridge.spark.cluster_job import WorkerJob
from daskdl_bridge.spark.cluster_task import worker_task

# daskdl itself must not come along: where it is missing nobody could unpickle it.
RUN = """
import pickle, sys
sys.modules.update(dict.fromkeys(["daskdl", "daskdl_bridge"]))
task = pickle.load(sys.stdin.buffer)
try:
    list(task(iter(())))
except RuntimeError as error:
    print(error)
"""


@pytest.fixture
def silent_address():
    """A port at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()


def said_by_executor(folder, version):
    """Run a task where another daskdl is installed; return its error."""
    facts = folder / f"daskdl-{version}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Name: daskdl\nVersion: {version}\n")
    work = cloudpickle.dumps(worker_task(("127.0.0.1", 1), b""))
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r}){RUN}"],
        input=work,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode()


def test_an_executor_with_another_daskdl_says_both_versions(tmp_path):
    said = said_by_executor(tmp_path, "99.1")
    assert "on the driver and 99.1 there" in said


def test_where_nobody_listens_a_task_ends_with_a_row(silent_address):
    """As late tasks do, when the block has ended: that is no failure of Spark's."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    (batch,) = worker_task(silent_address, b"")(iter(()))
    assert "executors must reach the scheduler at 127.0.0.1" in str(batch["said"][0])


class Session:
    """A session of Spark Connect whose jobs do what a test says."""

    def __init__(self, *jobs):
        self.jobs = list(jobs)

    def addTag(self, tag):
        pass

    def range(self, *_):
        return self

    def mapInArrow(self, *_):
        return self

    def collect(self):
        job = self.jobs.pop(0)
        if isinstance(job, Exception):
            raise job
        return job


Session.__module__ = "pyspark.sql.connect.session"


def fail(text, kind=RuntimeError):
    """Raise what a job that failed with this text is translated to."""
    with WorkerJob(Session(kind(text)), 1) as job:
        job.start(print)
        job.join()
        job.check()


def test_the_sentence_of_a_task_is_found_in_the_text_of_spark():
    text = "Job aborted: Traceback\nRuntimeError: daskdl.spark.cluster: no way.\n at x"
    with pytest.raises(ClusterError, match=r"^daskdl.spark.cluster: no way\.$"):
        fail(text)


def test_other_versions_are_an_error_of_their_own():
    text = "x: daskdl.spark.cluster: executors must have the driver's versions, got a"
    with pytest.raises(VersionMismatchError, match="got a"):
        fail(text)


@pytest.mark.parametrize("version", ["(3, 12)", "3.12"])
def test_another_python_is_told_alike_of_all_sparks(version):
    text = (
        f"Python in worker has different version: {version} than that in driver: 3.11,"
    )
    with pytest.raises(
        VersionMismatchError, match=r"Python 3\.11 on the driver and 3\.12 there"
    ):
        fail(text)


def test_pythons_error_stands_for_a_traceback():
    with pytest.raises(ClusterError, match="failed: ModuleNotFoundError: No module x"):
        fail("Job aborted\nTraceback\nModuleNotFoundError: No module x\n\tat java")


def test_a_death_is_told_as_spark_tells_it():
    with pytest.raises(ClusterError, match="failed: Python worker exited"):
        fail("Job aborted, most recent failure: Python worker exited\n\tat java")


def test_a_package_that_spark_lacks_is_named():
    with pytest.raises(MissingExtraError, match=r"pandas.*daskdl\[spark\]"):
        fail("pandas >= 2.2.0 must be installed", ImportError)


def test_a_job_that_had_workers_is_submitted_again(monkeypatch):
    monkeypatch.setattr("daskdl_bridge.spark.cluster_job._BETWEEN_S", 0.0)
    session = Session(RuntimeError("killed"), RuntimeError("killed"), [])
    with WorkerJob(session, 1) as job:
        job.has_worked = True
        job.start(print)
        job.join()
        job.check()
    assert session.jobs == []


def test_jobs_that_fail_at_once_are_given_up(monkeypatch):
    monkeypatch.setattr("daskdl_bridge.spark.cluster_job._BETWEEN_S", 0.0)
    session = Session(*(RuntimeError("killed") for _ in range(10)))
    with WorkerJob(session, 1) as job:
        job.has_worked = True
        job.start(print)
        job.join()
    assert len(session.jobs) == 6
