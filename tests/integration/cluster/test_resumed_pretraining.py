"""Pretraining on a cluster that is killed goes on at its layer and its epoch."""

import functools

import numpy as np
import pytest

import daskdl as dl
from daskdl.cluster import driver
from daskdl.errors import OptionError
from daskdl.formats.checkpoint import load_run
from daskdl.nn.fitting.checkpoint_directory import read_newest
from tests.integration.cluster.test_resume import Ending, killed_again_and_again
from tests.pretrained_layers import assert_same_layers

# Begins the run, or goes on with it if there is a checkpoint; saves it when it is done.
PROGRAM = """
import sys
from pathlib import Path
import numpy as np
import daskdl as dl
from tests.integration.cluster.test_resumed_pretraining import network
from tests.integration.cluster.test_resume import front_or_network

if __name__ == "__main__":
    workers, folder, rows = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[5])
    rng = np.random.default_rng(5)
    data = dl.DataSet(rng.standard_normal((rows, 16)).astype(np.float32))
    there = folder.exists() and any(folder.glob("checkpoint-*"))
    with front_or_network(workers, network()) as trained:
        trained.pretrain(
            data,
            epochs=int(sys.argv[3]),
            batch_size=8,
            shuffle=True,
            resume=folder if there else None,
            listeners=dl.RunCheckpoint(folder, every_n_iterations=20),
        )
        getattr(trained, "network", trained).save(sys.argv[4], overwrite=True)
"""

HOW = {"epochs": 2, "batch_size": 8, "shuffle": True}
AVERAGING = dl.ParameterAveragingTrainingMaster(averaging_frequency=4, dealing="fixed")


def network():
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=dl.FeedForward(16),
            layers=[
                dl.AutoEncoder(name="first", n_out=12, corruption_level=0.2),
                dl.VariationalAutoencoder(
                    name="second",
                    n_out=4,
                    encoder_layer_sizes=[10],
                    decoder_layer_sizes=[10],
                ),
                dl.Output(4),
            ],
            activation="tanh",
            updater=dl.Adam(learning_rate=0.01),
            seed=3,
        )
    )


class EndingIn(Ending):
    """Ends it at a standstill amid an epoch of a layer, behind its checkpoint."""

    def __init__(self, layer):
        self._layer = layer

    def on_standstill(self, fit):
        if fit.layer == self._layer:
            super().on_standstill(fit)


class EndingBehind(dl.Listener):
    """Ends it behind the checkpoint of an epoch of a layer."""

    def __init__(self, layer, epoch):
        self._at = layer, epoch

    def on_standstill(self, fit):
        if (fit.layer, fit.position.epoch) == self._at:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def clients(module_cluster_of):
    """Return a function that gives a cluster of n workers; each is started once."""
    return functools.cache(module_cluster_of)


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    return dl.DataSet(rng.standard_normal((400, 16)).astype(np.float32))


@pytest.fixture
def many(monkeypatch):
    """Enough examples for a standstill amid an epoch, however short that is."""
    monkeypatch.setattr(driver, "WORTH_STANDING_S", 0.0)
    rng = np.random.default_rng(6)
    return dl.DataSet(rng.standard_normal((12_000, 16)).astype(np.float32))


def newest_run(folder):
    return load_run(read_newest("test", str(folder), str)[0])


def ended_and_resumed(front, data, folder, ending):
    """Pretrain until a listener ends it, and go on from there in another network."""
    checkpoints = dl.RunCheckpoint(folder, every_n_iterations=100)
    with pytest.raises(KeyboardInterrupt):
        front().pretrain(data, listeners=[checkpoints, ending], **HOW)
    again = dl.RunCheckpoint(folder, every_n_iterations=100)
    return front().pretrain(data, resume=folder, listeners=again, **HOW)


def assert_same(one, other):
    """Of networks, and of all that pretraining of their layers has come to."""
    np.testing.assert_array_equal(one.params, other.params)
    assert_same_layers(one, other)


@pytest.mark.parametrize(
    "master",
    [dl.SharedTrainingMaster(), AVERAGING, dl.AllReduceTrainingMaster()],
    ids=["shared", "averaging", "allreduce"],
)
@pytest.mark.parametrize("at", [("first", 1), ("first", 2), ("second", 1)])
def test_one_worker_gives_the_bits_of_one_process(clients, data, tmp_path, master, at):
    """At the end of the first layer it goes on with the second."""
    alone = network().pretrain(data, **HOW)

    def front():
        return dl.DaskMultiLayer(clients(1), network(), master)

    resumed = ended_and_resumed(front, data, tmp_path / "run", EndingBehind(*at))
    assert_same(resumed, alone)


@pytest.mark.parametrize("layer", ["first", "second"])
def test_averaging_that_ends_amid_an_epoch_goes_on_with_the_same_bits(
    clients, many, tmp_path, layer
):
    def front():
        return dl.DaskMultiLayer(clients(2), network(), AVERAGING)

    whole = front().pretrain(many, **HOW)
    resumed = ended_and_resumed(front, many, tmp_path / "run", EndingIn(layer))
    assert_same(resumed, whole)


@pytest.mark.slow
def test_one_worker_that_ends_amid_an_epoch_gives_the_bits_of_one_process(
    clients, many, tmp_path
):
    alone = network().pretrain(many, **HOW)

    def front():
        return dl.DaskMultiLayer(clients(1), network(), dl.SharedTrainingMaster())

    resumed = ended_and_resumed(front, many, tmp_path / "run", EndingIn("second"))
    assert_same(resumed, alone)


def test_sharing_that_ends_amid_an_epoch_goes_on_with_its_residuals(
    clients, many, tmp_path
):
    """And with its threshold; each example still counts once an epoch."""

    def front():
        return dl.DaskMultiLayer(
            clients(2), network(), dl.SharedTrainingMaster(warm_up=1)
        )

    folder = tmp_path / "run"
    checkpoints = dl.RunCheckpoint(folder, every_n_iterations=100)
    with pytest.raises(KeyboardInterrupt):
        front().pretrain(many, listeners=[checkpoints, EndingIn("second")], **HOW)
    _, values, arrays = newest_run(folder)
    assert values["threshold"] > 0
    assert [one["residual"].any() for one in arrays[:2]] == [True, True]
    assert arrays[2].keys() == {"first", "second"}
    resumed = front()
    resumed.pretrain(many, resume=folder, **HOW)
    trained = [epoch.examples for epoch in resumed.last_fit.epochs]
    assert trained == [12_000] * 2
    assert resumed.network.pretraining.layer("test", "second").epoch_count == 2


def test_a_complete_run_refuses_what_it_was_not_begun_with(clients, data, tmp_path):
    folder = tmp_path / "run"

    def front(master=None):
        return dl.DaskMultiLayer(clients(2), network(), master)

    def resumed(data=data, master=None, **others):
        return front(master).pretrain(data, resume=folder, **{**HOW, **others})

    whole = front().pretrain(data, listeners=dl.RunCheckpoint(folder), **HOW)
    assert_same(resumed(), whole)
    with pytest.raises(OptionError, match="the master of the run"):
        resumed(master=AVERAGING)
    with pytest.raises(OptionError, match="the epochs of the run, 2, got 3"):
        resumed(epochs=3)
    with pytest.raises(OptionError, match="the layers of the run"):
        resumed(layers="second")
    with pytest.raises(OptionError, match="the data of the run, 400 examples, got 390"):
        resumed(data.slice(0, 390))
    with pytest.raises(OptionError, match="a checkpoint of a fit, got one of pretrain"):
        front().fit(data, resume=folder, **HOW)


def test_a_fit_is_not_gone_on_with(clients, data, tmp_path):
    front = dl.DaskMultiLayer(clients(2), network())
    labelled = dl.DataSet(data.features, data.features[:, :4].argmax(axis=1))
    front.fit(labelled, listeners=dl.RunCheckpoint(tmp_path), **HOW)
    with pytest.raises(OptionError, match="of pretraining, got one of a fit"):
        front.pretrain(data, resume=tmp_path, **HOW)


def reached(folder):
    """Return layer and minibatch of the newest checkpoint; (0, 0) before the first."""
    if not folder.exists() or not any(folder.glob("checkpoint-*")):
        return 0, 0
    _, values, _ = newest_run(folder)
    return values["pretraining"]["number"], values["iteration"]


@pytest.mark.slow
@pytest.mark.timeout(280)
@pytest.mark.parametrize(
    ("workers", "kills", "epochs", "rows"),
    [(0, 8, 40, 600), (1, 3, 15, 600), (2, 4, 15, 600)],
    ids=["one process", "one worker", "two workers"],
)
def test_pretraining_that_is_killed_again_and_again_ends_the_same(
    tmp_path, workers, kills, epochs, rows
):
    whole, resumed, came_to = killed_again_and_again(
        tmp_path, workers, kills, epochs, rows, text=PROGRAM, reached=reached
    )
    assert came_to[-1] < reached(tmp_path / "whole"), "all kills were before the end"
    np.testing.assert_array_equal(whole.params, resumed.params)
