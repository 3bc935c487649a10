"""Parquet files: footers on the driver, row groups as partitions, errors."""

import numpy as np
import pyarrow as pa
import pytest

from daskdl.errors import ColumnError, DataError
from daskdl_bridge.readers import parquet
from tests.unit.bridge.table_files import open_path, write_parquet


@pytest.fixture
def small_limit(monkeypatch):
    monkeypatch.setattr(parquet, "_LARGE_BYTES", 1000)


def many_rows(path, n_rows=1000, per_group=100):
    values = np.arange(float(n_rows))
    columns = {"features": values, "label": values}
    return write_parquet(path, columns, row_group_size=per_group)


def test_large_file_makes_partitions_of_whole_row_groups(tmp_path, small_limit):
    source = open_path(many_rows(tmp_path / "x.parquet"))
    assert [p.rows for p in source.partitions] == [100] * 10
    assert source.partitions[3].name.endswith("x.parquet [3:4]")
    batch = source.partitions[3].load()
    np.testing.assert_array_equal(batch.features[:, 0], np.arange(300, 400))


def test_small_row_groups_go_together(tmp_path, small_limit):
    source = open_path(many_rows(tmp_path / "x.parquet", 60, 10))
    rows = [partition.rows for partition in source.partitions]
    assert sum(rows) == 60
    assert 1 < len(rows) < 6
    loaded = np.concatenate([p.load().features[:, 0] for p in source.partitions])
    np.testing.assert_array_equal(loaded, np.arange(60))


def test_file_below_the_limit_stays_whole(tmp_path):
    assert len(open_path(many_rows(tmp_path / "x.parquet")).partitions) == 1


def test_row_number_of_an_error_is_that_of_the_file(tmp_path, small_limit):
    values = np.arange(1000.0)
    values[333] = np.nan
    columns = {"features": values, "label": values}
    path = write_parquet(tmp_path / "x.parquet", columns, row_group_size=100)
    with pytest.raises(DataError, match=r"'features' .* row 333"):
        open_path(path).partitions[3].load()


def test_every_file_must_have_the_columns(tmp_path):
    write_parquet(tmp_path / "a.parquet", {"features": [1.0], "label": [1]})
    write_parquet(tmp_path / "b.parquet", {"features": [1.0], "labl": [1]})
    with pytest.raises(ColumnError, match=r"b\.parquet: column 'label' must exist"):
        open_path(str(tmp_path))


def test_every_file_must_have_the_types(tmp_path):
    write_parquet(tmp_path / "a.parquet", {"features": [1.0], "label": [1]})
    write_parquet(tmp_path / "b.parquet", {"features": ["x"], "label": [1]})
    with pytest.raises(ColumnError, match=r"b\.parquet: column 'features' .* string"):
        open_path(str(tmp_path))


def test_partition_columns_are_columns(tmp_path):
    for day in (3, 4):
        (tmp_path / f"day={day}").mkdir()
        write_parquet(tmp_path / f"day={day}" / "x.parquet", {"features": [1.0, 2.0]})
    partitions = open_path(str(tmp_path), label="day", key="day").partitions
    batches = [partition.load() for partition in partitions]
    assert [batch.labels.ravel().tolist() for batch in batches] == [[3, 3], [4, 4]]
    assert [batch.keys.tolist() for batch in batches] == [[3, 3], [4, 4]]


def test_file_without_rows_is_a_partition_of_no_rows(tmp_path):
    columns = {"features": pa.array([], pa.list_(pa.float32())), "label": pa.array([])}
    columns["label"] = columns["label"].cast(pa.int32())
    path = write_parquet(tmp_path / "x.parquet", columns)
    (partition,) = open_path(path, n_features=5, n_classes=3).partitions
    batch = partition.load()
    assert partition.rows == 0
    assert (batch.features.shape, batch.labels.shape) == ((0, 5), (0, 3))
