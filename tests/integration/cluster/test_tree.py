"""Gradient sharing over a tree of real processes: members die, and nothing is lost."""

import os
import signal
import threading

import numpy as np
import pytest

from daskdl.cluster import session
from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.host_memory import host_here
from daskdl.cluster.masters.options import SharedTrainingMaster
from daskdl.nn.fitting.events import EpochFinished, FitStarted
from daskdl.training.local import fit
from tests.counting import (
    assert_counts,
    counting_master,
    counting_network,
    numbered_examples,
)
from tests.listening import Events

EXAMPLES, BATCH, EPOCHS = 960, 4, 3
WORKERS = 4
# A chain: whoever is not the last one has all others behind it.
CHAIN = {"mesh_build_mode": "mesh", "fan_out": 1}


class Killer:
    """Kill the workers of these ranks a moment after the first epoch."""

    def __init__(self, client, ranks):
        self._pids = client.run(os.getpid)
        self._ranks = ranks
        self.killed = []

    def __call__(self, event):
        if isinstance(event, FitStarted):
            self.killed = [event.workers[rank] for rank in self._ranks]
        elif isinstance(event, EpochFinished) and event.epoch == 1:
            for address in self.killed:
                doomed = (self._pids[address], signal.SIGKILL)
                threading.Timer(0.05, os.kill, doomed).start()


def counted(client, ranks):
    network = counting_network(EXAMPLES, BATCH)
    # Nannies start others in the place of those that are killed.
    master = counting_master(**CHAIN, elastic=False)
    front = DaskMultiLayer(client, network, master)
    killer = Killer(client, ranks)
    front.fit(
        numbered_examples(EXAMPLES),
        epochs=EPOCHS,
        batch_size=BATCH,
        listeners=Events(killer),
    )
    return network, front.last_fit, killer


def put_on_two_hosts(client):
    """Let workers say that every second one is on another host."""
    addresses = sorted(client.scheduler_info(n_workers=-1)["workers"])
    for number, address in enumerate(addresses):
        client.run(say_host, f"host {number % 2}", workers=[address])


def say_host(name):
    session.host_here = lambda: name


@pytest.fixture(scope="module")
def healthy(module_cluster_of):
    return module_cluster_of(WORKERS)


def test_every_example_is_applied_once(healthy):
    network, report, _ = counted(healthy, [])
    np.testing.assert_array_equal(network.params, EPOCHS)
    assert report.repeated_examples == 0


def test_it_learns_what_one_process_learns(healthy, blobs, network):
    """With running statistics, a warm-up, and thresholds that differ."""
    alone, together = network(batch_norm=True), network(batch_norm=True)
    fit(alone, blobs(2000), batch_size=8, epochs=EPOCHS)
    front = DaskMultiLayer(healthy, together, SharedTrainingMaster(**CHAIN))
    front.fit(blobs(2000), batch_size=8, epochs=EPOCHS)
    test = blobs(2000, seed=1)
    apart = alone.evaluate(test).accuracy() - together.evaluate(test).accuracy()
    assert apart < 0.02
    assert front.last_fit.staleness.most >= front.last_fit.staleness.mean >= 0


@pytest.mark.parametrize("ranks", [[1], [0, 1]], ids=["inner member", "root and heir"])
def test_whoever_is_killed_every_example_is_applied(cluster_of, ranks):
    network, report, killer = counted(cluster_of(WORKERS), ranks)
    assert sorted(lost.worker for lost in report.lost) == sorted(killer.killed)
    assert_counts(network, report, examples=EXAMPLES, epochs=EPOCHS)


def test_workers_of_one_machine_are_on_one_host(healthy):
    assert set(healthy.run(host_here).values()) == {host_here()}


@pytest.mark.parametrize("ranks", [[1], [0, 1]], ids=["one", "root and another"])
def test_on_two_hosts_every_example_is_applied_whoever_is_killed(cluster_of, ranks):
    client = cluster_of(WORKERS)
    put_on_two_hosts(client)
    network, report, killer = counted(client, ranks)
    assert sorted(lost.worker for lost in report.lost) == sorted(killer.killed)
    assert_counts(network, report, examples=EXAMPLES, epochs=EPOCHS)
