"""What a cluster computes is what one process computes."""

import functools

import numpy as np
import pytest

from daskdl import (
    LSTM,
    DataSet,
    MultiLayerConfiguration,
    MultiLayerNetwork,
    Recurrent,
    RnnOutput,
    UnderSamplingByMaskingPreProcessor,
)
from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.masters.options import (
    AllReduceTrainingMaster,
    BlockMomentumTrainingMaster,
    ParameterAveragingTrainingMaster,
    PowerSGDTrainingMaster,
    SharedTrainingMaster,
)
from daskdl.nn.conf.updaters import Sgd
from daskdl.training.local import fit

MASTERS = [
    pytest.param(SharedTrainingMaster(), id="shared"),
    pytest.param(
        ParameterAveragingTrainingMaster(averaging_frequency=3), id="averaging"
    ),
    pytest.param(
        ParameterAveragingTrainingMaster(averaging_frequency=3, overlap=True),
        id="overlap",
    ),
    pytest.param(BlockMomentumTrainingMaster(), id="block_momentum"),
    pytest.param(AllReduceTrainingMaster(), id="allreduce"),
    pytest.param(PowerSGDTrainingMaster(), id="powersgd"),
]


@pytest.fixture(scope="module")
def clients(module_cluster_of):
    """Return a function that gives a cluster of n workers; each is started once."""
    return functools.cache(module_cluster_of)


@pytest.mark.parametrize("master", MASTERS)
def test_one_worker_gives_bit_for_bit_what_one_process_gives(
    clients, blobs, network, master
):
    options = {"epochs": 2, "batch_size": 32, "shuffle": True}
    alone = fit(network(dropout=0.8, batch_norm=True), blobs(500), **options)
    front = DaskMultiLayer(clients(1), network(dropout=0.8, batch_norm=True), master)
    front.fit(blobs(500), **options)
    np.testing.assert_array_equal(front.network.params, alone.params)


@pytest.mark.parametrize("master", MASTERS)
def test_one_worker_leaves_the_updater_state_of_one_process(
    clients, blobs, network, master
):
    alone = fit(network(), blobs(300), epochs=1, batch_size=32)
    front = DaskMultiLayer(clients(1), network(), master)
    front.fit(blobs(300), epochs=1, batch_size=32)
    np.testing.assert_array_equal(front.network.updater_state, alone.updater_state)


def test_averaging_every_iteration_equals_twice_the_batch(clients, blobs, network):
    """Plain SGD, two workers: the mean of two steps is the step of both batches."""
    # Else a busy machine makes rounds of other sizes.
    master = ParameterAveragingTrainingMaster(averaging_frequency=1, dealing="fixed")
    updater = Sgd(learning_rate=0.1)
    alone = fit(
        network(updater=updater, dtype="float64"), blobs(480), epochs=2, batch_size=64
    )
    front = DaskMultiLayer(
        clients(2), network(updater=updater, dtype="float64"), master
    )
    front.fit(blobs(480), epochs=2, batch_size=32)
    np.testing.assert_allclose(front.network.params, alone.params, atol=1e-6)


@pytest.mark.parametrize("master", MASTERS)
def test_the_counters_go_on_where_the_last_fit_ended(clients, blobs, network, master):
    front = DaskMultiLayer(clients(1), network(), master)
    front.fit(blobs(96), epochs=2, batch_size=32)
    front.fit(blobs(96), epochs=1, batch_size=32)
    counters = (front.network.iteration_count, front.network.epoch_count)
    assert counters == (9, 3)


@pytest.mark.parametrize("master", MASTERS)
def test_two_workers_learn_as_well_as_one_process(clients, blobs, network, master):
    options = {"epochs": 4, "batch_size": 16, "shuffle": True}
    test = blobs(500, seed=1)
    alone = fit(network(), blobs(2000), **options).evaluate(test).accuracy()
    front = DaskMultiLayer(clients(2), network(), master)
    front.fit(blobs(2000), **options)
    assert front.evaluate(test).accuracy() > alone - 0.02


@pytest.mark.parametrize("master", MASTERS)
def test_every_example_is_trained_once_an_epoch(clients, blobs, network, master):
    front = DaskMultiLayer(clients(2), network(), master)
    front.fit(blobs(333), epochs=3, batch_size=10)
    assert (front.last_fit.examples, front.last_fit.repeated_examples) == (999, 0)


@pytest.mark.parametrize("master", MASTERS)
def test_one_worker_draws_the_masks_of_one_process(clients, rng, master):
    is_rare = (rng.random((40, 6)) < 0.2).astype(int)
    labels = np.eye(2, dtype=np.float32)[is_rare].transpose(0, 2, 1)
    series = DataSet(rng.normal(size=(40, 3, 6)).astype(np.float32), labels)
    layers = [LSTM(n_out=3), RnnOutput(n_out=2, loss="mcxent")]
    conf = MultiLayerConfiguration(layers=layers, input=Recurrent(size=3))
    sampling = UnderSamplingByMaskingPreProcessor(0.5, 6)
    options = {"epochs": 2, "batch_size": 8, "pre_processor": sampling}
    alone = fit(MultiLayerNetwork(conf).init(), series, **options)
    front = DaskMultiLayer(clients(1), conf, master)
    front.fit(series, **options)
    np.testing.assert_array_equal(front.network.params, alone.params)
