"""kill -9 of a worker in the middle of an epoch: the fit goes on and says so."""

import os
import signal

import pytest

from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.masters.options import (
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
)
from daskdl.cluster.stats.events import EpochFinished, Progress
from daskdl.errors import WorkerLostError
from daskdl.training.local import fit

MASTERS = {
    "shared": SharedTrainingMaster(),
    "averaging": ParameterAveragingTrainingMaster(averaging_frequency=4),
}
EXAMPLES, EPOCHS = 12_000, 3


class Killer:
    """Kill one worker when the second epoch is some way on."""

    def __init__(self, client, rank=1):
        pids = client.run(os.getpid)
        self.address = sorted(pids)[rank]
        self._pid = pids[self.address]
        self.killed = False

    def __call__(self, event):
        if isinstance(event, Progress) and event.epoch == 2 and not self.killed:
            self.killed = True
            os.kill(self._pid, signal.SIGKILL)


@pytest.fixture
def killed_fit(cluster_of, blobs, network):
    """Return a function that fits while a worker is killed."""

    def run(master, workers=2):
        client = cluster_of(workers)
        killer = Killer(client)
        front = DaskMultiLayer(client, network(), master)
        front.fit(
            blobs(EXAMPLES), epochs=EPOCHS, batch_size=8, shuffle=True, on_event=killer
        )
        assert killer.killed, "the fit ended before the worker was killed"
        return front, killer

    return run


@pytest.mark.parametrize("name", MASTERS)
def test_a_killed_worker_is_named_in_the_report(killed_fit, name):
    front, killer = killed_fit(MASTERS[name])
    assert [lost.worker for lost in front.last_fit.lost] == [killer.address]


@pytest.mark.parametrize("name", MASTERS)
def test_no_example_is_skipped_when_a_worker_is_killed(killed_fit, name):
    """All that was trained, less what was repeated, is every example every epoch."""
    front, _ = killed_fit(MASTERS[name])
    report = front.last_fit
    assert report.examples - report.repeated_examples == EXAMPLES * EPOCHS


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", MASTERS)
def test_ten_kills_in_a_row_keep_the_accuracy(killed_fit, blobs, network, name):
    test = blobs(2000, seed=1)
    options = {"epochs": EPOCHS, "batch_size": 8, "shuffle": True}
    undisturbed = fit(network(), blobs(EXAMPLES), **options).evaluate(test).accuracy()
    for _ in range(10):
        front, _ = killed_fit(MASTERS[name])
        assert front.network.evaluate(test).accuracy() > undisturbed - 0.01


def test_the_last_worker_to_go_ends_the_fit_with_an_error(cluster_of, blobs, network):
    client = cluster_of(1)
    killer = Killer(client, rank=0)
    front = DaskMultiLayer(client, network(), MASTERS["shared"])
    with pytest.raises(WorkerLostError, match="at least one worker must be left"):
        front.fit(blobs(EXAMPLES), epochs=EPOCHS, batch_size=8, on_event=killer)


def test_a_restarted_worker_joins_at_the_next_epoch(killed_fit):
    front, _ = killed_fit(MASTERS["shared"])
    workers = [event.workers for event in front.last_fit.epochs]
    assert workers[:2] == [2, 1]


def test_an_epoch_is_told_for_each_pass(cluster_of, blobs, network):
    events = []
    front = DaskMultiLayer(cluster_of(2), network(), MASTERS["averaging"])
    front.fit(blobs(400), epochs=3, batch_size=20, on_event=events.append)
    finished = [event.epoch for event in events if isinstance(event, EpochFinished)]
    assert finished == [1, 2, 3]
