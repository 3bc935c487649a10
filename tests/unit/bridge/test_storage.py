"""Paths and URLs: which file system, which files."""

import sys
from pathlib import Path

import pytest
from distributed.protocol.pickle import dumps, loads

from daskdl.errors import MissingExtraError, OptionError, SourceNotFoundError
from daskdl_bridge.errors import (
    StorageError,
    StorageTimeoutError,
    StorageUnreachableError,
)
from daskdl_bridge.storage import (
    expand_locations,
    filesystem,
    is_hidden,
    join_url,
    open_input,
)


def paths_of(locations):
    return [path for _, path, _ in locations]


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_plain_paths_and_file_urls_are_local(tmp_path, prefix):
    fs, path = filesystem(f"{prefix}{tmp_path}/a::b#c?d")
    assert "file" in fs.protocol
    assert path == f"{tmp_path}/a::b#c?d"


def test_relative_path_becomes_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert filesystem(Path("x"))[1] == str(tmp_path / "x")


def test_time_limit_is_not_handed_to_other_stores():
    fs, _ = filesystem("memory://x", {"timeout_s": 3})
    assert "timeout_s" not in fs.storage_options


def test_unknown_scheme_is_refused_with_the_nearest_name():
    with pytest.raises(OptionError, match=r"got 'hdsf'. Did you mean 'hdfs'\?"):
        filesystem("hdsf://host/x")


@pytest.mark.parametrize("url", ["hdfs://ns/x", "viewfs://ns/x"])
def test_missing_hdfs_package_is_named_with_the_command(url, monkeypatch):
    monkeypatch.delitem(sys.modules, "daskdl_bridge.hdfs", raising=False)
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'daskdl\[hdfs\]'"):
        filesystem(url)


def test_s3a_is_the_store_that_fsspec_calls_s3(monkeypatch):
    asked = []

    def url_to_fs(url, **options):
        asked.append((url, options))
        return None, "bucket/x"

    monkeypatch.setattr("fsspec.core.url_to_fs", url_to_fs)
    filesystem("s3a://bucket/x", {"anon": True})
    assert asked == [("s3://bucket/x", {"anon": True})]


def test_missing_package_of_another_store_is_a_missing_extra(monkeypatch):
    def url_to_fs(url, **options):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("fsspec.core.url_to_fs", url_to_fs)
    with pytest.raises(MissingExtraError, match=r"s3://b/x: Install s3fs"):
        filesystem("s3://b/x")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.csv", ["a.csv", "b.csv"]),
        ("?.csv", ["a.csv", "b.csv"]),
        ("[a]*", ["a.csv"]),
        ("{b,a}.csv", ["b.csv", "a.csv"]),
        ("{a,b}.{csv,json}", ["a.csv", "b.csv", "b.json"]),
        ("*", ["a.csv", "b.csv", "b.json"]),
    ],
)
def test_globs_match_as_in_hadoop(tmp_path, pattern, expected):
    for name in ("a.csv", "b.csv", "b.json", "_SUCCESS", ".b.csv.crc"):
        (tmp_path / name).touch()
    if pattern == "{a,b}.{csv,json}":
        (tmp_path / "a.json").touch()
        expected = ["a.csv", "a.json", "b.csv", "b.json"]
    found = paths_of(expand_locations(f"{tmp_path}/{pattern}"))
    assert found == [f"{tmp_path}/{name}" for name in expected]


def test_matches_of_a_pattern_are_told_from_names(tmp_path):
    (tmp_path / "a.csv").touch()
    found = expand_locations([f"{tmp_path}/*.csv", f"{tmp_path}/a.csv"])
    assert [is_named for *_, is_named in found] == [False, True]


def test_commas_separate_paths(tmp_path):
    found = expand_locations(f"{tmp_path}/a, {tmp_path}/b")
    assert paths_of(found) == [f"{tmp_path}/a", f"{tmp_path}/b"]
    assert [is_named for *_, is_named in found] == [True, True]


@pytest.mark.parametrize("name", ["a,b", "a[1]", "what?"])
def test_name_that_exists_is_no_pattern(tmp_path, name):
    (tmp_path / name).touch()
    assert paths_of(expand_locations(f"{tmp_path}/{name}")) == [f"{tmp_path}/{name}"]


def test_pattern_without_match_is_refused(tmp_path):
    with pytest.raises(SourceNotFoundError, match=r"\*\.csv: the pattern must match"):
        expand_locations(f"{tmp_path}/*.csv")


def test_opening_a_missing_file_names_its_neighbours(tmp_path):
    (tmp_path / "part-00000").touch()
    with pytest.raises(SourceNotFoundError, match=r"Did you mean 'part-00000'\?"):
        open_input(tmp_path / "part-0000")


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("_SUCCESS", True),
        (".part.crc", True),
        ("x._COPYING_", True),
        ("_day=3", False),
        ("part-0", False),
    ],
)
def test_hidden_names(name, hidden):
    assert is_hidden(name) is hidden


def test_names_are_joined_with_one_slash():
    assert join_url("hdfs://ns/x/", "a", "b") == "hdfs://ns/x/a/b"


@pytest.mark.parametrize(
    "kind", [StorageError, StorageTimeoutError, StorageUnreachableError]
)
def test_errors_of_stores_come_back_from_a_worker_as_they_are(kind):
    """Dask's pickle makes exceptions in a way that asks the first base."""
    try:
        raise kind("x") from OSError(28, "full")
    except kind as error:
        found = loads(dumps(error))
    assert (type(found), str(found)) == (kind, "x")
