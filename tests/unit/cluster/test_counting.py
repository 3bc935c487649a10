"""Which example was applied how often, whatever goes wrong: counted by the network."""

import re

import numpy as np
import pytest

from daskdl.cluster.masters.options import (
    BlockMomentumTrainingMaster,
    ParameterAveragingTrainingMaster,
)
from daskdl.errors import DivergedError
from daskdl.nn.fitting.preparation import prepare
from daskdl.training.local import fit
from tests.counting import (
    assert_counts,
    counting_master,
    counting_network,
    numbered_examples,
)
from tests.unit.cluster.simulation_cluster import Worker, numbered_data, simulate
from tests.unit.cluster.simulation_faults import Fault, workers_with
from tests.unit.cluster.tally_network import TallyNetwork

EXAMPLES, BATCH, EPOCHS = 144, 4, 2
SEEDS = range(2)


def counted_fit(monkeypatch, seed, workers, master):
    network = counting_network(EXAMPLES, BATCH)
    data = prepare(network, numbered_examples(EXAMPLES), batch_size=BATCH)
    outcome = simulate(
        monkeypatch, seed, master, workers, data, epochs=EPOCHS, network=network
    )
    if outcome.error is not None:
        raise outcome.error
    return outcome


def test_one_process_applies_each_example_once_an_epoch():
    network = counting_network(EXAMPLES, BATCH)
    fit(network, numbered_examples(EXAMPLES), batch_size=BATCH, epochs=EPOCHS)
    np.testing.assert_array_equal(network.params, EPOCHS)


@pytest.mark.parametrize("rounding", ["nearest", "down"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", Fault)
def test_every_example_is_applied_and_what_is_applied_twice_is_told(
    monkeypatch, fault, seed, rounding
):
    outcome = counted_fit(
        monkeypatch,
        seed,
        workers_with(fault),
        counting_master(rounding, worker_prefetch_num_batches=0),
    )
    assert_counts(outcome.network, outcome.report, examples=EXAMPLES, epochs=EPOCHS)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", [Fault.NONE, Fault.SLOW, Fault.JOINS_LATE])
def test_while_nobody_dies_each_example_is_applied_once_on_every_member(
    monkeypatch, fault, seed
):
    outcome = counted_fit(
        monkeypatch,
        seed,
        workers_with(fault),
        counting_master(worker_prefetch_num_batches=0),
    )
    for worker in outcome.survivors:
        np.testing.assert_array_equal(worker.actor.result.params, EPOCHS)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_two_members_apply_each_example_once_at_an_outer_rate_of_2(
    monkeypatch, seed, momentum
):
    """Twice the mean of two is their sum; momentum then repeats rounds, told below.

    Classical momentum applies a round once more by 1/2, 1/4, ... in those behind it:
    all examples of a round alike, and those of the last round once.
    """
    per_epoch = EXAMPLES // (2 * BATCH)
    master = BlockMomentumTrainingMaster(
        averaging_frequency=3,
        outer_learning_rate=2.0,
        outer_momentum=momentum,
        outer_nesterov=False,
        outer_alignment=False,
        dealing="fixed",
        worker_prefetch_num_batches=0,
    )
    workers = [Worker("w0"), Worker("w1")]
    outcome = counted_fit(monkeypatch, seed, workers, master)
    rounds = EPOCHS * per_epoch // 3
    counts = [(1 - momentum ** (rounds - n)) / (1 - momentum) for n in range(rounds)]
    assert outcome.network.params.sum() == pytest.approx(3 * 2 * BATCH * sum(counts))
    if not momentum:
        np.testing.assert_array_equal(outcome.network.params, EPOCHS)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", Fault)
def test_an_outer_momentum_loses_no_example(monkeypatch, fault, seed):
    master = BlockMomentumTrainingMaster(
        averaging_frequency=3, worker_prefetch_num_batches=0
    )
    outcome = counted_fit(monkeypatch, seed, workers_with(fault), master)
    report = outcome.report
    assert outcome.network.params.min() > 0
    assert report.examples - report.repeated_examples == EXAMPLES * EPOCHS


# Of five members in a tree of fan-out 2: the root has two children, the first one of
# them has two as well.
PLACES = {
    "root": [0],
    "inner member": [1],
    "leaf": [4],
    "root and heir": [0, 1],
    "inner member and its child": [1, 3],
}


def counted_over_a_tree(monkeypatch, seed, fault, places):
    master = counting_master(
        worker_prefetch_num_batches=0, mesh_build_mode="mesh", fan_out=2
    )
    workers = workers_with(fault, 5 - len(places), places)
    return counted_fit(monkeypatch, seed, workers, master)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("fault", Fault)
def test_over_a_tree_every_example_is_applied_to_all_survivors_alike(
    monkeypatch, fault, places, seed
):
    outcome = counted_over_a_tree(monkeypatch, seed, fault, places)
    assert_counts(outcome.network, outcome.report, examples=EXAMPLES, epochs=EPOCHS)
    for worker in outcome.survivors:
        np.testing.assert_array_equal(
            worker.actor.result.params, outcome.network.params
        )


# Of five members on two hosts in a tree of fan-out 1: 0 and 3, then 1, 2 and 4.
PLACES_ON_HOSTS = {
    "root": [0],
    "host of the root": [0, 3],
    "speaker": [1],
    "speaker and its heir": [1, 2],
    "both speakers": [0, 1],
    "host": [1, 2, 4],
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("places", PLACES_ON_HOSTS.values(), ids=PLACES_ON_HOSTS)
@pytest.mark.parametrize("fault", Fault)
def test_over_hosts_every_example_is_applied_to_all_survivors_alike(
    monkeypatch, fault, places, seed
):
    workers = workers_with(fault, 5 - len(places), places)
    for worker, host in zip(workers, "abbab", strict=True):
        worker.host = host
    master = counting_master(
        worker_prefetch_num_batches=0, mesh_build_mode="mesh", fan_out=1
    )
    outcome = counted_fit(monkeypatch, seed, workers, master)
    assert_counts(outcome.network, outcome.report, examples=EXAMPLES, epochs=EPOCHS)
    for worker in outcome.survivors:
        np.testing.assert_array_equal(
            worker.actor.result.params, outcome.network.params
        )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("fault", [Fault.NONE, Fault.SLOW, Fault.JOINS_LATE])
def test_over_a_tree_each_example_is_applied_once_while_nobody_dies(
    monkeypatch, fault, places, seed
):
    outcome = counted_over_a_tree(monkeypatch, seed, fault, places)
    for worker in outcome.survivors:
        np.testing.assert_array_equal(worker.actor.result.params, EPOCHS)


class DivergingNetwork(TallyNetwork):
    """Its fourth update is infinite."""

    def copy(self):
        return DivergingNetwork(EXAMPLES, 1)

    def update_of(self, batch):
        update = super().update_of(batch)
        if self.iteration_count == 3:
            update[7] = np.inf
        return update


def test_a_worker_whose_update_is_not_finite_ends_the_fit_and_is_named(monkeypatch):
    outcome = simulate(
        monkeypatch,
        0,
        counting_master(worker_prefetch_num_batches=0),
        [Worker("w0"), Worker("w1")],
        numbered_data([EXAMPLES], BATCH, in_memory=True),
        network=DivergingNetwork(EXAMPLES, 1),
    )
    assert isinstance(outcome.error, DivergedError)
    assert re.match(
        r"Session worker \d at simulated: .* for parameter \d+\. Lower the "
        "learning rate",
        str(outcome.error),
    )


def test_a_member_returns_no_parameters_that_are_not_finite(monkeypatch):
    """The last update was scored by nobody."""
    outcome = simulate(
        monkeypatch,
        0,
        ParameterAveragingTrainingMaster(worker_prefetch_num_batches=0),
        [Worker("w0"), Worker("w1")],
        numbered_data([EXAMPLES], BATCH, in_memory=True),
        network=DivergingNetwork(EXAMPLES, 1),
    )
    assert isinstance(outcome.error, DivergedError)
    assert "parameters must be finite, got" in str(outcome.error)


def test_what_a_fit_sent_counts_its_end(monkeypatch):
    """The last messages, with the updater states, are most of a short fit's."""
    workers = [Worker("w0"), Worker("w1")]
    master = counting_master(worker_prefetch_num_batches=0)
    outcome = counted_fit(monkeypatch, 0, workers, master)
    sent = sum(worker.topic.stats.bytes_sent for worker in workers)
    assert outcome.report.bytes_sent == sent
