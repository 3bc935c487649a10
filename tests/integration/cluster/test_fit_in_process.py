"""Whole fits on a cluster whose workers are threads: what stays, and what is left."""

import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from distributed import Client, LocalCluster

from daskdl import BatchNormalization, Dense, Output
from daskdl.cluster import bus, driver, session
from daskdl.cluster.bus.protocol import PLUGIN_NAME as BUS
from daskdl.cluster.driver import Driver
from daskdl.cluster.frontend import DaskComputationGraph, DaskMultiLayer
from daskdl.cluster.mailbox import PLUGIN_NAME as SESSIONS
from daskdl.cluster.masters.options import (
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
)
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.standardize import NormalizerStandardize
from daskdl.encoding.algorithms import FixedThresholdAlgorithm
from daskdl.errors import (
    ClusterError,
    MissingExtraError,
    NetworkBusyError,
    OptionError,
    SourceNotFoundError,
)
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.fitting.events import EpochFinished, FitStarted, Progress
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork
from daskdl.training import local
from tests.devices import living_on
from tests.integration.cluster.disturbed import assert_stays_empty
from tests.listening import Epochs, Events

MASTERS = {
    "averaging": ParameterAveragingTrainingMaster(start_timeout_s=20),
    # A threshold of the size of the updates: these fits are too short for a small
    # one to grow, and what is not sent does not count.
    "sharing": SharedTrainingMaster(
        threshold_algorithm=FixedThresholdAlgorithm(threshold=0.01), start_timeout_s=20
    ),
}
CENTRES = np.random.default_rng(7).normal(0, 2.0, (3, 8))
# Less than the start_timeout_s of MASTERS: then members give up by themselves.
LEFT_WITHIN_S = 15
RETURNS_WITHIN_S = 2.0


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


@pytest.fixture(params=MASTERS)
def master(request):
    return MASTERS[request.param]


def blobs(examples, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, examples)
    features = CENTRES[classes] + rng.normal(0, 1.0, (examples, 8))
    labels = np.eye(3, dtype=np.float32)[classes]
    return DataSet((scale * features).astype(np.float32), labels)


def network(*first, dtype="float32"):
    return MultiLayerNetwork(
        MultiLayerConfiguration(
            layers=[
                *first,
                Dense(n_out=8, activation="relu"),
                Output(n_out=3, loss="mcxent"),
            ],
            input=FeedForward(size=8),
            updater={"type": "adam", "learning_rate": 0.02},
            seed=3,
            dtype=dtype,
        )
    ).init()


def left_on(client):
    """Plugins and tasks that are on the workers."""

    def look(dask_worker):
        plugins = {SESSIONS, BUS} & {*dask_worker.plugins}
        return [*plugins, *dask_worker.state.tasks]

    return [item for items in client.run(look).values() for item in items]


def assert_nothing_is_left(client):
    """Tasks end within a poll of their mailbox; they cannot be waited for."""
    assert_stays_empty(lambda: left_on(client), LEFT_WITHIN_S)


def test_a_fit_leaves_nothing_on_the_workers(client, master):
    DaskMultiLayer(client, network(), master).fit(blobs(100), batch_size=10)
    assert_nothing_is_left(client)


def test_a_second_fit_goes_on_where_the_first_ended(client, master):
    front = DaskMultiLayer(client, network(), master)
    front.fit(blobs(100), batch_size=10, epochs=2)
    front.fit(blobs(100), batch_size=10, epochs=2)
    assert front.network.epoch_count == 4


def test_workers_normalize_what_they_train_once(client, master):
    """One worker gives what one process gives, from data that nobody has normalized."""
    data = blobs(100, scale=1000.0)
    expected = local.fit(
        network(), data, batch_size=10, epochs=2, normalizer=NormalizerStandardize()
    )
    front = DaskMultiLayer(
        client, network(), master, normalizer=NormalizerStandardize()
    )
    kept = []
    front.fit(
        data,
        batch_size=10,
        epochs=2,
        workers=1,
        listeners=Epochs(lambda trained: kept.append(trained.normalizer.is_fitted)),
    )
    np.testing.assert_array_equal(front.network.params, expected.params)
    assert front.evaluate(data).stats() == expected.evaluate(data).stats()
    assert kept == [True, True]


def test_a_fit_of_normalized_data_keeps_the_normalizer(client, master):
    data = blobs(100, scale=1000.0)
    front = DaskMultiLayer(client, network(), master)
    front.normalizer = normalizer = NormalizerStandardize().fit(data)
    expected = local.fit(network(), normalizer.transform(data), batch_size=10)
    front.fit(normalizer.transform(data), batch_size=10, workers=1, normalizer=None)
    np.testing.assert_array_equal(front.network.params, expected.params)
    assert front.normalizer is normalizer


@pytest.mark.parametrize("moment", [FitStarted, Progress, EpochFinished])
def test_an_interrupt_leaves_nothing_on_the_workers(client, master, moment):
    def interrupt(event):
        if isinstance(event, moment):
            raise KeyboardInterrupt

    front = DaskMultiLayer(client, network(), master)
    with pytest.raises(KeyboardInterrupt):
        front.fit(blobs(2000), batch_size=4, epochs=3, listeners=Events(interrupt))
    assert_nothing_is_left(client)


def test_an_interrupt_before_the_members_are_ready_leaves_nothing(client, monkeypatch):
    def interrupt(driver):
        raise KeyboardInterrupt

    monkeypatch.setattr(Driver, "_await_ready", interrupt)
    with pytest.raises(KeyboardInterrupt):
        DaskMultiLayer(client, network()).fit(blobs(100), batch_size=10)
    assert_nothing_is_left(client)


def test_the_cluster_evaluates_between_two_epochs(client, master):
    """The members must not hold the only thread of their workers."""
    front = DaskMultiLayer(client, network(), master)
    seen = []
    front.fit(
        blobs(100),
        batch_size=10,
        epochs=2,
        listeners=Epochs(lambda _: seen.append(front.evaluate(blobs(50)).accuracy())),
    )
    assert len(seen) == 2


@pytest.mark.parametrize("own_client", [False, True])
def test_two_fits_at_once_do_not_disturb_each_other(cluster, client, own_client):
    with Client(cluster, set_as_default=False) as second:
        clients = [client, second if own_client else client]
        fronts = [
            DaskMultiLayer(each, network(), master)
            for each, master in zip(clients, MASTERS.values(), strict=True)
        ]
        threads = [
            threading.Thread(
                target=front.fit, args=(blobs(400),), kwargs={"batch_size": 8}
            )
            for front in fronts
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [front.last_fit.examples for front in fronts] == [400, 400]


class FitsInAThread(Listener):
    """Trains once more, in another thread, while the first epoch is trained."""

    def __init__(self, front):
        self.front, self.error = front, None

    def on_epoch_start(self, fit):
        thread = threading.Thread(target=self.fit)
        thread.start()
        thread.join()

    def fit(self):
        try:
            self.front.fit(blobs(200), batch_size=10)
        except NetworkBusyError as error:
            self.error = error


def test_a_front_end_trains_for_one_thread_at_a_time(client, master):
    front = DaskMultiLayer(client, network(), master)
    another = FitsInAThread(front)
    front.fit(blobs(200), batch_size=10, listeners=another)
    assert str(another.error).startswith("DaskMultiLayer: one thread at a time")
    assert front.network.epoch_count == 1
    front.fit(blobs(200), batch_size=10)
    assert front.network.epoch_count == 2


def test_an_error_of_a_member_reaches_the_caller_as_it_is(client, master, tmp_path):
    paths = [tmp_path / f"{number}.bin" for number in range(6)]
    for path, part in zip(paths, blobs(120).batches(20), strict=True):
        part.save(str(path))

    def take_away(event):
        if isinstance(event, FitStarted):
            for path in paths:
                path.unlink()

    front = DaskMultiLayer(client, network(), master)
    with pytest.raises(SourceNotFoundError, match=r"\.bin: the path must exist"):
        front.fit(str(tmp_path), batch_size=10, listeners=Events(take_away))
    assert_nothing_is_left(client)


def test_any_other_error_of_a_member_names_its_worker(client, master, monkeypatch):
    def fail(self, batch, **options):
        raise MemoryError("too large")

    monkeypatch.setattr(MultiLayerNetwork, "fit_minibatch", fail)
    front = DaskMultiLayer(client, network(), master)
    with pytest.raises(ClusterError, match=r"inproc://.* MemoryError\('too large'\)"):
        front.fit(blobs(40), batch_size=10)


def test_batch_normalization_of_small_numbers_is_trained(client, master):
    front = DaskMultiLayer(client, network(BatchNormalization()), master)
    front.fit(blobs(1000, scale=0.005), batch_size=10, epochs=2)
    test = blobs(300, seed=1, scale=0.005)
    assert front.network.evaluate(test).accuracy() > 0.9


def test_a_network_of_doubles_is_trained(client, master):
    front = DaskMultiLayer(client, network(dtype="float64"), master)
    front.fit(blobs(1000), batch_size=10, epochs=2)
    assert front.network.params.dtype == np.float64
    assert front.network.evaluate(blobs(300, seed=1)).accuracy() > 0.9


def test_a_graph_is_trained_on_several_inputs_and_outputs(client, master):
    graph = ComputationGraph(
        ComputationGraphConfiguration(
            inputs={"left": FeedForward(size=4), "right": FeedForward(size=4)},
            vertices={
                "both": {"type": "merge", "inputs": ["left", "right"]},
                "hidden": {"type": "dense", "n_out": 8, "inputs": ["both"]},
                "kind": {
                    "type": "output",
                    "n_out": 3,
                    "loss": "mcxent",
                    "inputs": ["hidden"],
                },
                "first": {
                    "type": "output",
                    "n_out": 1,
                    "loss": "mse",
                    "activation": "identity",
                    "inputs": ["hidden"],
                },
            },
            outputs=["kind", "first"],
            updater={"type": "adam", "learning_rate": 0.02},
            seed=3,
        )
    ).init()
    part = blobs(600)
    x = part.features
    data = MultiDataSet([x[:, :4], x[:, 4:]], [part.labels, x[:, :1]])
    before = graph.compute_score(data)
    DaskComputationGraph(client, graph, master).fit(data, batch_size=10, epochs=2)
    assert graph.compute_score(data) < before / 2


def test_every_example_is_trained_when_a_worker_is_retired(client, cluster, master):
    """One more worker comes for this test, and goes."""
    cluster.scale(3)
    client.wait_for_workers(3)
    extra = sorted(client.nthreads())[-1]
    state = SimpleNamespace(is_gone=False)

    def go(event):
        if isinstance(event, Progress) and not state.is_gone:
            state.is_gone = True
            client.retire_workers([extra], close_workers=True)

    front = DaskMultiLayer(client, network(), master)
    front.fit(blobs(4000), batch_size=4, epochs=2, listeners=Events(go))
    report = front.last_fit
    assert report.examples - report.repeated_examples == 8000
    cluster.scale(2)


def test_a_worker_without_the_gpu_it_is_to_use_is_named(client, master, monkeypatch):
    front = DaskMultiLayer(client, network(), master)
    monkeypatch.setitem(sys.modules, "cupy", None)
    with (
        living_on("cupy"),
        pytest.raises(
            MissingExtraError, match=r"Worker at inproc://.*: GPU: CuPy must be"
        ),
    ):
        front.fit(blobs(200), batch_size=10)


def test_workers_that_offer_a_resource_train_alone(
    client, cluster, master, monkeypatch
):
    """A worker more, which offers one GPU and comes for this test."""
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_GPU", "none")
    cluster.new_spec["options"]["resources"] = {"GPU": 1}
    try:
        cluster.scale(3)
        client.wait_for_workers(3)
        front = DaskMultiLayer(client, network(), master)
        front.fit(blobs(200), batch_size=10, resources={"GPU": 1})
        assert [epoch.workers for epoch in front.last_fit.epochs] == [1]
        # Nobody comes, however long it waits.
        hasty = DaskMultiLayer(client, network(), replace(master, start_timeout_s=1))
        with pytest.raises(OptionError, match="2 workers must offer"):
            hasty.fit(blobs(200), batch_size=10, workers=2, resources={"GPU": 1})
    finally:
        cluster.new_spec["options"]["resources"] = None
        cluster.scale(2)


@pytest.mark.parametrize("is_shared", [False, True], ids=["alone", "beside another"])
def test_a_member_that_returns_late_leaves_no_event(client, monkeypatch, is_shared):
    """It would say that it returned when nobody is there who drops that again."""
    run, is_over = session.Member.run, threading.Event()

    def run_long(member):
        trained = run(member)
        if member._rank == 1:
            is_over.wait(20)
        return trained

    monkeypatch.setattr(session.Member, "run", run_long)
    monkeypatch.setattr(driver, "RETURN_WAIT_S", 0.1)
    if is_shared:
        bus.install(client)
    front = DaskMultiLayer(client, network(), MASTERS["averaging"])
    front.fit(blobs(64), batch_size=8)
    is_over.set()
    deadline = time.monotonic() + RETURNS_WITHIN_S
    while time.monotonic() < deadline:
        assert topics_of_fits(client) == []
        time.sleep(0.01)
    bus.uninstall(client)


def topics_of_fits(client):
    def look(dask_scheduler):
        known = dask_scheduler._broker._topics
        return [topic for topic in known if topic.startswith("daskdl-")]

    return client.run_on_scheduler(look)
