"""Iceberg tables give the rows that Spark reads of each snapshot."""

import gzip
import json
import pickle
import shutil
import sys
from dataclasses import replace
from datetime import datetime, timezone

import fsspec
import fsspec.implementations.local
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.summary import summarize_data
from daskdl.errors import (
    ColumnError,
    DataError,
    MissingExtraError,
    OptionError,
    StorageError,
)
from tests.unit.bridge.table_files import open_path
from tests.unit.bridge.table_samples import (
    MANIFEST,
    TABLES,
    column_of,
    features_of,
    rows_of,
    told_rows,
)

pytest.importorskip("pyiceberg", reason="needs pyiceberg")

SAMPLES = {
    name: found
    for name, found in MANIFEST["iceberg"].items()
    if name not in ("avro", "orc")
}
SNAPSHOTS = [(name, found) for name in SAMPLES for found in SAMPLES[name][:-1]]
LAST = SAMPLES["partitioned"][-1]
PREDICT = {"features": "id", "require_labels": False}


def path_of(name):
    return str(TABLES / "iceberg" / "db" / name)


@pytest.mark.parametrize(("name", "found"), SNAPSHOTS)
def test_rows_are_those_that_spark_reads_of_a_snapshot(name, found):
    columns = ["id", "day"]
    rows = rows_of(path_of(name), columns, snapshot_id=found["snapshot_id"])
    assert rows == told_rows(found, columns)


@pytest.mark.parametrize("name", SAMPLES)
def test_all_columns_of_the_current_snapshot_are_sparks(name):
    found = SAMPLES[name][-1]
    columns = [column for column, _ in found["columns"]]
    assert rows_of(path_of(name), columns) == told_rows(found, columns)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_snapshot_is_found_by_its_time(name):
    for found in SAMPLES[name][:-1]:
        at = datetime.fromisoformat(found["timestamp"]).replace(tzinfo=timezone.utc)
        assert rows_of(path_of(name), ["id"], timestamp=at) == told_rows(found, ["id"])


def test_time_before_the_first_snapshot_is_refused():
    with pytest.raises(OptionError, match=r"not be before the table's first snapshot"):
        open_path(path_of("changed"), timestamp="2000-01-01T00:00:00Z", **PREDICT)


@pytest.mark.parametrize("name", ["partitioned", "merge_on_read", "vectors", "widened"])
def test_features_come_from_files(name):
    width = "width" if name == "merge_on_read" else "x"
    columns = ["id", "label", width, "half"]
    found = features_of(path_of(name), tuple(columns))
    told = {row[0]: row for row in told_rows(SAMPLES[name][-1], columns)}
    assert found == told


def test_partitions_travel_to_workers():
    partitions = open_path(path_of("merge_on_read"), **PREDICT).partitions
    there = pickle.loads(pickle.dumps(partitions))
    found = [one.load().features.tolist() for one in there]
    assert found == [one.load().features.tolist() for one in partitions]


def test_table_in_another_store_names_its_own_files():
    fs = fsspec.filesystem("memory")
    fs.put(path_of("merge_on_read"), "/iceberg-of-a-test/t", recursive=True)
    try:
        rows = rows_of("memory://iceberg-of-a-test/t", ["id", "name"])
    finally:
        fs.rm("/iceberg-of-a-test", recursive=True)
    assert rows == told_rows(SAMPLES["merge_on_read"][-1], ["id", "name"])


@pytest.mark.parametrize("form", ["avro", "orc"])
def test_data_files_of_other_forms_are_refused_by_name(form):
    with pytest.raises(
        DataError, match=rf"must be Parquet to be read, got {form.upper()}"
    ):
        open_path(path_of(form), **PREDICT)


def test_summary_tells_columns_and_rows_that_count():
    summary = summarize_data(path_of("merge_on_read"), SourceOptions())
    assert summary.columns["pair"] == "list<element: float>"
    rows = len(SAMPLES["merge_on_read"][-1]["rows"])
    assert sum(n for _, n in summary.parts) == rows


def test_feature_that_old_files_lack_is_refused_with_the_file():
    with pytest.raises(ColumnError, match=r"parquet: column 'extra' must hold a value"):
        open_path(path_of("merge_on_read"), features="extra", require_labels=False)


def test_hint_may_be_older_than_the_newest_metadata(tmp_path):
    shutil.copytree(path_of("changed"), tmp_path / "t")
    hint = tmp_path / "t" / "metadata" / "version-hint.text"
    hint.write_text("2")
    assert len(rows_of(tmp_path / "t", ["id"])) == len(SAMPLES["changed"][-1]["rows"])
    hint.unlink()
    assert len(rows_of(tmp_path / "t", ["id"])) == len(SAMPLES["changed"][-1]["rows"])
    hint.write_text("77")
    with pytest.raises(DataError, match="must name a metadata file that is there"):
        open_path(tmp_path / "t", **PREDICT)


def test_table_of_a_catalog_is_opened_by_its_metadata_file(tmp_path):
    """Its files alone do not tell which one the catalog holds for the current one."""
    shutil.copytree(path_of("widened"), tmp_path / "t")
    metadata = tmp_path / "t" / "metadata"
    files = sorted(metadata.glob("v*.metadata.json"))
    for file in files:
        file.rename(metadata / f"0000{file.name[1]}-6f0e.metadata.json")
    (metadata / "version-hint.text").unlink()
    with pytest.raises(DataError, match=r"one that a catalog keeps.* Give the path of"):
        open_path(tmp_path / "t", **PREDICT)
    newest = metadata / f"0000{len(files)}-6f0e.metadata.json"
    assert rows_of(newest, ["id"]) == told_rows(SAMPLES["widened"][-1], ["id"])


def test_metadata_may_be_compressed(tmp_path):
    shutil.copytree(path_of("widened"), tmp_path / "t")
    for file in (tmp_path / "t" / "metadata").glob("v*.metadata.json"):
        packed = file.with_name(file.name.replace(".metadata", ".gz.metadata"))
        packed.write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    rows = rows_of(tmp_path / "t", ["id"])
    assert rows == told_rows(SAMPLES["widened"][-1], ["id"])


def test_default_of_a_column_stands_in_old_files(tmp_path):
    shutil.copytree(path_of("vectors"), tmp_path / "t")
    metadata = max((tmp_path / "t" / "metadata").glob("v?.metadata.json"))
    table = json.loads(metadata.read_text())
    for schema in table["schemas"]:
        for field in schema["fields"]:
            if field["name"] == "extra":
                field |= {"initial-default": 2.5, "write-default": 2.5}
    metadata.write_text(json.dumps(table))
    told = told_rows(SAMPLES["vectors"][-1], ["id", "extra"])
    rows = rows_of(tmp_path / "t", ["id", "extra"])
    files_with_extra = {row[0] for row in told if row[1] is not None}
    assert {row[0] for row in rows if row[1] != 2.5} == files_with_extra


def test_metadata_that_are_damaged_are_named(tmp_path):
    shutil.copytree(path_of("widened"), tmp_path / "t")
    for file in (tmp_path / "t" / "metadata").glob("snap-*.avro"):
        file.write_bytes(b"Obj")
    with pytest.raises(DataError, match="must be an Iceberg table that pyiceberg can"):
        open_path(tmp_path / "t", **PREDICT)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"snapshot_id": 5}, r"snapshot_id must be one that the table has, got 5"),
        ({"version": 1}, r"version=1"),
        ({"merge_schema": True}, r"merge_schema=True"),
        ({"format": "delta"}, r"format must be 'iceberg' or None, got 'delta'"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        open_path(path_of("changed"), **PREDICT, **options)


@pytest.mark.parametrize("below", ["data", "data/half=0", "data/*", "metadata"])
def test_what_is_inside_of_a_table_is_refused_with_its_root(below):
    message = r"db/merge_on_read: must hold plain files.*Give that path by itself"
    for require_success in (True, False):
        with pytest.raises(DataError, match=message):
            open_path(
                f"{path_of('merge_on_read')}/{below}",
                require_success=require_success,
                **PREDICT,
            )


def test_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyiceberg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'daskdl\[iceberg\]'"):
        column_of(path_of("changed"), "id")


def imported(tmp_path, *, drop, has_names):
    """Make a table of a sample whose files have no ids of columns, as Hive's have."""
    shutil.copytree(path_of("partitioned"), tmp_path / "t")
    metadata = max((tmp_path / "t" / "metadata").glob("v?.metadata.json"))
    table = json.loads(metadata.read_text())
    current = next(
        one
        for one in table["schemas"]
        if one["schema-id"] == table["current-schema-id"]
    )
    names = [{"field-id": f["id"], "names": [f["name"]]} for f in current["fields"]]
    names[3]["fields"] = [
        {"field-id": current["fields"][3]["type"]["element-id"], "names": ["element"]}
    ]
    if has_names:
        table["properties"]["schema.name-mapping.default"] = json.dumps(names)
    metadata.write_text(json.dumps(table))
    for file in (tmp_path / "t" / "data").rglob("*.parquet"):
        # A size of its own is no change before the file is read.
        stored = pq.ParquetFile(file).read().drop_columns(drop)
        plain = pa.schema([(field.name, field.type) for field in stored.schema])
        pq.write_table(pa.table(stored.columns, schema=_without_ids(plain)), file)
    return tmp_path / "t"


def _without_ids(schema):
    return pa.schema(
        pa.field(one.name, pa.list_(pa.float32()) if one.name == "pair" else one.type)
        for one in schema
    )


def test_files_without_ids_of_columns_are_refused(tmp_path):
    path = imported(tmp_path, drop=[], has_names=False)
    with pytest.raises(DataError, match="must be a data file whose columns pyiceberg"):
        open_path(path, **PREDICT)


def test_names_stand_for_ids_where_the_table_says_so(tmp_path):
    path = imported(tmp_path, drop=["half"], has_names=True)
    source = open_path(path, features=("id", "half"), require_labels=False)
    told = dict(told_rows(LAST, ["id", "half"]))
    for partition in source.partitions:
        # Without the size, which the test has changed.
        read = replace(partition, part=replace(partition.part, fingerprint=None))
        features = read.load().features
        assert [told[x] for x in features[:, 0]] == features[:, 1].tolist()


def test_store_that_breaks_off_is_no_damaged_table(monkeypatch):
    def broken(self, path, *args, **options):
        raise ConnectionResetError("nobody there")

    monkeypatch.setattr(fsspec.implementations.local.LocalFileSystem, "open", broken)
    with pytest.raises(StorageError, match="the store must give it, it does not"):
        open_path(path_of("changed"), **PREDICT)


def test_equality_deletes_are_refused_by_name(monkeypatch):
    from pyiceberg.manifest import DataFile, DataFileContent

    stored = DataFile.content

    def content(self):
        found = stored.fget(self)
        is_position = found == DataFileContent.POSITION_DELETES
        return DataFileContent.EQUALITY_DELETES if is_position else found

    monkeypatch.setattr(DataFile, "content", property(content))
    with pytest.raises(DataError, match=r"merge_on_read: must .* equality deletes"):
        open_path(path_of("merge_on_read"), **PREDICT)
