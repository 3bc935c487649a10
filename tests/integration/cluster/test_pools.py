"""Pools that are empty for a while, before a fit and in it, and clients that die."""

import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import dask
import pytest
from distributed import Client, LocalCluster
from distributed.core import Status

from daskdl.cluster import bus
from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.missing_workers import start_missing_again
from daskdl.nn.fitting.events import EpochFinished
from tests.counting import (
    assert_counts,
    counting_master,
    counting_network,
    numbered_examples,
)
from tests.integration.cluster.disturbed import (
    WorkerProcesses,
    assert_nothing_is_left,
    assert_stays_empty,
    evaluate,
)
from tests.listening import Events

EXAMPLES, BATCH, EPOCHS = 600, 4, 5
GONE_WITHIN_S = 10.0
FIT_FOR_EVER = """
import sys
from distributed import Client
from tests.integration.cluster.test_pools import counted_fit
counted_fit(Client(sys.argv[1], set_as_default=False), epochs=10**6)
"""


def counted_fit(client, epochs=EPOCHS, listeners=(), **how):
    """Fit, and check how often each example was applied."""
    network = counting_network(EXAMPLES, BATCH)
    front = DaskMultiLayer(client, network, counting_master())
    data = numbered_examples(EXAMPLES)
    front.fit(data, epochs=epochs, batch_size=BATCH, listeners=listeners, **how)
    assert_counts(network, front.last_fit, examples=EXAMPLES, epochs=epochs)
    return front.last_fit


@pytest.fixture
def empty():
    with LocalCluster(
        n_workers=0,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    ) as cluster:
        yield cluster


@pytest.mark.parametrize("operation", [counted_fit, evaluate])
def test_an_adaptive_cluster_without_workers_is_asked_for_one(empty, operation):
    empty.adapt(minimum=0, maximum=2)
    with Client(empty, set_as_default=False) as client:
        operation(client)


def test_a_worker_that_died_before_it_came_is_started_again(empty, caplog):
    # A cluster whose log is silent has silenced all handlers that there were.
    caplog.set_level("WARNING")
    with Client(empty, set_as_default=False) as client:
        empty.scale(1)
        client.wait_for_workers(1, timeout=60)
        # As a nanny whose process was killed while it started.
        while not empty.workers:
            time.sleep(0.01)
        ((name, nanny),) = empty.workers.items()
        empty.workers[name] = SimpleNamespace(status=Status.failed)
        empty.sync(nanny.close)
        start_missing_again(client)
        # By the cluster, in its own time.
        while "a worker on this machine died as it started" not in caplog.text:
            time.sleep(0.01)
        client.wait_for_workers(1, timeout=60)


def test_an_adaptive_cluster_is_asked_for_as_many_as_a_fit_wants(empty):
    empty.adapt(minimum=0, maximum=2)
    with Client(empty, set_as_default=False) as client:
        assert len(counted_fit(client, workers=2).workers) == 2


def test_workers_that_come_late_are_waited_for(empty):
    empty.scale(1)
    with Client(empty, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=60)
        threading.Timer(1.0, empty.scale, (2,)).start()
        assert len(counted_fit(client, workers=2).workers) == 2


async def restart(dask_scheduler):
    await dask_scheduler.restart(stimulus_id="test")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", ["killed", "restarted"])
def test_a_fit_goes_on_when_all_workers_go_at_once(tmp_path, how):
    with WorkerProcesses(tmp_path, nanny=True) as workers:
        pids, struck = workers.at_least(2), []

        def strike(event):
            # The second epoch is told again when it was trained again.
            if not isinstance(event, EpochFinished) or event.epoch != 2 or struck:
                return
            struck.append(event)
            if how == "killed":
                for pid in pids.values():
                    os.kill(pid, signal.SIGKILL)
            else:
                workers.client.run_on_scheduler(restart)

        report = counted_fit(workers.client, listeners=Events(strike))
        assert len(report.rejoined) == 1
        assert_nothing_is_left(workers.client)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_shared", [False, True], ids=["alone", "beside another"])
def test_nothing_is_left_of_a_fit_whose_client_is_killed(tmp_path, is_shared):
    with WorkerProcesses(tmp_path) as workers:
        workers.at_least(2)
        if is_shared:
            bus.install(workers.client)
        command = [sys.executable, "-c", FIT_FOR_EVER, workers.address]
        fit = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while max(events(workers.client).values(), default=0) < 20:
            assert time.monotonic() < deadline
            threading.Event().wait(0.2)
        fit.kill()
        fit.wait()
        assert_stays_empty(lambda: [*events(workers.client)], GONE_WITHIN_S)
        assert_nothing_is_left(workers.client)


def test_nothing_is_left_of_the_events_of_a_fit(cluster_of):
    client = cluster_of(1)
    counted_fit(client, epochs=1)
    assert_stays_empty(lambda: [*events(client)], GONE_WITHIN_S)


def events(client):
    """Return how many events of fits the scheduler keeps."""

    def look(dask_scheduler):
        return {
            topic: len(found)
            for topic, found in dask_scheduler.get_events().items()
            if topic.startswith("daskdl-")
        }

    return client.run_on_scheduler(look)


@pytest.fixture
def given_up(cluster_of):
    """Return a client, and a function that ends a nanny whose worker never started."""
    client = cluster_of(1)
    (nanny,) = client.cluster.workers.values()
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "0.5s"}):
        yield client, lambda: client.cluster.sync(nanny.close)


def test_a_worker_whose_nanny_gave_up_before_a_fit_comes_back(given_up):
    client, give_up = given_up
    give_up()
    assert len(counted_fit(client).workers) == 1


def test_a_worker_whose_nanny_gave_up_in_a_fit_comes_back(given_up):
    client, give_up = given_up
    times = []

    def strike(event):
        # The second epoch may be told again.
        if isinstance(event, EpochFinished) and event.epoch == 2 and not times:
            times.append(event)
            give_up()

    assert len(counted_fit(client, listeners=Events(strike)).rejoined) == 1
