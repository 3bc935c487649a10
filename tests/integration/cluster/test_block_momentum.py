"""Two workers that average with an outer momentum, against what one process does."""

import functools

import numpy as np
import pytest

from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.masters.options import (
    BlockMomentumTrainingMaster,
    DiLoCoTrainingMaster,
)
from daskdl.nn.conf.updaters import Nesterovs, Sgd
from daskdl.training.local import fit


@pytest.fixture(scope="module")
def clients(module_cluster_of):
    """Return a function that gives a cluster of n workers; each is started once."""
    return functools.cache(module_cluster_of)


def test_after_every_iteration_it_is_nesterov_momentum_on_twice_the_batch(
    clients, blobs, network
):
    """Plain SGD inside: what the mean moves is the gradient that momentum follows.

    The second epoch goes on with the momentum of the first.
    """
    updater = Nesterovs(learning_rate=0.05, momentum=0.8)
    alone = fit(
        network(updater=updater, dtype="float64"), blobs(480), epochs=2, batch_size=64
    )
    # On a busy machine the faster of two would train several minibatches a round.
    master = BlockMomentumTrainingMaster(
        averaging_frequency=1,
        outer_momentum=0.8,
        outer_alignment=False,
        dealing="fixed",
    )
    inner = network(updater=Sgd(learning_rate=0.05), dtype="float64")
    front = DaskMultiLayer(clients(2), inner, master)
    front.fit(blobs(480), epochs=2, batch_size=32)
    np.testing.assert_allclose(front.network.params, alone.params, atol=1e-6)


def test_two_workers_that_rarely_average_learn_as_well_as_one_process(
    clients, blobs, network
):
    options = {"epochs": 6, "batch_size": 16, "shuffle": True}
    test = blobs(500, seed=1)
    alone = fit(network(), blobs(2000), **options).evaluate(test).accuracy()
    front = DaskMultiLayer(clients(2), network(batch_norm=True), DiLoCoTrainingMaster())
    front.fit(blobs(2000), **options)
    assert front.evaluate(test).accuracy() > alone - 0.02


@pytest.mark.parametrize("overlap", [False, True])
def test_the_same_workers_end_with_the_same_bits(clients, blobs, network, overlap):
    ends = []
    for _ in range(2):
        master = BlockMomentumTrainingMaster(dealing="fixed", overlap=overlap)
        front = DaskMultiLayer(clients(2), network(), master)
        front.fit(blobs(333), epochs=3, batch_size=10)
        ends.append(front.network.params)
    np.testing.assert_array_equal(*ends)
