"""Of what a streaming query wrote, exactly the committed files are read."""

import json
import shutil

import pytest

from daskdl.errors import DataError
from daskdl_bridge.listing import list_parts
from tests.unit.bridge.table_samples import TABLES, features_of

FOUND = json.loads((TABLES / "files.json").read_text())["streams"]


def path_of(name):
    return TABLES / "streams" / name


@pytest.fixture
def sink(tmp_path):
    return shutil.copytree(path_of("compacted"), tmp_path / "moved=1")


@pytest.mark.parametrize("name", FOUND)
def test_rows_are_those_that_spark_reads(name):
    found = features_of(path_of(name), ("x", "half"))
    assert found == {row[0]: row[1:] for row in FOUND[name]["rows"]}


@pytest.mark.parametrize("name", FOUND)
def test_files_of_batches_that_failed_are_left_out(name):
    assert len(list_parts(path_of(name))) == FOUND[name]["files"] - 2


def test_partitions_have_the_values_that_were_written():
    parts = list_parts(path_of("partitioned"))
    values = [(part.values["place"], part.values["half"]) for part in parts]
    assert sorted(values, key=str) == 4 * [("a b/c%d=e", 0)] + 4 * [(None, 1)]


def test_files_are_in_the_order_of_the_log(sink):
    ids = list(features_of(sink, "x"))
    assert ids == sorted(ids)


def test_deleted_files_are_left_out(sink):
    log = sink / "_spark_metadata" / "6"
    entry = json.loads(log.read_text().splitlines()[1])
    log.write_text("v1\n" + json.dumps({**entry, "action": "delete"}) + "\n")
    assert sorted(features_of(sink, "x")) == list(range(24))


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("6", "v2\n{}", r"_spark_metadata/6: must be a log of v1 .* got 'v2'"),
        ("6", "", r"must be a log of v1 of a streaming query, got ''"),
        ("6", "v1\n{", r"each line must be an entry with path, size and action"),
        ("6", 'v1\n{"path": "x"}', r"each line must be an entry with path, size and"),
        ("8", "v1\n", r"must hold each batch .* up to 8, 7 is missing"),
    ],
)
def test_log_that_is_not_whole_is_refused(sink, file, text, message):
    (sink / "_spark_metadata" / file).write_text(text)
    with pytest.raises(DataError, match=message):
        list_parts(sink)


def test_committed_file_that_is_gone_is_named(sink):
    place = list_parts(sink)[0].name
    (sink / place).unlink()
    with pytest.raises(DataError, match=rf"{place}: must be there, since the log"):
        list_parts(sink)


def test_committed_file_of_another_size_is_named(sink):
    place = list_parts(sink)[0].name
    with (sink / place).open("ab") as stream:
        stream.write(b"x")
    with pytest.raises(DataError, match=rf"{place}: must have \d+ bytes as the log"):
        list_parts(sink)


def test_log_without_files_is_named(tmp_path):
    (tmp_path / "_spark_metadata").mkdir()
    (tmp_path / "_spark_metadata" / "0").write_text("v1\n")
    with pytest.raises(DataError, match="must hold data files, the log of the stream"):
        list_parts(tmp_path)


@pytest.mark.parametrize("below", ["place=*", "place=__HIVE_DEFAULT_PARTITION__"])
def test_what_is_inside_is_refused_with_the_root(below):
    with pytest.raises(DataError, match="streams/partitioned: must hold plain files"):
        list_parts(f"{path_of('partitioned')}/{below}", require_success=False)
