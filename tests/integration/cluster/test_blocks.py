"""Parts that are read in several blocks, on real workers."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import daskdl as dl
from daskdl.training.local import fit
from daskdl_bridge.readers import parquet

COLUMNS = ["x0", "x1", "x2"]
HOW = {"features": COLUMNS, "label": "label", "batch_size": 30}


@pytest.fixture
def folder(tmp_path):
    """Two parts of one row group each."""
    rng = np.random.default_rng(5)
    for number in range(2):
        x = rng.standard_normal((3, 1000))
        columns = dict(zip(COLUMNS, x, strict=True)) | {"label": (x[0] > 0) * 1}
        part = tmp_path / f"part-0000{number}-a.snappy.parquet"
        pq.write_table(pa.table(columns), part)
    (tmp_path / "_SUCCESS").touch()
    return str(tmp_path)


@pytest.fixture
def small_blocks(monkeypatch):
    """Let each block be of some 250 rows, here and on workers."""
    for name, nbytes in SIZES.items():
        monkeypatch.setattr(parquet, name, nbytes)
    return lambda client: client.run(set_sizes, SIZES)


SIZES = {"BLOCK_BYTES": 4000, "_PAGES_BYTES": 0}


def set_sizes(sizes):
    for name, nbytes in sizes.items():
        setattr(parquet, name, nbytes)


def network():
    conf = dl.MultiLayerConfiguration(
        input=dl.FeedForward(3), layers=[dl.Output(2)], updater="adam"
    )
    return dl.MultiLayerNetwork(conf)


def test_one_worker_computes_with_blocks_what_one_process_does(
    cluster_of, folder, small_blocks
):
    client = cluster_of(1)
    small_blocks(client)
    alone = fit(network(), folder, epochs=2, shuffle=True, **HOW)
    front = dl.DaskMultiLayer(client, network(), dl.SharedTrainingMaster())
    front.fit(folder, epochs=2, shuffle=True, **HOW)
    np.testing.assert_array_equal(front.network.params, alone.params)
    # What fits is kept from the first epoch on.
    assert front.last_fit.loads == 2


def test_two_workers_evaluate_every_row_of_all_blocks_once(
    cluster_of, folder, small_blocks
):
    client = cluster_of(2)
    small_blocks(client)
    front = dl.DaskMultiLayer(client, network(), dl.SharedTrainingMaster())
    evaluation = front.evaluate(folder, **HOW)
    alone = network().evaluate(folder, **HOW)
    assert evaluation.confusion_to_string() == alone.confusion_to_string()
