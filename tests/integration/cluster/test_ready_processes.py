"""Processes that wait to become the workers of a local cluster."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import dask
import psutil
import pytest

from daskdl.cluster import ready_processes
from daskdl.cluster.connect import ClusterOptions, connect
from daskdl.cluster.ready_processes import processes_ready

pytestmark = pytest.mark.usefixtures("workers_are_spawned")


def waiting():
    return [ready.pid for ready in ready_processes._waiting]


def workers_of(client):
    # One that is killed is known for a moment more.
    return set(client.run(os.getpid, on_error="ignore").values())


def test_workers_are_the_processes_that_waited():
    with processes_ready(None, 2):
        began = set(waiting())
        with connect(ClusterOptions(workers=2)) as client:
            assert workers_of(client) == began


def test_what_was_not_taken_is_ended():
    with processes_ready(None, 1):
        (pid,) = waiting()
    assert not psutil.pid_exists(pid)


def test_none_wait_for_a_cluster_that_runs():
    with processes_ready("tcp://127.0.0.1:8786", 2):
        assert waiting() == []


def test_a_process_that_was_killed_is_replaced():
    with processes_ready(None, 2):
        killed, other = waiting()
        os.kill(killed, signal.SIGKILL)
        with connect(ClusterOptions(workers=2)) as client:
            found = workers_of(client)
    assert (other in found, killed in found, len(found)) == (True, False, 2)


def test_a_worker_that_is_killed_takes_no_other_along_and_comes_back():
    with processes_ready(None, 2), connect(ClusterOptions(workers=2)) as client:
        killed, other = sorted(workers_of(client))
        os.kill(killed, signal.SIGKILL)
        # One question that reaches a worker as it dies is not answered for 30 s.
        deadline = time.monotonic() + 180
        while killed in (found := workers_of(client)) or len(found) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert other in found


def test_a_process_that_began_without_a_variable_is_not_taken():
    """A library has looked for it by then."""
    config = {"distributed.nanny.pre-spawn-environ.MALLOC_ARENA_MAX": "1"}
    with dask.config.set(config), processes_ready(None, 1):
        began = set(waiting())
        with connect(ClusterOptions(workers=1)) as client:
            assert workers_of(client).isdisjoint(began)


def test_a_process_that_began_with_another_value_is_not_taken(monkeypatch):
    with processes_ready(None, 1):
        began = set(waiting())
        monkeypatch.setenv("OMP_NUM_THREADS", "3")
        with connect(ClusterOptions(workers=1)) as client:
            assert workers_of(client).isdisjoint(began)


def value_of(name):
    return os.environ.get(name)


def test_a_variable_that_came_since_reaches_the_workers(monkeypatch):
    with processes_ready(None, 1):
        began = set(waiting())
        monkeypatch.setenv("DASKDL_CAME_LATE", "a\nb")
        with connect(ClusterOptions(workers=1)) as client:
            assert workers_of(client) == began
            (found,) = client.run(value_of, "DASKDL_CAME_LATE").values()
    assert found == "a\nb"


def test_a_process_that_waits_ends_with_its_command():
    program = (
        "import os, signal\n"
        "from daskdl.cluster import ready_processes\n"
        "with ready_processes.processes_ready(None, 1):\n"
        "    print(ready_processes._waiting[0].pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=False
    )
    # It holds the pipe as well, so that run() came back when it had ended.
    with contextlib.suppress(psutil.NoSuchProcess):
        # Where nobody buries what is left of it.
        assert psutil.Process(int(done.stdout)).status() == psutil.STATUS_ZOMBIE


def test_a_process_that_waits_outlives_an_interrupt_at_the_terminal():
    with processes_ready(None, 1):
        (pid,) = waiting()
        os.kill(pid, signal.SIGINT)
        with connect(ClusterOptions(workers=1)) as client:
            assert workers_of(client) == {pid}
