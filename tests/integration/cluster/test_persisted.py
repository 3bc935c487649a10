"""Collections that are persisted on workers are read from there."""

import time
from functools import partial
from pathlib import Path

import dask.array as da
import dask.bag as db
import numpy as np
import pyarrow.parquet as pq
import pytest
from distributed import wait

import daskdl as dl
from daskdl.data.sources import persisted
from daskdl.errors import DataError

N_ROWS, N_CHUNKS = 60, 6
CONF = dl.MultiLayerConfiguration(
    input=dl.FeedForward(2), layers=[dl.Output(3)], updater=dl.Sgd(0.1), seed=5
)
HOW = {"epochs": 2, "batch_size": 10}


def counted(chunk, path):
    """Return a chunk, and leave a trace that it was computed."""
    with Path(path).open("a") as file:
        file.write("computed\n")
    return chunk


@pytest.fixture(scope="module")
def client(module_cluster_of):
    return module_cluster_of(2)


@pytest.fixture
def trace(tmp_path):
    return tmp_path / "trace"


@pytest.fixture
def columns(rng):
    features = rng.standard_normal((N_ROWS, 2)).astype(np.float32)
    return {
        "a": features[:, 0],
        "b": features[:, 1],
        "label": (features[:, 0] > features[:, 1]).astype(int),
        "id": np.arange(N_ROWS),
    }


def frame_of(columns, trace):
    pd = pytest.importorskip("pandas", reason="data frames need dask[dataframe]")
    frames = pytest.importorskip("dask.dataframe", reason="needs dask[dataframe]")
    made = frames.from_pandas(pd.DataFrame(columns), npartitions=N_CHUNKS)
    return made.map_partitions(partial(counted, path=str(trace)), meta=made._meta)


def arrays_of(columns, trace):
    features = np.stack([columns["a"], columns["b"]], axis=1)
    x = da.from_array(features, chunks=(N_ROWS // N_CHUNKS, 2))
    y = da.from_array(columns["label"], chunks=N_ROWS // N_CHUNKS)
    seen = partial(counted, path=str(trace))
    return x.map_blocks(seen, dtype=x.dtype, meta=x._meta), y


def rows_of(columns, trace):
    names = list(columns)
    cells = zip(*(columns[name].tolist() for name in names), strict=True)
    rows = [dict(zip(names, row, strict=True)) for row in cells]
    bag = db.from_sequence(rows, npartitions=N_CHUNKS)
    return bag.map_partitions(partial(counted, path=str(trace)))


def examples_of(columns, trace):
    features = np.stack([columns["a"], columns["b"]], axis=1)
    examples = list(zip(features, columns["label"].tolist(), strict=True))
    bag = db.from_sequence(examples, npartitions=N_CHUNKS)
    return bag.map_partitions(partial(counted, path=str(trace)))


NAMED = {"features": ("a", "b"), "label": "label"}
FORMS = {
    "frame": (frame_of, NAMED),
    "arrays": (arrays_of, {}),
    "bag of rows": (rows_of, NAMED),
    "bag of examples": (examples_of, {}),
}
MORE = {
    "frame": lambda data: data.assign(a=data.a * 2),
    "arrays": lambda data: (data[0] * 2, data[1]),
    "bag of rows": lambda data: data.map(lambda row: {**row, "a": row["a"] * 2}),
    "bag of examples": lambda data: data.map(lambda one: (one[0] * 2, one[1])),
}


def persist(client, collection, trace):
    """Return the collection on the workers, when all is there."""
    there = client.persist(collection)
    there = tuple(there) if isinstance(collection, tuple) else there
    with client.as_current():
        wait(there)
    assert len(client.has_what()) == 2
    assert all(client.has_what().values()), "one worker has nothing"
    trace.write_text("")
    return there


@pytest.fixture
def nothing_here(monkeypatch):
    """Refuse to bring a chunk to the client."""

    def refuse(_):
        raise AssertionError("a chunk came to the client")

    monkeypatch.setattr(persisted.PersistedValue, "load", refuse)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usefixtures("nothing_here")
def test_a_fit_computes_nothing_again(client, columns, trace, form):
    made, named = FORMS[form]
    data = persist(client, made(columns, trace), trace)
    network = dl.MultiLayerNetwork(CONF).init()
    before = network.params.copy()
    dl.DaskMultiLayer(client, network).fit(data, **named, **HOW)
    assert trace.read_text() == ""
    assert network.last_fit.examples == HOW["epochs"] * N_ROWS
    assert not np.array_equal(network.params, before)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_computed_of_them_is_computed_where_it_is_read(
    client, columns, trace, form
):
    made, named = FORMS[form]
    data = persist(client, made(columns, trace), trace)
    more = MORE[form](data)
    network = dl.MultiLayerNetwork(CONF).init()
    dl.DaskMultiLayer(client, network).fit(more, **named, **HOW)
    assert trace.read_text() == ""


@pytest.mark.usefixtures("nothing_here")
def test_predictions_are_made_of_them(client, columns, trace, tmp_path):
    data = persist(client, frame_of(columns, trace), trace)
    front = dl.DaskMultiLayer(client, dl.MultiLayerNetwork(CONF).init())
    output = str(tmp_path / "out")
    front.feed_forward_with_key(
        data, key="id", features=("a", "b"), output=output, keep="label"
    )
    table = pq.read_table(output)
    assert table["id"].to_pylist() == list(range(N_ROWS))
    assert table["label"].to_pylist() == columns["label"].tolist()
    assert trace.read_text() == ""


@pytest.mark.usefixtures("nothing_here")
def test_pairs_of_a_bag_are_predicted_with_their_keys(client, columns, trace):
    features = np.stack([columns["a"], columns["b"]], axis=1)
    pairs = list(zip(columns["id"].tolist(), features, strict=True))
    bag = db.from_sequence(pairs, npartitions=N_CHUNKS)
    seen = bag.map_partitions(partial(counted, path=str(trace)))
    data = persist(client, seen, trace)
    front = dl.DaskMultiLayer(client, dl.MultiLayerNetwork(CONF).init())
    found = front.feed_forward_with_key(data)
    expected = front.network.output(features)
    assert [key for key, _ in found] == list(range(N_ROWS))
    assert np.allclose([one for _, one in found], expected, atol=1e-6)
    assert trace.read_text() == ""


def test_one_process_takes_them_to_itself(client, columns, trace):
    data = persist(client, frame_of(columns, trace), trace)
    network = dl.MultiLayerNetwork(CONF).init()
    network.fit(data, **NAMED, **HOW)
    assert network.last_fit.examples == HOW["epochs"] * N_ROWS
    assert trace.read_text() == ""


def test_another_cluster_refuses_them(client, cluster_of, columns, trace):
    data = persist(client, frame_of(columns, trace), trace)
    front = dl.DaskMultiLayer(cluster_of(1), dl.MultiLayerNetwork(CONF).init())
    with pytest.raises(DataError, match=r"persisted chunk .* must stay on the workers"):
        front.fit(data, **NAMED, **HOW)


def test_tasks_that_wait_for_a_chunk_leave_it_their_threads(client):
    n_workers = len(client.nthreads())
    # Until then the scheduler knows all tasks, and starts those that wait first.
    before = client.map(time.sleep, [1.0] * n_workers, pure=False)
    chunk = client.submit(tuple, "chunk", key="lost-chunk", priority=-10)
    reads = [persisted.PersistedValue(chunk.key, None).load] * 2 * n_workers
    waiting = [client.submit(read, pure=False) for read in reads]
    assert client.gather(waiting) == [tuple("chunk")] * len(waiting)
    assert client.gather(before) == [None] * n_workers
