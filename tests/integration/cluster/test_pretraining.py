"""Pretraining on a cluster is that of one process, layer by layer."""

import functools
import os
import signal
import time

import numpy as np
import pytest

import daskdl as dl
from daskdl.cluster.frontend import DaskComputationGraph, DaskMultiLayer
from daskdl.cluster.masters.options import (
    AllReduceTrainingMaster,
    BlockMomentumTrainingMaster,
    ParameterAveragingTrainingMaster,
    PowerSGDTrainingMaster,
    SharedTrainingMaster,
)
from daskdl.errors import DataError, OptionError
from daskdl.nn.fitting.events import Progress
from daskdl.nn.fitting.fit import Fit

N_FEATURES = 12
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
TWO = [MASTERS[0], MASTERS[1], MASTERS[4]]


@pytest.fixture(scope="module")
def clients(module_cluster_of):
    """Return a function that gives a cluster of n workers; each is started once."""
    return functools.cache(module_cluster_of)


@pytest.fixture(scope="session")
def rows():
    """Return a function that draws rows between 0 and 1 of few hidden causes."""
    directions = np.random.default_rng(5).normal(0, 2, (2, N_FEATURES))

    def draw(examples: int, seed: int = 0) -> dl.DataSet:
        causes = np.random.default_rng(seed).normal(0, 1, (examples, 2))
        return dl.DataSet((1 / (1 + np.exp(-causes @ directions))).astype(np.float32))

    return draw


def variational(n_out=2, **options):
    return dl.VariationalAutoencoder(
        n_out=n_out,
        encoder_layer_sizes=[10],
        decoder_layer_sizes=[10],
        reconstruction_distribution="bernoulli",
        activation="tanh",
        **options,
    )


def network(*layers, **options):
    layers = layers or (
        dl.AutoEncoder(n_out=8, activation="sigmoid"),
        dl.Dense(n_out=6, activation="sigmoid"),
        variational(l2=1e-4),
    )
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            layers=[*layers, dl.Output(n_out=3, loss="mcxent")],
            input=dl.FeedForward(size=N_FEATURES),
            updater=dl.Adam(learning_rate=0.01),
            seed=3,
            **options,
        )
    ).init()


def score_of(calculator, net):
    """Return the score of a network as it is, in this process."""
    return calculator.calculate_score(Fit((), 1, lambda: net))


@pytest.mark.parametrize("master", MASTERS)
def test_one_worker_gives_bit_for_bit_what_one_process_gives(clients, rows, master):
    options = {"epochs": 2, "batch_size": 32, "shuffle": True}
    alone = network().pretrain(rows(300), **options)
    front = DaskMultiLayer(clients(1), network(), master)
    front.pretrain(rows(300), **options)
    np.testing.assert_array_equal(front.network.params, alone.params)


@pytest.mark.parametrize("master", TWO)
def test_calls_go_on_where_the_last_one_ended(clients, rows, master):
    """With updater state and counters of the layer, as in one process."""
    alone, there = network(), network()
    front = DaskMultiLayer(clients(1), there, master)
    for one in (alone, front):
        for _ in range(2):
            one.pretrain_layer(2, rows(100), batch_size=16)
    np.testing.assert_array_equal(there.params, alone.params)


def test_pretraining_on_a_cluster_leaves_the_networks_own_updaters(clients, rows):
    front = DaskMultiLayer(clients(1), network())
    front.pretrain(rows(100), batch_size=16)
    counts = (front.network.iteration_count, front.network.epoch_count)
    assert counts == (0, 0)
    assert not front.network.updater_state.any()


@pytest.mark.parametrize("master", TWO)
def test_every_example_counts_once_an_epoch_for_each_layer(clients, rows, master):
    class Layers(dl.Listener):
        seen = ()

        def on_fit_end(self, fit):
            self.seen += ((fit.layer, fit.report.examples),)

    layers = Layers()
    front = DaskMultiLayer(clients(2), network(), master)
    front.pretrain(rows(333), epochs=3, batch_size=10, listeners=layers)
    assert layers.seen == (("layer0", 999), ("layer2", 999))


@pytest.mark.parametrize("master", MASTERS)
def test_two_workers_learn_as_well_as_one_process(clients, rows, master):
    options = {"epochs": 8, "batch_size": 16, "shuffle": True}
    net = functools.partial(network, variational())
    scores = dl.VAEReconErrorScoreCalculator("MSE", rows(200, seed=1))
    first = score_of(scores, net())
    alone = score_of(scores, net().pretrain(rows(2000), **options))
    front = DaskMultiLayer(clients(2), net(), master)
    front.pretrain(rows(2000), **options)
    both = score_of(scores, front.network)
    assert first - both > 0.8 * (first - alone) > 0


@pytest.mark.parametrize("master", TWO)
def test_only_the_layer_itself_learns(clients, rows, master):
    front = DaskMultiLayer(clients(2), network(), master)
    before = {name: x.copy() for name, x in front.network.param_table().items()}
    front.pretrain_layer("layer2", rows(100), batch_size=10)
    now = front.network.param_table()
    changed = {name[0] for name in before if (now[name] != before[name]).any()}
    assert changed == {"2"}


def test_a_graph_is_pretrained_by_name(clients, rows):
    conf = dl.ComputationGraphConfiguration(
        inputs={"in": dl.FeedForward(size=N_FEATURES)},
        vertices={
            "encoder": dl.AutoEncoder(n_out=5, activation="sigmoid", inputs="in"),
            "out": dl.Output(n_out=3, inputs="encoder"),
        },
        outputs=("out",),
    )
    options = {"epochs": 2, "batch_size": 16}
    alone = dl.ComputationGraph(conf).pretrain(rows(100), **options)
    front = DaskComputationGraph(clients(1), conf)
    front.pretrain_layer("encoder", rows(100), **options)
    np.testing.assert_array_equal(front.network.params, alone.params)


def test_the_normalizer_is_fitted_on_features_alone(clients, rows):
    scaler = dl.NormalizerMinMaxScaler()
    front = DaskMultiLayer(clients(2), network())
    front.pretrain(rows(100), batch_size=16, normalizer=scaler)
    assert scaler.is_fitted
    assert front.network.normalizer is scaler


def test_files_need_no_column_of_labels(clients, rows, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    columns = {f"x{i}": x for i, x in enumerate(rows(100).features.T)}
    pq.write_table(pa.table(columns), tmp_path / "part-0.parquet")
    options = {"features": list(columns), "batch_size": 16, "require_success": False}
    alone = network().pretrain(str(tmp_path), **options)
    front = DaskMultiLayer(clients(1), network())
    front.pretrain(str(tmp_path), **options)
    np.testing.assert_array_equal(front.network.params, alone.params)


def test_labels_are_not_looked_at(clients, rows):
    data = rows(100)
    labelled = dl.DataSet(data.features, np.full((100, 7), np.nan))
    front, other = (DaskMultiLayer(clients(1), network()) for _ in range(2))
    front.pretrain(labelled, batch_size=16)
    other.pretrain(data, batch_size=16)
    np.testing.assert_array_equal(front.network.params, other.network.params)


class Killing(dl.Listener):
    """Kills a worker amid the second epoch."""

    def __init__(self, client):
        self.client, self.killed = client, None

    def on_event(self, event):
        is_amid = isinstance(event, Progress) and event.epoch == 2
        if is_amid and self.killed is None:
            pids = self.client.run(os.getpid)
            self.killed = min(pids)
            os.kill(pids[self.killed], signal.SIGKILL)


class Awaiting(Killing):
    """Leaves its successor time to show what it can between two epochs."""

    def on_epoch_end(self, fit):
        if self.killed is not None and not fit.report.joined:
            self.client.wait_for_workers(2, timeout=60)
            time.sleep(1)


@pytest.mark.parametrize("master", TWO)
def test_a_worker_that_is_killed_costs_nothing(cluster_of, rows, master):
    client = cluster_of(2)
    killing = Killing(client)
    scores = dl.VAEReconErrorScoreCalculator("MSE", rows(200, seed=1))
    front = DaskMultiLayer(client, network(variational()), master)
    before = score_of(scores, front.network)
    front.pretrain(rows(12_000), epochs=4, batch_size=8, listeners=killing)
    assert front.last_fit.lost_workers == (killing.killed,)
    trained = [epoch.examples for epoch in front.last_fit.epochs]
    assert trained == [12_000] * 4
    assert score_of(scores, front.network) < 0.7 * before


def test_who_comes_pretrains_from_files_without_labels(cluster_of, rows, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    columns = {f"x{i}": x for i, x in enumerate(rows(6000).features.T)}
    pq.write_table(pa.table(columns), tmp_path / "part-0.parquet")
    client = cluster_of(2)
    front = DaskMultiLayer(client, network(variational()))
    front.pretrain(
        str(tmp_path / "part-0.parquet"),
        features=list(columns),
        epochs=15,
        batch_size=8,
        listeners=Awaiting(client),
    )
    assert front.last_fit.left_out == []
    assert front.last_fit.joined
    assert [epoch.workers for epoch in front.last_fit.epochs][-1] == 2


REFUSED = {
    "no layer": (
        lambda front, data: front.pretrain(data, batch_size=8),
        OptionError,
        "DaskMultiLayer.pretrain: the network must have a layer that can be",
    ),
    "another layer": (
        lambda front, data: front.pretrain_layer("nobody", data, batch_size=8),
        OptionError,
        "DaskMultiLayer.pretrain_layer: layer must be one that can be pretrained",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_network_without_such_a_layer_is_refused(clients, rows, case):
    call, kind, message = REFUSED[case]
    front = DaskMultiLayer(clients(1), network(dl.Dense(n_out=4)))
    with pytest.raises(kind, match=message):
        call(front, rows(20))


def test_features_that_do_not_fit_are_refused_before_the_start(clients):
    front = DaskMultiLayer(clients(1), network())
    with pytest.raises(DataError, match="must hold 12 numbers an example, got 3"):
        front.pretrain(dl.DataSet(np.zeros((4, 3))), batch_size=2)


def test_what_cannot_be_restored_is_refused(clients, rows):
    front = DaskMultiLayer(clients(1), network(variational()))
    before = front.network.params.copy()
    with pytest.raises(DataError, match="distribution 'bernoulli' must be from 0"):
        front.pretrain(dl.DataSet(rows(40).features - 1), batch_size=8)
    np.testing.assert_array_equal(front.network.params, before)
