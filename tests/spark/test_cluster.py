"""Dask workers that are tasks of a Spark on this machine."""

import os
import subprocess
import sys
import time

import pytest
from distributed import Client

import daskdl
from daskdl.errors import ClusterError
from daskdl_bridge.spark.running_clusters import RUNNING
from tests.left_processes import left_of, left_with

# Spark's Python, a nanny and a worker start one after the other.
pytestmark = pytest.mark.timeout(300)
MARK = "DASKDL_TEST_OF_CLUSTER"
SLOTS = 2
# What a driver does that does not come to the end of the block.
ENDS = {
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "stopped Spark": "spark.stop()",
    "killed scheduler": (
        "os.kill(found.client().run_on_scheduler(os.getpid), signal.SIGKILL)"
    ),
}
DRIVER = """
import os, signal, sys
from pyspark.sql import SparkSession
import daskdl
spark = SparkSession.builder.{where}("local[2]").config(map={options}).getOrCreate()
with daskdl.spark.cluster(spark, workers=2, memory="1 GiB") as found:
    {does}
"""


@pytest.fixture
def cluster():
    return daskdl.spark.cluster


def pids_of(client):
    """Return those of the scheduler, the workers and their nannies."""
    pids = client.run(own_and_parents)
    return {client.run_on_scheduler(os.getpid), *sum(pids.values(), ())}


def own_and_parents():
    import os

    return os.getpid(), os.getppid()


def left_jobs(spark):
    """Return the jobs that are still there after a while: Spark tells them late."""
    tracker = spark.sparkContext.statusTracker()
    latest_s = time.monotonic() + 30
    while (found := tracker.getActiveJobsIds()) and time.monotonic() < latest_s:
        time.sleep(0.1)
    return found


def test_workers_compute_until_the_block_ends(spark, cluster):
    """For the block's own client, and for others that take it for a cluster."""
    with cluster(spark, workers=SLOTS) as found, Client(found) as other:
        pids = pids_of(found.client())
        assert len(found.client().nthreads()) == SLOTS
        assert found.client().submit(sum, [1, 2, 3]).result() == 6
        assert other.submit(sum, [4, 5]).result() == 9
    with pytest.raises(RuntimeError, match="already closed"):
        Client(found)
    assert left_of(pids) == []
    assert list(left_jobs(spark)) == []


def test_an_error_in_the_block_ends_all(spark, cluster):
    pids = set()

    def fail():
        with cluster(spark, workers=1) as found:
            pids.update(pids_of(found.client()))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert left_of(pids) == []
    assert list(left_jobs(spark)) == []


def test_work_begins_with_the_workers_that_found_slots(spark, cluster, caplog):
    with cluster(spark, workers=SLOTS + 1, start_timeout_s=40) as found:
        assert found.client().submit(sum, [1, 2, 3]).result() == 6
    assert "asked Spark for 3 workers" in caplog.text
    assert list(left_jobs(spark)) == []


def test_without_a_slot_the_error_says_what_was_asked_for(spark, cluster):
    says = r"a free slot for at least one of 2 workers within 3 s, got none"
    with (
        cluster(spark, workers=SLOTS),
        pytest.raises(ClusterError, match=says),
        cluster(spark, workers=2, start_timeout_s=3),
    ):
        pass
    assert list(left_jobs(spark)) == []


def drive(folder, where, does):
    """Run a driver of its own, whose processes have a mark; return what it wrote."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(folder / "local"),
    }
    done = subprocess.run(
        [
            sys.executable,
            *("-c", DRIVER.format(options=options, where=where, does=does)),
        ],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, MARK: str(folder)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=240,
        check=False,
    )
    return done.stdout


# Each starts a JVM of its own; what only Dask or only Spark ends is asked for seldom.
@pytest.mark.parametrize(
    "end",
    [
        pytest.param(ENDS["killed"], id="killed"),
        *(
            pytest.param(ENDS[name], id=name, marks=pytest.mark.slow)
            for name in ("stopped Spark", "killed scheduler")
        ),
    ],
)
def test_nothing_is_left_of_a_driver_that_ends_early(tmp_path, end):
    drive(tmp_path, "master", end)
    assert left_with(MARK, str(tmp_path)) == []
    assert list((tmp_path / "local").rglob("*daskdl*")) == []


def test_a_session_of_spark_connect_has_workers_too(tmp_path):
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
    says = "print(len(found.client().nthreads())); spark.stop()"
    assert drive(tmp_path, "remote", says).splitlines()[-1] == "2"
    assert left_with(MARK, str(tmp_path)) == []


def test_an_export_for_which_there_is_no_slot_is_refused(spark, cluster):
    """Spark would wait for the end of the block, and the block for Spark."""
    frame = spark.range(8).selectExpr("array(float(id)) features", "int(id % 2) label")
    with (
        cluster(spark, workers=SLOTS),
        pytest.raises(daskdl.OptionError, match="must have a free slot"),
    ):
        daskdl.spark.export(frame)


def test_the_block_is_the_cluster_of_its_session(spark, cluster):
    """Also of the estimators, which look for it by the session."""
    with cluster(spark, workers=1) as found:
        with daskdl.spark.connect(spark) as client:
            assert client is found.client()
        assert client.submit(sum, [1, 2]).result() == 3
    assert RUNNING == {}
