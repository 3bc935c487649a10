"""Workers that average gradients train as one process with all their minibatches."""

import functools
import os
import signal

import numpy as np
import pytest

from daskdl import (
    LSTM,
    BatchNormalization,
    Convolution2D,
    Dense,
    MultiLayerConfiguration,
    MultiLayerNetwork,
    Output,
    RnnOutput,
    Subsampling,
)
from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.masters.options import (
    AllReduceTrainingMaster,
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
)
from daskdl.data.dataset import DataSet
from daskdl.encoding.algorithms import FixedThresholdAlgorithm
from daskdl.nn.conf.input_type import Convolutional, Recurrent
from daskdl.nn.conf.updaters import Adam
from daskdl.nn.fitting.events import Progress
from daskdl.training.local import fit
from tests.listening import Events

# Of a worker; 10 iterations an epoch.
BATCH, PER_EPOCH, EPOCHS = 4, 10, 5
OPTIONS = {"updater": Adam(learning_rate=0.002), "dtype": "float64", "seed": 3}


def le_net(**options):
    layers = [
        Convolution2D(n_out=8, kernel_size=3, activation="relu"),
        Subsampling(kernel_size=2, stride=2),
        Dense(n_out=80, activation="relu"),
        Output(n_out=3, loss="mcxent", activation="softmax"),
    ]
    images = Convolutional(height=10, width=10, channels=1)
    return network(layers, images, **options)


def lstm(**options):
    layers = [LSTM(n_out=50), RnnOutput(n_out=3, loss="mcxent", activation="softmax")]
    return network(layers, Recurrent(size=8), **options)


def network(layers, kind, **options):
    conf = MultiLayerConfiguration(layers=layers, input=kind, **{**OPTIONS, **options})
    return MultiLayerNetwork(conf).init()


def images(rows, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 1, 10, 10))
    return DataSet(x, np.eye(3)[rng.integers(0, 3, rows)])


def series(rows, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 8, 6))
    labels = np.eye(3)[rng.integers(0, 3, (rows, 6))].transpose(0, 2, 1)
    return DataSet(x, np.ascontiguousarray(labels))


CASES = {"le_net": (le_net, images), "lstm": (lstm, series)}
PENALTIES = {
    "gradient_normalization": "clip_l2_per_layer",
    "gradient_normalization_threshold": 0.5,
    "l1": 1e-4,
    "l2": 1e-3,
}


@pytest.fixture(scope="module")
def clients(module_cluster_of):
    """Return a function that gives a cluster of n workers; each is started once."""
    return functools.cache(module_cluster_of)


def both(clients, make, draw, workers, rows=None, **options):
    """Return what one process trains with the whole minibatches, and the cluster."""
    rows = rows or BATCH * workers * PER_EPOCH
    how = {"epochs": EPOCHS, "shuffle": False}
    alone = fit(make(**options), draw(rows), batch_size=BATCH * workers, **how)
    front = DaskMultiLayer(clients(workers), make(**options), AllReduceTrainingMaster())
    front.fit(draw(rows), batch_size=BATCH, **how)
    return alone, front


@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize("case", CASES)
def test_workers_train_as_one_process_with_all_their_minibatches(
    clients, case, workers
):
    alone, front = both(clients, *CASES[case], workers)
    assert front.network.iteration_count == EPOCHS * PER_EPOCH
    np.testing.assert_allclose(front.network.params, alone.params, rtol=0, atol=1e-12)


def test_penalties_and_normalization_act_on_the_averaged_gradient(clients):
    alone, front = both(clients, *CASES["lstm"], 2, **PENALTIES)
    np.testing.assert_allclose(front.network.params, alone.params, rtol=0, atol=1e-12)


def test_truncated_series_train_as_one_process_with_all_minibatches(clients):
    options = {"backprop_type": "truncated_bptt", "tbptt_fwd_length": 2}
    alone, front = both(clients, *CASES["lstm"], 2, **options)
    assert front.network.iteration_count == 3 * EPOCHS * PER_EPOCH
    np.testing.assert_allclose(front.network.params, alone.params, rtol=0, atol=1e-12)


def test_who_has_fewer_minibatches_follows_the_others(clients):
    """Three of four, one row short: the last iteration is that of one worker alone."""
    alone, front = both(clients, *CASES["lstm"], 2, rows=3 * BATCH - 1)
    assert front.last_fit.examples == EPOCHS * (3 * BATCH - 1)
    np.testing.assert_allclose(front.network.params, alone.params, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("workers", "most"), [(2, 1.03), (4, 2.1)])
def test_an_iteration_costs_less_than_twice_the_parameters(clients, workers, most):
    _, front = both(clients, *CASES["lstm"], workers)
    iterations = EPOCHS * PER_EPOCH * workers
    assert front.last_fit.bytes_sent / iterations <= most * front.network.params.nbytes


def test_two_fits_of_four_workers_end_with_the_same_bits(clients):
    ends = []
    for _ in range(2):
        front = DaskMultiLayer(clients(4), norm_net(), AllReduceTrainingMaster())
        front.fit(images(100), epochs=2, batch_size=BATCH)
        ends.append(front.network.params.tobytes())
    assert ends[0] == ends[1]


def norm_net():
    layers = [
        Dense(n_out=12, activation="relu"),
        BatchNormalization(),
        Output(n_out=3, loss="mcxent", activation="softmax"),
    ]
    kind = Convolutional(height=10, width=10, channels=1)
    return network(layers, kind, keep_probability=0.8)


@pytest.mark.parametrize(("workers", "most"), [(2, 1.03), (4, 2.1)])
def test_a_round_of_averaging_costs_less_than_twice_the_vectors(clients, workers, most):
    master = ParameterAveragingTrainingMaster(averaging_frequency=5)
    front = DaskMultiLayer(clients(workers), lstm(), master)
    front.fit(series(BATCH * workers * 10), epochs=2, batch_size=BATCH)
    vectors = front.network.params.nbytes + front.network.updater_state.nbytes
    assert front.last_fit.bytes_sent <= most * vectors * 4 * workers


def test_sharing_sends_no_state_and_no_parameters_at_its_end(clients):
    """Nothing reaches the threshold: what is sent are some bytes a minibatch."""
    never = FixedThresholdAlgorithm(threshold=1e6)
    # A worker that is left with fewer than sixteen minibatches tells all its residual.
    master = SharedTrainingMaster(warm_up=0, threshold_algorithm=never, dealing="fixed")
    front = DaskMultiLayer(clients(4), lstm(), master)
    front.fit(series(BATCH * 4 * 20), batch_size=BATCH)
    sent = front.last_fit.bytes_sent / 4
    assert 0 < sent < 0.5 * front.network.params.nbytes


def test_a_worker_that_dies_leaves_its_minibatches_to_the_others(cluster_of):
    client = cluster_of(3)
    pids = client.run(os.getpid)
    victim = min(pids)
    progress = []

    def kill(event):
        if isinstance(event, Progress) and not progress:
            progress.append(event)
            os.kill(pids[victim], signal.SIGKILL)

    front = DaskMultiLayer(client, norm_net(), AllReduceTrainingMaster())
    options = {"epochs": 2, "batch_size": BATCH, "listeners": Events(kill)}
    front.fit(images(6000), **options)
    report = front.last_fit
    assert [lost.worker for lost in report.lost] == [victim]
    assert report.examples - report.repeated_examples == 2 * 6000
