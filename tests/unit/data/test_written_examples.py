"""Examples written as Parquet: what is read again is what was there."""

from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq
import pytest

import daskdl
from daskdl import DataSet, MultiDataSet, SourceOptions, export_parquet
from daskdl.data import written_examples
from daskdl.data.sources.partition import Partition, Source
from daskdl.errors import DataError, OptionError, OutputExistsError
from tests.unit.bridge.table_files import write_parquet

STORED = {"features": "features", "label": "label"}


def dataset(n_rows=4, start=0):
    x = np.arange(start, start + n_rows, dtype="float32")
    return DataSet(
        np.stack([x, -x], axis=1), np.eye(2, dtype="float32")[x.astype(int) % 2]
    )


def read_again(url, **options):
    source = daskdl.open_source(str(url), SourceOptions(**STORED, **options))
    return DataSet.merge([one.load() for one in source.partitions])


def test_what_is_written_is_read_again(tmp_path):
    data = [dataset(3), dataset(5, start=3)]
    paths = export_parquet(data, tmp_path / "out")
    assert len(paths) == 2
    loaded = read_again(tmp_path / "out")
    np.testing.assert_array_equal(loaded.features, dataset(8).features)
    np.testing.assert_array_equal(loaded.labels, dataset(8).labels)


def test_images_are_flat_and_take_their_shape_again(tmp_path):
    images = np.arange(24, dtype="float32").reshape(2, 3, 2, 2)
    export_parquet(DataSet(images, [[1.5], [2.5]]), tmp_path / "out")
    loaded = read_again(tmp_path / "out", feature_shape=(3, 2, 2))
    np.testing.assert_array_equal(loaded.features, images)
    np.testing.assert_array_equal(loaded.labels, [[1.5], [2.5]])


def test_keys_keep_their_type(tmp_path):
    columns = {"x": [0.0, 1.0], "y": [0, 1], "id": [7, 8]}
    path = write_parquet(tmp_path / "x.parquet", columns)
    (written,) = export_parquet(
        path, tmp_path / "out", features="x", label="y", key="id", n_classes=2
    )
    table = pq.read_table(written)
    assert table["id"].to_pylist() == [7, 8]
    assert str(table.schema.field("id").type) == "int64"


def test_keys_in_memory_have_a_column(tmp_path):
    data = DataSet([[0.0], [1.0]], [[0], [1]], keys=["a", "b"])
    (written,) = export_parquet(data, tmp_path / "out")
    assert pq.read_table(written)["key"].to_pylist() == ["a", "b"]


def test_a_split_or_a_shuffle_is_written(tmp_path):
    first, _ = daskdl.split(dataset(100), (0.5, 0.5), seed=3)
    mixed = daskdl.shuffled(first, tmp_path / "mixed", seed=3, bucket_bytes=160)
    export_parquet(mixed, tmp_path / "out")
    expected = DataSet.merge([one.load() for one in mixed.partitions])
    np.testing.assert_array_equal(
        read_again(tmp_path / "out").features, expected.features
    )


@dataclass(frozen=True)
class Blocks(Partition):
    """A partition of blocks of two rows."""

    name: str = "blocks"
    rows: None = None

    def load(self):
        return dataset(10)

    def load_blocks(self):
        yield from self.load().batches(2)


def test_a_part_is_written_when_enough_is_held(tmp_path, monkeypatch):
    monkeypatch.setattr(written_examples, "_PART_BYTES", dataset(4).nbytes)
    paths = export_parquet(Source("blocks", (Blocks(),)), tmp_path / "out")
    assert [pq.read_metadata(path).num_rows for path in paths] == [4, 4, 2]
    np.testing.assert_array_equal(
        read_again(tmp_path / "out").features, dataset(10).features
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            MultiDataSet([[[0.0]]], [[[0.0]]]),
            "one input and output, got a MultiDataSet",
        ),
        (DataSet([[0.0]], [[0.0]], labels_mask=[[1.0]]), "without masks, got some"),
    ],
    ids=["multi", "masks"],
)
def test_what_has_no_place_in_a_table_is_refused(tmp_path, data, message):
    with pytest.raises(DataError, match=message):
        export_parquet(data, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("key", ["label", ("a", "b")])
def test_keys_must_have_a_column_of_their_own(tmp_path, key):
    columns = {"x": [0.0], "y": [0], "label": [1], "a": [1], "b": [1]}
    path = write_parquet(tmp_path / "x.parquet", columns)
    with pytest.raises(OptionError, match="export_parquet: key must be one column of"):
        export_parquet(path, tmp_path / "out", features="x", label="y", key=key)


def test_nothing_is_written_over_unless_asked(tmp_path):
    export_parquet(dataset(2), tmp_path / "out")
    with pytest.raises(OutputExistsError):
        export_parquet(dataset(4), tmp_path / "out")
    assert len(read_again(tmp_path / "out").features) == 2
    export_parquet(dataset(4), tmp_path / "out", overwrite=True)
    assert len(read_again(tmp_path / "out").features) == 4
