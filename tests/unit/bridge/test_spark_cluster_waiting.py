"""For whom a cluster inside Spark waits: workers that come, and a nanny without one."""

import asyncio

import pytest

from daskdl.errors import ClusterError
from daskdl_bridge.spark import cluster, cluster_worker
from daskdl_bridge.spark.cluster_options import SparkClusterOptions

ASKED = 3


class Job:
    has_worked = False

    def __init__(self, error=None):
        self._error = error

    def check(self):
        if self._error is not None:
            raise self._error


class Client:
    """Knows one worker more each time it is asked, up to some."""

    def __init__(self, most):
        self._most = most
        self._found = -1

    def nthreads(self):
        self._found = min(self._found + 1, self._most)
        return dict.fromkeys(range(self._found), 1)


def await_workers(n_come, job):
    options = SparkClusterOptions(workers=ASKED, start_timeout_s=0.5)
    cluster._await_workers(Client(n_come), job, options)


def test_all_workers_are_waited_for(caplog):
    await_workers(ASKED, Job())
    assert caplog.text == ""


def test_fewer_are_enough_after_a_while(caplog):
    await_workers(2, Job())
    assert "asked Spark for 3 workers, 2 came within 0.5 s" in caplog.text


def test_without_any_nothing_begins():
    with pytest.raises(ClusterError, match=r"at least one of 3 workers.*, got none"):
        await_workers(0, Job())


def test_a_job_that_failed_is_not_waited_for():
    with pytest.raises(ClusterError, match="executors are gone"):
        await_workers(ASKED, Job(ClusterError("executors are gone")))


@pytest.mark.parametrize("n_come", [2, ASKED])
def test_a_job_is_known_to_have_worked_once_a_worker_came(n_come):
    job = Job()
    await_workers(n_come, job)
    assert job.has_worked


class Nanny:
    """Has a worker for as long as a test says."""

    def __init__(self, n_times):
        self._n_times = n_times

    def is_alive(self):
        self._n_times -= 1
        return self._n_times >= 0


@pytest.mark.asyncio
async def test_a_nanny_that_stays_without_a_worker_is_given_up(monkeypatch):
    monkeypatch.setattr(cluster_worker, "_LOOK_AGAIN_S", 0.01)
    monkeypatch.setattr(cluster_worker, "_WITHOUT_WORKER_S", 0.1)
    nanny = Nanny(5)
    await asyncio.wait_for(cluster_worker._given_up(nanny), 30)
    assert not nanny.is_alive()


@pytest.mark.asyncio
async def test_a_nanny_with_a_worker_is_not_given_up(monkeypatch):
    monkeypatch.setattr(cluster_worker, "_LOOK_AGAIN_S", 0.001)
    monkeypatch.setattr(cluster_worker, "_WITHOUT_WORKER_S", 0.1)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(cluster_worker._given_up(Nanny(10**9)), 0.5)
