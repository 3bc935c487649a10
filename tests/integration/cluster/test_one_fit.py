"""A fit is the same in one process and on a cluster: data, listeners, what is told."""

import gc

import dask.array as da
import numpy as np
import pyarrow as pa
import pytest
from distributed import Client, LocalCluster

import daskdl as dl
from daskdl.errors import OptionError
from daskdl.nn.fitting.events import EpochFinished, FitFinished, FitStarted
from daskdl.nn.network import Network

COLUMNS = {"features": [f"f{i}" for i in range(4)], "label": "label"}
HOW = {"epochs": 2, "batch_size": 10}
CONF = dl.MultiLayerConfiguration(
    input=dl.FeedForward(4),
    layers=[dl.Dense(8, activation="relu"), dl.Output(3)],
    updater=dl.Adam(0.02),
)


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster, set_as_default=False) as opened,
    ):
        yield opened


@pytest.fixture
def front(client):
    return dl.DaskMultiLayer(client, CONF)


@pytest.fixture
def data(rng):
    features = rng.standard_normal((64, 4)).astype(np.float32)
    return dl.DataSet(features, (features[:, 0] > features[:, 1]).astype(int))


def table_of(data):
    columns = dict(zip(COLUMNS["features"], data.features.T, strict=True))
    return pa.table({**columns, "label": data.labels})


def frame_of(data):
    pytest.importorskip("pandas")
    return table_of(data).to_pandas()


def dask_frame_of(data):
    frames = pytest.importorskip("dask.dataframe")
    return frames.from_pandas(frame_of(data), npartitions=2)


FORMS = {
    "pair": lambda data: ((data.features, np.eye(3)[data.labels]), {}),
    "numbers of classes": lambda data: ((data.features, data.labels), {}),
    "pairs": lambda data: (
        [(part.features, part.labels) for part in data.batches(10)],
        {},
    ),
    "Arrow": lambda data: (table_of(data), COLUMNS),
    "pandas": lambda data: (frame_of(data), COLUMNS),
    "Dask frame": lambda data: (dask_frame_of(data), COLUMNS),
    "Dask arrays": lambda data: (
        (da.from_array(data.features, 20), da.from_array(data.labels, 20)),
        {},
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_one_worker_gives_the_bits_of_one_process(front, data, form):
    expected = dl.MultiLayerNetwork(CONF).fit(data, **HOW).params
    given, options = FORMS[form](data)
    alone = dl.MultiLayerNetwork(CONF).fit(given, **HOW, **options).params
    np.testing.assert_array_equal(alone, expected)
    shared = front.fit(given, **HOW, **options).params
    np.testing.assert_array_equal(shared, expected)


class Noting(dl.Listener):
    """Notes what it hears, and that the network is the one of the moment."""

    def __init__(self, data):
        self.told, self.events = [], []
        self._data = data

    def on_fit_start(self, fit):
        self.told.append(("start", fit.epochs))

    def on_epoch_start(self, fit):
        self.told.append(("epoch", fit.epoch))

    def iteration_done(self, fit):
        self.iterations = fit.iteration

    def on_epoch_end(self, fit):
        # First of all: what is evaluated is the network of this moment all the same.
        evaluated = fit.evaluate(self._data).stats()
        assert fit.network.epoch_count == fit.epoch
        assert evaluated == fit.network.evaluate(self._data).stats()
        fit.report_values(norm=np.linalg.norm(fit.network.params))
        self.told.append(("end", fit.epoch, fit.examples, fit.iteration))

    def on_fit_end(self, fit):
        self.told.append(("finished", fit.network.epoch_count))

    def on_event(self, event):
        self.events.append(type(event))


def test_a_listener_hears_the_same(front, data):
    alone, shared = Noting(data), Noting(data)
    network = dl.MultiLayerNetwork(CONF).fit(data, **HOW, listeners=alone)
    front.fit(data, **HOW, listeners=shared)
    assert shared.told == alone.told
    assert shared.told[0] == ("start", 2)
    assert shared.told[-1] == ("finished", 2)
    assert shared.iterations == alone.iterations == 14
    values = [epoch.values for epoch in front.last_fit.epochs]
    assert values == [epoch.values for epoch in network.last_fit.epochs]
    scores = [epoch.score for epoch in network.last_fit.epochs]
    assert [e.score for e in front.last_fit.epochs] == pytest.approx(scores)
    moments = [FitStarted, EpochFinished, EpochFinished, FitFinished]
    assert [kind for kind in shared.events if kind in moments] == moments


def test_a_listener_ends_the_fit_of_a_cluster_behind_an_epoch(front, data):
    class Once(dl.Listener):
        def iteration_done(self, fit):
            fit.stop()

    front.fit(data, epochs=5, batch_size=10, listeners=Once())
    assert front.network.epoch_count == 1
    assert front.last_fit.examples == 64


def test_what_a_listener_raises_loses_nothing_that_was_trained(front, data):
    class Breaks(dl.Listener):
        def on_epoch_end(self, fit):
            if fit.epoch == 2:
                raise KeyError(fit.epoch)

    with pytest.raises(KeyError):
        front.fit(data, epochs=3, batch_size=10, listeners=Breaks())
    alone = dl.MultiLayerNetwork(CONF).fit(data, **HOW)
    np.testing.assert_array_equal(front.network.params, alone.params)
    assert front.network.epoch_count == 2


def test_what_is_no_listener_is_refused(front, data):
    with pytest.raises(OptionError, match="DaskMultiLayer: listeners must be objects"):
        front.fit(data, **HOW, listeners=print)


def test_a_network_that_is_not_asked_for_is_not_brought(client, data, monkeypatch):
    """Unless it is to go on from there when all workers went."""
    front = dl.DaskMultiLayer(client, CONF, dl.SharedTrainingMaster(rejoin_timeout_s=0))

    def never(self):
        raise AssertionError("brought")

    monkeypatch.setattr("daskdl.cluster.session_members.SessionMembers.snapshot", never)
    front.fit(data, **HOW, listeners=dl.Listener())
    assert front.network.epoch_count == 2


def test_residuals_of_two_workers_are_measured_for_each_encoded_message(data):
    # Each trains what it was dealt, however late the other is.
    master = dl.SharedTrainingMaster(
        encoding_debug_mode=True, warm_up=2, dealing="fixed"
    )
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        front = dl.DaskMultiLayer(client, CONF, master)
        network = front.fit(data, epochs=4, batch_size=8)
    report = front.last_fit
    told = {worker: [] for worker in report.workers}
    for event in report.residuals:
        told[event.worker].append(event.iteration)
        assert event.length == network.params.size
        assert event.percentiles["99.99"] <= event.largest
    # Of 16 each the first two are dense.
    for iterations in told.values():
        assert iterations == sorted(set(iterations))
        assert set(iterations) <= set(range(2, 17))
        assert len(iterations) > 8


def kept_networks():
    """Return how many networks a process has, rings of references included."""
    return sum(isinstance(one, Network) for one in gc.get_objects())


@pytest.mark.parametrize(
    "master", [dl.SharedTrainingMaster(), dl.ParameterAveragingTrainingMaster()]
)
def test_workers_let_go_of_a_network_without_being_cleaned_up(cluster_of, data, master):
    """Its vectors would stay until Python looks for rings: twenty fits, or more."""
    client = cluster_of(2)
    front = dl.DaskMultiLayer(client, CONF, master)
    front.fit(data, **HOW)
    client.run(gc.collect)
    client.run(gc.disable)
    before = client.run(kept_networks)
    for _ in range(3):
        front.fit(data, **HOW)
    assert client.run(kept_networks) == before
