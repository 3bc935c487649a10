"""Minibatches for DL4J from data on the workers of a cluster, here and on HDFS."""

import uuid
from operator import methodcaller

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from daskdl import DataSet, SourceOptions, export_datasets, open_source, read_text

N_ROWS = 50
FEATURES = np.arange(N_ROWS * 3, dtype="float32").reshape(N_ROWS, 3)
LABELS = np.eye(2, dtype="float32")[np.arange(N_ROWS) % 2]


@pytest.fixture(scope="module")
def client(hdfs):
    """Two workers, which have the configuration of the mini HDFS."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(params=["local", "hdfs"])
def url(request, hdfs, tmp_path):
    """A directory that is not there yet."""
    name = f"exported-{uuid.uuid4().hex}"
    return f"{tmp_path}/{name}" if request.param == "local" else f"{hdfs.uri}/{name}"


def check_exported(url, urls, *, batch_size=8):
    """Check that all rows are there in order, and nothing else."""
    assert read_text(f"{url}/paths/part-00000").split() == urls
    batches = [DataSet.load(one) for one in urls]
    assert {len(batch) for batch in batches[:-1]} == {batch_size}
    found = np.concatenate([batch.features for batch in batches])
    np.testing.assert_array_equal(found, FEATURES)
    found = np.concatenate([batch.labels for batch in batches])
    np.testing.assert_array_equal(found, LABELS)


def test_chunks_of_workers_are_exported(client, url):
    features = da.from_array(FEATURES, chunks=(13, 3)).persist()
    labels = da.from_array(LABELS, chunks=(13, 2)).persist()
    urls = export_datasets((features, labels), url, batch_size=8)
    check_exported(url, urls)


def test_frames_of_workers_are_exported(client, url):
    dd = pytest.importorskip("dask.dataframe", reason="dask[dataframe] is missing")
    pd = pytest.importorskip("pandas")
    columns = {f"x{i}": FEATURES[:, i] for i in range(3)}
    frame = pd.DataFrame({**columns, "label": LABELS.argmax(axis=1)})
    urls = export_datasets(
        dd.from_pandas(frame, npartitions=4).persist(),
        url,
        batch_size=8,
        features=tuple(columns),
        label="label",
        n_classes=2,
        dtype="float32",
    )
    check_exported(url, urls)


def test_a_worker_exports_what_the_others_read(client, url):
    """What is exported in a task is trained on by all."""
    made = client.submit(
        export_datasets, [DataSet(FEATURES, LABELS)], url, batch_size=8, pure=False
    )
    check_exported(url, made.result())
    partitions = open_source(f"{url}/data", SourceOptions()).partitions
    loaded = client.map(methodcaller("load"), partitions, pure=False)
    assert sum(map(len, client.gather(loaded))) == N_ROWS
