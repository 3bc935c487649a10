"""Delta tables give the rows that Spark reads of each version."""

import json
import os
import pickle
import shutil
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import fsspec
import pyarrow as pa
import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.summary import summarize_data
from daskdl.errors import (
    ColumnError,
    DataError,
    MissingExtraError,
    OptionError,
    SourceNotFoundError,
)
from daskdl_bridge.tables import delta_log, delta_vacuum
from tests.unit.bridge.table_files import open_path
from tests.unit.bridge.table_samples import (
    MANIFEST,
    TABLES,
    column_of,
    features_of,
    rows_of,
    told_rows,
)

deltalake = pytest.importorskip("deltalake", reason="needs deltalake")

SAMPLES = MANIFEST["delta"]
VERSIONS = [(name, found) for name in SAMPLES for found in SAMPLES[name]]
PREDICT = {"features": "id", "require_labels": False}


def path_of(name):
    return str(TABLES / "delta" / name)


@pytest.mark.parametrize(
    ("name", "found"), VERSIONS, ids=[f"{n}-{f['version']}" for n, f in VERSIONS]
)
def test_rows_are_those_that_spark_reads_of_a_version(name, found):
    columns = ["id", "day"]
    rows = rows_of(path_of(name), columns, version=found["version"])
    assert rows == told_rows(found, columns)


@pytest.mark.parametrize("name", SAMPLES)
def test_all_columns_of_the_newest_version_are_sparks(name):
    found = SAMPLES[name][-1]
    columns = [column for column, _ in found["columns"]]
    assert rows_of(path_of(name), columns) == told_rows(found, columns)


@pytest.mark.parametrize("name", ["partitioned", "vectors", "all_of_it", "widened"])
def test_features_come_from_files_and_their_partitions(name):
    width = "width" if name == "all_of_it" else "x"
    columns = ["id", "label", width, "half"]
    found = features_of(path_of(name), tuple(columns))
    told = {row[0]: row for row in told_rows(SAMPLES[name][-1], columns)}
    assert found == told


@pytest.mark.parametrize("version", [0, 1, 2, 3, None])
def test_vectors_and_names_of_classes_of_spark_ml_are_known(version):
    source = open_path(path_of("of_ml"), key="id", n_classes=2, version=version)
    assert source.class_names == ("cat", "dog")
    assert len(source.partitions) == (4 if version is None else version + 1)
    for partition in source.partitions:
        batch = partition.load()
        ids = batch.keys.tolist()
        assert batch.features.tolist() == [[float(n), float(n % 2)] for n in ids]
        assert batch.labels[:, 1].tolist() == [float(n % 3 == 0) for n in ids]


def test_vectors_are_known_where_only_a_checkpoint_tells_of_them(tmp_path):
    shutil.copytree(path_of("of_ml"), tmp_path / "t")
    (tmp_path / "t" / "_delta_log" / f"{0:020}.json").unlink()
    source = open_path(tmp_path / "t", n_classes=2)
    assert sum(partition.rows for partition in source.partitions) == 24


def test_partitions_travel_to_workers():
    partitions = open_path(path_of("vectors"), **PREDICT).partitions
    there = pickle.loads(pickle.dumps(partitions))
    found = [one.load().features.tolist() for one in there]
    assert found == [one.load().features.tolist() for one in partitions]


def test_versions_are_found_by_the_times_of_their_files(tmp_path):
    shutil.copytree(path_of("changed"), tmp_path / "t")
    start = datetime(2026, 1, 1, tzinfo=timezone.utc)
    for found in SAMPLES["changed"]:
        hour = (start + timedelta(hours=found["version"])).timestamp()
        log = tmp_path / "t" / "_delta_log" / f"{found['version']:020}.json"
        os.utime(log, (hour, hour))
    for found in SAMPLES["changed"][:-1]:
        time = start + timedelta(hours=found["version"], minutes=30)
        rows = rows_of(tmp_path / "t", ["id"], timestamp=time.isoformat())
        assert rows == told_rows(found, ["id"])
    for time in ("2025-12-31T23:59:59+00:00", "2026-01-02T00:00:00Z"):
        with pytest.raises(OptionError, match=r"timestamp must lie between .* got 202"):
            open_path(tmp_path / "t", timestamp=time, **PREDICT)


def test_times_inside_of_commits_are_refused(tmp_path):
    shutil.copytree(path_of("widened"), tmp_path / "t")
    log = tmp_path / "t" / "_delta_log" / f"{0:020}.json"
    enabled = '"configuration":{"delta.enableInCommitTimestamps":"true",'
    log.write_text(log.read_text().replace('"configuration":{', enabled))
    for file in sorted((tmp_path / "t" / "_delta_log").glob("*[12].json")):
        file.write_text(file.read_text().replace('"configuration":{', enabled))
    with pytest.raises(OptionError, match=r"enableInCommitTimestamps\. Give the ver"):
        open_path(tmp_path / "t", timestamp="2026-01-01T00:00:00Z", **PREDICT)


def test_a_version_is_as_late_as_the_one_before_it(tmp_path):
    """Files that were copied in another order have other times."""
    shutil.copytree(path_of("widened"), tmp_path / "t")
    for version, hour in enumerate([3, 1, 2]):
        log = tmp_path / "t" / "_delta_log" / f"{version:020}.json"
        os.utime(log, (hour * 3600, hour * 3600))
    at = datetime.fromtimestamp(3 * 3600 + 0.001, timezone.utc)
    assert len(rows_of(tmp_path / "t", ["id"], timestamp=at)) == 20


def test_log_of_another_store_is_copied():
    fs = fsspec.filesystem("memory")
    fs.put(path_of("all_of_it"), "/delta-of-a-test/t", recursive=True)
    try:
        rows = rows_of("memory://delta-of-a-test/t", ["id", "name"])
        older = rows_of("memory://delta-of-a-test/t", ["id"], version=3)
    finally:
        fs.rm("/delta-of-a-test", recursive=True)
    assert rows == told_rows(SAMPLES["all_of_it"][-1], ["id", "name"])
    assert older == told_rows(SAMPLES["all_of_it"][3], ["id"])


@pytest.mark.parametrize("name", ["a b é", "a%20b"])
def test_name_of_the_directory_does_not_matter(tmp_path, name):
    shutil.copytree(path_of("escaped"), tmp_path / name)
    rows = rows_of(tmp_path / name, ["id", "place", "moment"])
    assert rows == told_rows(SAMPLES["escaped"][-1], ["id", "place", "moment"])


def test_feature_that_old_files_lack_is_refused_with_the_file():
    with pytest.raises(ColumnError, match=r"parquet: column 'extra' must hold a value"):
        open_path(path_of("vectors"), features="extra", require_labels=False)


def test_summary_tells_columns_and_rows_that_count():
    summary = summarize_data(path_of("partitioned"), SourceOptions())
    assert summary.columns["pair"] == "list<element: float>"
    assert summary.partition_columns == ("half", "day")
    assert sum(rows for _, rows in summary.parts) == 31


@pytest.mark.parametrize("features", [["newThing"], ["columnMapping", "variantType"]])
def test_feature_of_a_table_that_is_not_honoured_is_named(tmp_path, features):
    shutil.copytree(path_of("vectors"), tmp_path / "t")
    log = tmp_path / "t" / "_delta_log" / "00000000000000000000.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "protocol" in line:
            line["protocol"]["readerFeatures"] += features
            line["protocol"]["writerFeatures"] += features
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(DataError, match=f"{features[-1]}"):
        open_path(tmp_path / "t", **PREDICT)


def test_deletion_vector_that_is_gone_is_no_table_without_deletes(tmp_path):
    shutil.copytree(path_of("vectors"), tmp_path / "t")
    for file in (tmp_path / "t").glob("deletion_vector_*"):
        file.unlink()
    with pytest.raises(DataError, match="must be a Delta table that deltalake can"):
        open_path(tmp_path / "t", **PREDICT)


def test_columns_of_another_case_are_found_as_by_spark(tmp_path):
    shutil.copytree(path_of("widened"), tmp_path / "t")
    log = tmp_path / "t" / "_delta_log"
    for file in log.glob("*.json"):
        file.write_text(file.read_text().replace(r"\"name\":\"day", r"\"name\":\"DAY"))
    told = told_rows(SAMPLES["widened"][-1], ["id", "day"])
    assert rows_of(tmp_path / "t", ["id", "DAY"]) == told


@pytest.mark.parametrize("mode", ["id", "name"])
def test_column_mapping_without_what_it_maps_to(tmp_path, mode):
    """Files of before the mapping have names, which are the physical ones, no ids."""
    shutil.copytree(path_of("changed"), tmp_path / "t")
    log = tmp_path / "t" / "_delta_log"
    for file in log.glob("*.checkpoint.parquet"):
        file.unlink()
    (log / "_last_checkpoint").unlink()
    for file in sorted(log.glob("*.json")):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        for line in lines:
            _map(line, mode)
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = told_rows(SAMPLES["changed"][-1], ["id", "day"])
    if mode == "name":
        assert rows_of(tmp_path / "t", ["id", "when"]) == told
        return
    with pytest.raises(DataError, match="must have ids of columns, as the table's"):
        open_path(tmp_path / "t", **PREDICT)


def _map(line, mode):
    if "protocol" in line:
        line["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
    if "metaData" not in line:
        return
    schema = json.loads(line["metaData"]["schemaString"])
    for number, field in enumerate(schema["fields"]):
        field["metadata"] = {
            "delta.columnMapping.id": number + 1,
            "delta.columnMapping.physicalName": field["name"],
        }
        field["name"] = "when" if field["name"] == "day" else field["name"]
    line["metaData"]["schemaString"] = json.dumps(schema)
    line["metaData"]["configuration"] = {"delta.columnMapping.mode": mode}


def test_log_that_is_damaged_is_named(tmp_path):
    shutil.copytree(path_of("vectors"), tmp_path / "t")
    (tmp_path / "t" / "_delta_log" / "00000000000000000003.json").write_text("{")
    with pytest.raises(DataError, match="must be a Delta table that deltalake can"):
        open_path(tmp_path / "t", **PREDICT)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"version": 99},
            r"version must be at most 7, the newest of the table, got 99",
        ),
        ({"snapshot_id": 1}, r"snapshot_id=1"),
        ({"merge_schema": True}, r"merge_schema=True"),
        ({"format": "parquet"}, r"format must be 'delta' or None, got 'parquet'"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        open_path(path_of("changed"), **PREDICT, **options)


@pytest.mark.parametrize("below", ["half=0", "half=0/day=2026-01-01", "half=*", "*"])
def test_what_is_inside_of_a_table_is_refused_with_its_root(below):
    message = r"delta/partitioned: must hold plain files.*Give that path by itself"
    for require_success in (True, False):
        with pytest.raises(DataError, match=message):
            open_path(
                f"{path_of('partitioned')}/{below}",
                require_success=require_success,
                **PREDICT,
            )


def test_table_among_several_paths_is_refused(tmp_path):
    with pytest.raises(DataError, match="Give that path by itself"):
        open_path([path_of("changed"), path_of("vectors")], **PREDICT)


def test_plain_directory_is_no_table(tmp_path):
    with pytest.raises(DataError, match="must be the root of a table to be read as"):
        open_path(tmp_path, format="delta", **PREDICT)


def test_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'daskdl\[delta\]'"):
        column_of(path_of("changed"), "id")


@pytest.fixture
def vacuumed(tmp_path):
    """Return a table whose first two versions have lost their files."""
    path = str(tmp_path / "table")
    for number in range(4):
        rows = pa.table({"id": [float(number)]})
        mode = "overwrite" if number == 2 else "append"
        deltalake.write_deltalake(path, rows, mode=mode)
    deltalake.DeltaTable(path).vacuum(
        retention_hours=0, enforce_retention_duration=False, dry_run=False
    )
    return path


@pytest.mark.parametrize("store", ["", "memory"])
def test_a_version_that_was_vacuumed_is_named_with_those_that_can_be_read(
    vacuumed, store
):
    path = vacuumed
    if store:
        path = "memory://vacuumed"
        fsspec.filesystem("memory").put(vacuumed, "/vacuumed", recursive=True)
    with pytest.raises(
        SourceNotFoundError,
        match=r"version 1 must still have .*'part-.*VACUUM.* read: 2 to 5\.$",
    ):
        open_path(path, version=1, **PREDICT)
    assert len(open_path(path, version=2, **PREDICT).partitions) == 1


@pytest.fixture
def cleaned_up(tmp_path):
    """Return a table of 8 versions, whose log begins with 3 and a checkpoint of 5."""
    path = str(tmp_path / "table")
    for number in range(8):
        deltalake.write_deltalake(
            path, pa.table({"id": [float(number)]}), mode="append"
        )
        if number == 5:
            deltalake.DeltaTable(path).create_checkpoint()
    log = tmp_path / "table" / "_delta_log"
    for number in range(8):
        commit = log / f"{number:020}.json"
        os.utime(commit, (1000 * number, 1000 * number))
        if number < 3:
            commit.unlink()
    return path


@pytest.mark.parametrize("store", ["", "memory"])
@pytest.mark.parametrize("version", [1, 4])
def test_a_version_that_the_log_lost_is_named_with_those_that_can_be_read(
    cleaned_up, store, version
):
    path = cleaned_up
    if store:
        path = f"memory://cleaned-up-{version}"
        fsspec.filesystem("memory").put(
            cleaned_up, f"/cleaned-up-{version}", recursive=True
        )
    message = rf"version {version} must still be in .* can be read: 5 to 7\.$"
    with pytest.raises(OptionError, match=message):
        open_path(path, version=version, **PREDICT)
    assert len(open_path(path, version=5, **PREDICT).partitions) == 6


def test_times_of_versions_that_the_log_lost_are_refused(cleaned_up):
    def opened(seconds):
        time = datetime.fromtimestamp(seconds, timezone.utc)
        return open_path(cleaned_up, timestamp=time, **PREDICT)

    with pytest.raises(
        OptionError, match=r"log has all of, 1970-01-01T01:23:20\+00:00"
    ):
        opened(4500)
    assert len(opened(5500).partitions) == 6
    assert len(opened(6500).partitions) == 7


@pytest.mark.parametrize(
    ("names", "whole"),
    [
        (["0.json", "1.json", "3.json"], {0, 1}),
        (["3.json", "4.checkpoint.parquet", "4.json", "5.json"], {4, 5}),
        (["4.checkpoint.1.2.parquet", "4.json", "5.json"], set()),
        (["4.checkpoint.1.2.parquet", "4.checkpoint.2.2.parquet", "5.json"], {4, 5}),
        (["4.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json", "5.json"], {4, 5}),
        (["_last_checkpoint", "4.crc", "4.5.compacted.json"], set()),
    ],
)
def test_log_has_versions_from_its_start_and_from_checkpoints(names, whole):
    def padded(name):
        version, *more = name.split(".")
        digits = [one.zfill(10) if one.isdigit() else one for one in more]
        start = version.zfill(20) if version.isdigit() else version
        return ".".join([start, *digits])

    assert delta_log._whole_versions(map(padded, names)) == whole


def test_time_of_a_log_without_a_whole_version_is_refused(cleaned_up):
    for path in Path(cleaned_up, "_delta_log").glob("*.checkpoint.*"):
        path.unlink()
    with pytest.raises(OptionError, match="timestamp must go with a log that has its"):
        delta_log.version_at(
            fsspec.filesystem("file"), cleaned_up, datetime.now(timezone.utc)
        )


@pytest.mark.parametrize("column", ["kind", "image"])
def test_texts_and_bytes_are_read_of_a_table_that_delta_rs_changed(tmp_path, column):
    path = str(tmp_path / "table")
    rows = {"id": [0.0, 1.0], "kind": ["a", "b"], "image": [b"\1", b"\2"]}
    deltalake.write_deltalake(path, pa.table(rows))
    deltalake.DeltaTable(path).delete("id = 0")
    roles = {"kind": {"features": "id", "label": "kind", "class_names": ["a", "b"]}}
    options = roles.get(column, {"features": column, "require_labels": False})
    (partition,) = open_path(path, **options).partitions
    assert partition.load().num_examples == 1


def test_a_file_that_is_vacuumed_after_opening_is_told_of_vacuum(tmp_path):
    path = str(tmp_path / "table")
    deltalake.write_deltalake(path, pa.table({"id": [1.0]}))
    (partition,) = open_path(path, **PREDICT).partitions
    deltalake.write_deltalake(path, pa.table({"id": [2.0]}), mode="overwrite")
    deltalake.DeltaTable(path).vacuum(
        retention_hours=0, enforce_retention_duration=False, dry_run=False
    )
    expected = r"part-.*\.parquet: must stay .* it is gone, as VACUUM"
    with pytest.raises(SourceNotFoundError, match=expected):
        partition.load()


def test_ranges_of_versions():
    assert delta_vacuum._ranges([0, 2, 3, 4, 8, 9]) == "0, 2 to 4, 8 to 9"
