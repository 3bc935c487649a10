"""What is left of a fit that ends by an error, or by Ctrl-C: what was trained."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from distributed import Client, LocalCluster, get_worker

from daskdl import Adam, Dense, FeedForward, Output
from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.kept_network import KeptNetwork
from daskdl.cluster.masters.options import (
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
)
from daskdl.cluster.masters.training_hook import TrainingHook
from daskdl.data.dataset import DataSet
from daskdl.errors import ClusterError
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.fitting.events import Progress
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.multilayer import MultiLayerNetwork
from daskdl.training import local

MASTERS = [ParameterAveragingTrainingMaster(), SharedTrainingMaster()]
# Long enough for news within each epoch.
EXAMPLES, BATCH_SIZE = 5000, 4
PER_EPOCH = EXAMPLES // BATCH_SIZE


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    ) as opened:
        yield opened


@pytest.fixture
def client(cluster):
    with Client(cluster, set_as_default=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(EXAMPLES, 8)).astype(np.float32)
    labels = np.eye(3, dtype=np.float32)[features[:, :3].argmax(axis=1)]
    return DataSet(features, labels)


def network():
    return MultiLayerNetwork(
        MultiLayerConfiguration(
            layers=[Dense(8, activation="relu"), Output(3)],
            input=FeedForward(8),
            updater=Adam(learning_rate=0.001),
            seed=3,
        )
    ).init()


class Interrupting(Listener):
    """Raises within an epoch, and notes which network `on_fit_error` gets."""

    def __init__(self, epoch, error=KeyboardInterrupt):
        self._epoch, self._error = epoch, error
        self.seen = None

    def on_event(self, event):
        if isinstance(event, Progress) and event.epoch == self._epoch:
            raise self._error

    def on_fit_error(self, fit, error):
        self.seen = fit.network.epoch_count, fit.network.iteration_count


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupted_fit_keeps_what_was_trained(client, data, error):
    """The bits that one process has after as many minibatches."""
    listener = Interrupting(epoch=2, error=error)
    front = DaskMultiLayer(client, network(), MASTERS[0])
    with pytest.raises(error):
        front.fit(data, batch_size=BATCH_SIZE, epochs=9, workers=1, listeners=listener)
    trained = front.network
    assert trained.epoch_count == len(front.last_fit.epochs) == 1
    assert listener.seen == (1, trained.iteration_count)
    expected = local.fit(network(), data, batch_size=BATCH_SIZE)
    left = trained.iteration_count - PER_EPOCH
    assert 0 < left <= PER_EPOCH
    rest = slice(BATCH_SIZE * left)
    local.fit(
        expected, DataSet(data.features[rest], data.labels[rest]), batch_size=BATCH_SIZE
    )
    np.testing.assert_array_equal(trained.params, expected.params)


@pytest.mark.parametrize("master", MASTERS, ids=["averaging", "sharing"])
def test_members_that_wait_for_one_another_tell_what_they_trained(client, data, master):
    front = DaskMultiLayer(client, network(), master)
    listeners = Interrupting(epoch=2)
    with pytest.raises(KeyboardInterrupt):
        front.fit(data, batch_size=BATCH_SIZE, epochs=9, listeners=listeners)
    assert front.network.epoch_count == 1
    assert PER_EPOCH / 2 < front.network.iteration_count <= PER_EPOCH
    score = front.network.score_examples(data).mean()
    assert score < 0.8 * network().score_examples(data).mean()


class Raising(TrainingHook):
    """Raises on one worker, in its second epoch of two workers."""

    def post_update(self, minibatch, network):
        if get_worker().name == 0 and network.iteration_count > 0.6 * PER_EPOCH:
            raise ZeroDivisionError("as a hook of the user's")


def test_what_others_trained_is_kept_where_one_raises(client, data):
    front = DaskMultiLayer(
        client, network(), replace(MASTERS[0], training_hooks=Raising())
    )
    with pytest.raises(ClusterError, match="ZeroDivisionError"):
        front.fit(data, batch_size=BATCH_SIZE, epochs=9)
    assert front.network.epoch_count == len(front.last_fit.epochs) == 1
    assert front.network.iteration_count >= 0.6 * PER_EPOCH


@pytest.fixture
def kept_each_epoch(monkeypatch):
    """Whatever a snapshot costs."""
    monkeypatch.setattr(KeptNetwork, "is_due", lambda *_: True)


@pytest.mark.usefixtures("kept_each_epoch")
def test_where_nobody_tells_it_the_last_snapshot_is_kept(client, data, monkeypatch):
    def silent(members, phase):
        raise ClusterError("nobody is left")

    monkeypatch.setattr("daskdl.cluster.driver.trained_so_far", silent)
    front = DaskMultiLayer(client, network(), MASTERS[0])
    with pytest.raises(KeyboardInterrupt):
        front.fit(
            data,
            batch_size=BATCH_SIZE,
            epochs=9,
            workers=1,
            listeners=Interrupting(epoch=3),
        )
    expected = local.fit(network(), data, batch_size=BATCH_SIZE, epochs=2)
    np.testing.assert_array_equal(front.network.params, expected.params)


@pytest.mark.usefixtures("kept_each_epoch")
def test_a_call_that_is_cancelled_keeps_the_last_snapshot(cluster, data):
    async def cancelled():
        async with Client(
            cluster.scheduler_address, asynchronous=True, set_as_default=False
        ) as client:
            front = DaskMultiLayer(client, network(), MASTERS[0])
            fit = asyncio.create_task(
                front.fit(data, batch_size=BATCH_SIZE, epochs=999, workers=1)
            )
            while front.last_fit is None or len(front.last_fit.epochs) < 2:
                await asyncio.sleep(0.02)
            fit.cancel()
            with pytest.raises(asyncio.CancelledError):
                await fit
            return front.network

    trained = asyncio.run(cancelled())
    expected = local.fit(
        network(), data, batch_size=BATCH_SIZE, epochs=trained.epoch_count
    )
    assert trained.epoch_count >= 1
    np.testing.assert_array_equal(trained.params, expected.params)
