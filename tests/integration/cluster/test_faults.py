"""kill -9 of a worker in the middle of an epoch: the fit goes on and says so."""

import os
import signal
from dataclasses import replace

import pytest

from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.masters.options import (
    AllReduceTrainingMaster,
    BlockMomentumTrainingMaster,
    ParameterAveragingTrainingMaster,
    PowerSGDTrainingMaster,
    SharedTrainingMaster,
)
from daskdl.errors import WorkerLostError
from daskdl.nn.fitting.events import EpochFinished, Progress
from daskdl.training.local import fit
from tests.listening import Events

MASTERS = {
    "shared": SharedTrainingMaster(),
    "averaging": ParameterAveragingTrainingMaster(averaging_frequency=4),
    "overlap": ParameterAveragingTrainingMaster(averaging_frequency=4, overlap=True),
    "block_momentum": BlockMomentumTrainingMaster(averaging_frequency=4),
    "allreduce": AllReduceTrainingMaster(),
    "powersgd": PowerSGDTrainingMaster(),
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


def killed_fit(client, blobs, network, master):
    """Fit while a worker is killed; return the front end and who was killed."""
    killer = Killer(client)
    front = DaskMultiLayer(client, network(), master)
    front.fit(
        blobs(EXAMPLES),
        epochs=EPOCHS,
        batch_size=8,
        shuffle=True,
        listeners=Events(killer),
    )
    assert killer.killed, "the fit ended before the worker was killed"
    return front, killer.address


@pytest.fixture(scope="module", params=MASTERS)
def disturbed(request, module_cluster_of, blobs, network):
    """A fit of each master whose worker was killed, and the address of that worker."""
    return killed_fit(module_cluster_of(2), blobs, network, MASTERS[request.param])


def test_a_killed_worker_is_named_in_the_report(disturbed):
    front, killed = disturbed
    assert [lost.worker for lost in front.last_fit.lost] == [killed]


def test_no_example_is_skipped_when_a_worker_is_killed(disturbed):
    """All that was trained, less what was repeated, is every example every epoch."""
    report = disturbed[0].last_fit
    assert report.examples - report.repeated_examples == EXAMPLES * EPOCHS


def test_the_accuracy_is_kept_when_a_worker_is_killed(disturbed, blobs, network):
    test = blobs(2000, seed=1)
    alone = fit(network(), blobs(EXAMPLES), epochs=EPOCHS, batch_size=8, shuffle=True)
    undisturbed = alone.evaluate(test).accuracy()
    assert disturbed[0].network.evaluate(test).accuracy() > undisturbed - 0.01


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", MASTERS)
def test_ten_kills_in_a_row_keep_the_accuracy(cluster_of, blobs, network, name):
    test = blobs(2000, seed=1)
    options = {"epochs": EPOCHS, "batch_size": 8, "shuffle": True}
    undisturbed = fit(network(), blobs(EXAMPLES), **options).evaluate(test).accuracy()
    for _ in range(10):
        front, _ = killed_fit(cluster_of(2), blobs, network, MASTERS[name])
        assert front.network.evaluate(test).accuracy() > undisturbed - 0.01


def test_the_last_worker_to_go_ends_the_fit_with_an_error(cluster_of, blobs, network):
    client = cluster_of(1)
    killer = Killer(client, rank=0)
    master = replace(MASTERS["shared"], rejoin_timeout_s=0)
    front = DaskMultiLayer(client, network(), master)
    with pytest.raises(WorkerLostError, match="at least one worker must be left"):
        front.fit(
            blobs(EXAMPLES), epochs=EPOCHS, batch_size=8, listeners=Events(killer)
        )


def test_an_epoch_is_told_for_each_pass(cluster_of, blobs, network):
    events = []
    front = DaskMultiLayer(cluster_of(2), network(), MASTERS["averaging"])
    front.fit(blobs(400), epochs=3, batch_size=20, listeners=Events(events.append))
    finished = [event.epoch for event in events if isinstance(event, EpochFinished)]
    assert finished == [1, 2, 3]
