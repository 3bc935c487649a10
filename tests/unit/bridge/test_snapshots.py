"""Partitions of a snapshot, whatever the format of the table."""

from datetime import datetime, timezone

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ChangedFileError, ColumnError, CorruptFileError, DataError
from daskdl_bridge.readers import parquet
from daskdl_bridge.tables.deleted_rows import DeletedRows
from daskdl_bridge.tables.partitions import partitions_of
from daskdl_bridge.tables.snapshot import DataFile, Snapshot

TYPES = {"x": pa.float64(), "k": pa.int64()}
OPTIONS = SourceOptions(features="x", key="k", require_labels=False)


def names_as_they_are(schema):
    return {name: name for name in TYPES if name in schema.names}


def data_file(path, columns, deleted=None, **options):
    pq.write_table(pa.table(columns), path, **options)
    return DataFile(
        url=str(path),
        size=path.stat().st_size,
        find_columns=names_as_they_are,
        deleted=deleted,
    )


def snapshot_of(*files, types=TYPES):
    return Snapshot(url="/t", types=types, files=files)


def test_deleted_rows_survive_being_packed(rng):
    flags = rng.random(1003) < 0.1
    rows = DeletedRows.of(flags)
    np.testing.assert_array_equal(rows.flags(), flags)
    np.testing.assert_array_equal(rows.between(17, 600).flags(), flags[17:600])
    np.testing.assert_array_equal(rows.of_file(1010).flags()[:1003], flags)
    assert not rows.of_file(1010).flags()[1003:].any()
    assert rows.count == np.count_nonzero(flags)


def test_million_rows_take_at_most_a_bit_each(rng):
    worst = DeletedRows.of(rng.random(1_000_000) < 0.5)
    assert len(worst.bits) < 126_000
    sparse = DeletedRows.of(np.arange(1_000_000) == 5)
    assert len(sparse.bits) < 2_000


def test_pieces_of_a_large_file_leave_out_their_own_rows(tmp_path, monkeypatch, rng):
    monkeypatch.setattr(parquet, "_LARGE_BYTES", 1)
    is_deleted = rng.random(95) < 0.3
    is_deleted[10:20] = True
    columns = {"x": np.arange(95.0), "k": np.arange(95)}
    rows = DeletedRows.of(is_deleted)
    file = data_file(tmp_path / "a.parquet", columns, rows, row_group_size=10)
    partitions = partitions_of(snapshot_of(file), OPTIONS)
    loaded = [one.load() for one in partitions]
    assert len(partitions) == 10
    assert [one.rows for one in partitions] == [one.num_examples for one in loaded]
    kept = np.flatnonzero(~is_deleted)
    assert np.concatenate([one.keys for one in loaded]).tolist() == kept.tolist()
    found = [one.features[:, 0] for one in loaded if one.num_examples]
    np.testing.assert_array_equal(np.concatenate(found), kept)


def test_blocks_leave_out_their_own_rows(tmp_path, monkeypatch, rng):
    monkeypatch.setattr(parquet, "BLOCK_BYTES", 64)
    is_deleted = rng.random(95) < 0.3
    is_deleted[10:20] = True
    columns = {"x": np.arange(95.0), "k": np.arange(95)}
    rows = DeletedRows.of(is_deleted)
    file = data_file(tmp_path / "a.parquet", columns, rows, row_group_size=10)
    (partition,) = partitions_of(snapshot_of(file), OPTIONS)
    kept = np.flatnonzero(~is_deleted).tolist()
    keys = [block.keys for block in partition.load_blocks()]
    assert len(keys) == 9
    assert np.concatenate(keys).tolist() == kept
    assert partition.load().features[:, 0].tolist() == kept


def test_file_whose_rows_are_all_deleted_is_empty(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "BLOCK_BYTES", 64)
    columns = {"x": np.arange(20.0), "k": np.arange(20)}
    rows = DeletedRows.of(np.ones(20, bool))
    file = data_file(tmp_path / "a.parquet", columns, rows, row_group_size=10)
    (partition,) = partitions_of(snapshot_of(file), OPTIONS)
    assert partition.rows == 0
    assert partition.load().num_examples == 0


def test_rows_in_messages_are_counted_among_those_that_count(tmp_path):
    columns = {"x": [0.0, 1.0, 2.0, None], "k": [0, 1, 2, 3]}
    rows = DeletedRows.of(np.array([True, False, False, False]))
    file = data_file(tmp_path / "a.parquet", columns, rows)
    (partition,) = partitions_of(snapshot_of(file), OPTIONS)
    with pytest.raises(DataError, match="row 2 is null"):
        partition.load()


def test_more_deleted_rows_than_there_are_is_another_file(tmp_path):
    rows = DeletedRows.of(np.zeros(9, bool))
    file = data_file(tmp_path / "a.parquet", {"x": [1.0], "k": [1]}, rows)
    with pytest.raises(DataError, match=r"must hold the 9 rows of which .* got 1"):
        partitions_of(snapshot_of(file), OPTIONS)


def test_snapshot_without_files_has_no_examples():
    with pytest.raises(DataError, match="/t: must hold at least one example"):
        partitions_of(snapshot_of(), OPTIONS)


def test_key_of_another_type_is_cast_as_the_table_has_it(tmp_path):
    file = data_file(
        tmp_path / "a.parquet", {"x": [1.0], "k": pa.array([3], pa.int16())}
    )
    (partition,) = partitions_of(snapshot_of(file), OPTIONS)
    keys = partition.stored_keys(partition.load().keys)
    assert keys.type == pa.int64()
    assert keys.to_pylist() == [3]


def test_int96_holds_instants(tmp_path):
    time = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=timezone.utc)
    columns = {"x": [1.0], "k": pa.array([time], pa.timestamp("us", "UTC"))}
    file = data_file(
        tmp_path / "a.parquet", columns, use_deprecated_int96_timestamps=True
    )
    types = {"x": pa.float64(), "k": pa.timestamp("us", "UTC")}
    (partition,) = partitions_of(snapshot_of(file, types=types), OPTIONS)
    keys = partition.stored_keys(partition.load().keys)
    assert keys.to_pylist() == [time]


def test_value_that_does_not_fit_the_table_is_refused(tmp_path):
    file = data_file(tmp_path / "a.parquet", {"x": [1.0], "k": ["three"]})
    (partition,) = partitions_of(snapshot_of(file), OPTIONS)
    with pytest.raises(ColumnError, match=r"a\.parquet: column 'k' must hold int64 as"):
        partition.load()


def test_key_of_structs_that_are_others_is_refused(tmp_path):
    file = data_file(tmp_path / "a.parquet", {"x": [1.0], "k": [{"old": 1}]})
    types = {"x": pa.float64(), "k": pa.struct([("new", pa.int64())])}
    with pytest.raises(ColumnError, match="column 'k' must hold struct<new: int64>"):
        partitions_of(snapshot_of(file, types=types), OPTIONS)


@pytest.mark.parametrize(
    ("data", "error"), [(b"short", CorruptFileError), (None, ChangedFileError)]
)
def test_file_that_is_another_than_the_tables_is_named(tmp_path, data, error):
    path = tmp_path / "a.parquet"
    file = data_file(path, {"x": [1.0], "k": [1]})
    if data is not None:
        path.write_bytes(data)
    else:
        data_file(path, {"x": [1.0, 2.0, 3.0], "k": [1, 2, 3]})
    with pytest.raises(error, match=r"a\.parquet"):
        _ = [one.load() for one in partitions_of(snapshot_of(file), OPTIONS)]
