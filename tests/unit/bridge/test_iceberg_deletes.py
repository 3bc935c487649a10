"""Rows that files of deletes of an Iceberg table name."""

from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import CorruptFileError, DataError
from daskdl_bridge.tables.iceberg_deletes import deleted_rows
from daskdl_bridge.tables.iceberg_storage import IcebergStorage


@pytest.fixture
def root(tmp_path):
    return tmp_path


def deletes(root, name, pairs, file_format="PARQUET"):
    paths, positions = zip(*pairs, strict=True)
    pq.write_table(pa.table({"file_path": paths, "pos": positions}), root / name)
    return SimpleNamespace(file_path=f"s3://b/t/{name}", file_format=file_format)


def task(path, rows, *files):
    file = SimpleNamespace(file_path=path, record_count=rows)
    return SimpleNamespace(file=file, delete_files=files)


def positions(root, *tasks):
    io = IcebergStorage("s3://b/t", str(root), {})
    found = deleted_rows(tasks, io, SourceOptions())
    return [None if one is None else one.flags().nonzero()[0].tolist() for one in found]


def test_rows_of_all_files_of_deletes_count_together(root):
    one = deletes(root, "1.parquet", [("a", 1), ("a", 4), ("b", 0)])
    two = deletes(root, "2.parquet", [("a", 4), ("a", 2)])
    found = positions(root, task("a", 6, one, two), task("b", 3, one), task("c", 2))
    assert found == [[1, 2, 4], [0], None]


def test_file_of_deletes_counts_only_for_the_tasks_that_it_is_planned_for(root):
    """What is younger than it keeps its rows."""
    one = deletes(root, "1.parquet", [("a", 1), ("b", 0)])
    assert positions(root, task("a", 2, one), task("b", 3)) == [[1], None]


def test_file_that_is_not_sorted_names_the_same_rows(root):
    one = deletes(root, "1.parquet", [("b", 2), ("a", 1), ("b", 0), ("a", 0)])
    found = positions(root, task("a", 2, one), task("b", 3, one))
    assert found == [[0, 1], [0, 2]]


@pytest.mark.parametrize("position", [3, -1])
def test_row_that_is_not_in_the_file_is_refused(root, position):
    one = deletes(root, "1.parquet", [("a", position)])
    with pytest.raises(DataError, match="must lie within the 3 rows of a, got"):
        positions(root, task("a", 3, one))


def test_other_forms_are_refused_by_name(root):
    one = deletes(root, "1.parquet", [("a", 0)], "ORC")
    with pytest.raises(DataError, match=r"must be Parquet or Puffin .* ORC"):
        positions(root, task("a", 3, one))


@pytest.mark.parametrize("file_format", ["PARQUET", "PUFFIN"])
def test_damaged_file_is_named(root, file_format):
    pytest.importorskip("pyiceberg", reason="needs pyiceberg")
    one = deletes(root, "1.parquet", [("a", 0)], file_format)
    (root / "1.parquet").write_bytes(b"PFA1 and no more")
    with pytest.raises(CorruptFileError, match=r"1\.parquet: must be a whole P"):
        positions(root, task("a", 3, one))


@pytest.mark.parametrize(
    ("location", "named", "place"),
    [
        ("s3://b/t", "s3://b/t/data/a", "/here/data/a"),
        ("s3://b/t/", "s3://b/t/data/a", "/here/data/a"),
        ("s3://b/t", "s3://b/table/a", "s3://b/table/a"),
        ("file:/w/t", "file:///w/t/data/a b", "/here/data/a b"),
        ("file:///w/t", "/w/t/data/a", "/here/data/a"),
        ("/w/t", "file:/w/t/data/a", "/here/data/a"),
        ("/w/t", "file:/w/other/a", "/w/other/a"),
        ("hdfs://n:8020/t", "hdfs://n:8020/t/a%20b", "/here/a%20b"),
        ("hdfs://n:8020/t", "hdfs://m/t/a", "hdfs://m/t/a"),
    ],
)
def test_files_below_the_tables_location_are_where_the_table_is(location, named, place):
    assert IcebergStorage(location, "/here", {}).place(named) == place
