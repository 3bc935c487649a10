"""Large files of row groups and stripes come in blocks that are the file together."""

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

import daskdl as dl
from daskdl.data.blocks import BLOCK_BYTES
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import DataError
from daskdl_bridge.readers import orc as orc_reader
from daskdl_bridge.readers import parquet

OPTIONS = SourceOptions(
    features=("x0", "vector", "x1"), label="label", key="id", n_classes=3
)


@pytest.fixture
def table(rng):
    rows = 1000
    return pa.table(
        {
            "id": [f"row {number}" for number in range(rows)],
            "x0": rng.standard_normal(rows),
            "vector": list(rng.standard_normal((rows, 3))),
            "x1": rng.integers(0, 9, rows),
            "label": rng.integers(0, 3, rows),
        }
    )


@pytest.fixture(params=["paged", "by columns", "gathered", "small"])
def way(request, monkeypatch):
    """Make one of the ways in which a file is read that of small files."""
    block, pages = {
        "paged": (1000, 0),
        "by columns": (1000, 1 << 20),
        "gathered": (16_000, 0),
        "small": (1 << 20, 0),
    }[request.param]
    monkeypatch.setattr(parquet, "BLOCK_BYTES", block)
    monkeypatch.setattr(parquet, "_PAGES_BYTES", pages)
    return request.param


def read_by_pages(monkeypatch):
    monkeypatch.setattr(parquet, "BLOCK_BYTES", 4000)
    monkeypatch.setattr(parquet, "_PAGES_BYTES", 0)


def written(table, path, group):
    pq.write_table(table, path, row_group_size=group)
    return str(path)


def check_blocks(path, table, *, at_least):
    partitions = open_source(path, OPTIONS).partitions
    blocks = [block for one in partitions for block in one.load_blocks()]
    assert len(blocks) >= at_least
    whole = dl.DataSet.merge([one.load() for one in partitions])
    for name in ("features", "labels", "keys"):
        parts = np.concatenate([getattr(block, name) for block in blocks])
        np.testing.assert_array_equal(parts, getattr(whole, name))
    np.testing.assert_array_equal(whole.keys, table["id"].to_numpy())
    expected = np.column_stack(
        [table["x0"], np.array(table["vector"].to_pylist()), table["x1"]]
    )
    np.testing.assert_array_equal(whole.features, expected)


@pytest.mark.parametrize("group", [100, 1000])
def test_blocks_of_parquet_are_the_file(tmp_path, table, way, group):
    counts = {"paged": 4, "by columns": 1, "gathered": 1, "small": 1}
    path = written(table, tmp_path / "part.parquet", group)
    check_blocks(path, table, at_least=counts[way])


@pytest.mark.parametrize("groups", [1, 4])
def test_a_column_that_is_most_of_a_row_group_comes_in_small_blocks(tmp_path, groups):
    """Read as a whole, it would be in memory several times."""
    rows, width = 80_000, 100
    values = pa.array(np.arange(rows * width, dtype="float32"))
    column = pa.FixedSizeListArray.from_arrays(values, width).cast(
        pa.list_(pa.float32())
    )
    table = pa.table({"x": column, "label": np.zeros(rows, "int64")})
    path = written(table, tmp_path / "part.parquet", rows // groups)
    options = SourceOptions(features="x", label="label")
    (partition,) = open_source(path, options).partitions
    sizes = [block.nbytes for block in partition.load_blocks()]
    assert sum(sizes) >= values.nbytes
    assert max(sizes) <= 2 * BLOCK_BYTES


def test_blocks_of_orc_are_the_file(tmp_path, table, monkeypatch):
    path = tmp_path / "part.orc"
    # Stripes end where a batch of so many rows would pass their size.
    orc.write_table(table, path, stripe_size=1, batch_size=100)
    monkeypatch.setattr(orc_reader, "BLOCK_BYTES", 1)
    check_blocks(str(path), table, at_least=orc.ORCFile(path).nstripes)


def test_rows_are_numbered_over_all_blocks(tmp_path, table, way):
    numbers = table["x0"].to_pylist()
    numbers[777] = None
    at = table.schema.get_field_index("x0")
    path = written(table.set_column(at, "x0", [numbers]), tmp_path / "a.parquet", 100)
    partitions = open_source(path, OPTIONS).partitions
    with pytest.raises(DataError, match="777"):
        [block for one in partitions for block in one.load_blocks()]


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_fit_by_blocks_is_that_of_the_file(tmp_path, table, monkeypatch, shuffle):
    path = written(table, tmp_path / "part.parquet", 1000)

    def fitted():
        conf = dl.MultiLayerConfiguration(
            input=dl.FeedForward(5), layers=[dl.Output(3)], updater="adam"
        )
        network = dl.MultiLayerNetwork(conf)
        how = {"features": OPTIONS.features, "label": "label", "shuffle": shuffle}
        network.fit(path, epochs=3, batch_size=30, listeners=[], **how)
        return network.params

    whole = fitted().copy()
    read_by_pages(monkeypatch)
    np.testing.assert_array_equal(fitted(), whole)


def test_what_is_constant_in_the_path_is_a_column_of_each_block(
    tmp_path, table, monkeypatch
):
    folder = tmp_path / "kind=2"
    folder.mkdir()
    written(table.drop_columns(["x1"]), folder / "part.parquet", 1000)
    read_by_pages(monkeypatch)
    options = SourceOptions(features=("x0", "kind"), label="label")
    (partition,) = open_source(str(tmp_path), options).partitions
    blocks = list(partition.load_blocks())
    assert {value for block in blocks for value in block.features[:, 1]} == {2}


def test_predictions_and_evaluations_go_block_by_block(tmp_path, table, monkeypatch):
    path = written(table, tmp_path / "part.parquet", 1000)
    conf = dl.MultiLayerConfiguration(input=dl.FeedForward(5), layers=[dl.Output(3)])
    network = dl.MultiLayerNetwork(conf)
    how = {"features": OPTIONS.features, "label": "label"}
    whole = network.evaluate(path, **how)
    read_by_pages(monkeypatch)
    assert network.evaluate(path, **how).accuracy() == whole.accuracy()
