"""Stores of other packages are found by the scheme of the URL."""

import importlib.metadata

import fsspec
import numpy as np
import pytest

from daskdl import entry_points
from daskdl.data import filesystems
from daskdl.data.dataset import DataSet
from daskdl.data.filesystems import filesystem
from daskdl.errors import OptionError


@pytest.fixture
def plugged_in(monkeypatch, tmp_path):
    """URLs of the scheme ``warehouse``, as a function to keep them below `tmp_path`."""
    asked = []

    def warehouse(url, storage_options):
        asked.append((url, storage_options))
        return fsspec.filesystem("file"), f"{tmp_path}/{url.rpartition('/')[2]}"

    class EntryPoint:
        def load(self):
            return warehouse

    def plugged(group, name):
        if (group, name) == ("daskdl.filesystems", "warehouse"):
            return [EntryPoint()]
        return entry_points.entry_points(group, name)

    monkeypatch.setattr(filesystems, "entry_points", plugged)
    return asked


def test_a_url_of_the_scheme_goes_to_the_entry_point(plugged_in, tmp_path):
    fs, path = filesystem("warehouse://north/x", {"key": 1})
    assert plugged_in == [("warehouse://north/x", {"key": 1})]
    assert (fs.protocol, path) == (("file", "local"), f"{tmp_path}/x")


def test_data_sets_are_written_and_read_there(plugged_in, tmp_path):
    DataSet(np.ones((2, 3))).save("warehouse://north/batch.bin")
    assert DataSet.load(tmp_path / "batch.bin").features.shape == (2, 3)
    assert DataSet.load("warehouse://north/batch.bin").features.shape == (2, 3)


def test_other_schemes_are_left_to_fsspec(plugged_in):
    fs, path = filesystem("memory://x/y")
    assert (fs.protocol, path) == ("memory", "/x/y")
    assert plugged_in == []


def test_a_plain_path_is_no_scheme(plugged_in, tmp_path):
    """Even one that is called like a scheme."""
    _, path = filesystem(tmp_path / "warehouse")
    assert path == str(tmp_path / "warehouse")
    assert plugged_in == []


@pytest.mark.parametrize(
    "scheme", ["hdfs", "viewfs", "webhdfs", "swebhdfs", "s3a", "s3n"]
)
def test_hadoop_schemes_go_to_the_bridge(scheme):
    (found,) = importlib.metadata.entry_points(group="daskdl.filesystems", name=scheme)
    assert found.value == "daskdl_bridge.storage:filesystem"


def test_an_unknown_scheme_is_an_option_to_mend():
    with pytest.raises(OptionError, match=r"foo://x: the scheme must .*, got 'foo'"):
        filesystem("foo://x")


def test_what_is_no_path_is_refused():
    with pytest.raises(OptionError, match="path_or_url must be a str or PathLike"):
        filesystem(None)


@pytest.mark.parametrize(("url", "scans"), [("plain", 0), ("memory://a/b", 1)])
def test_what_is_installed_is_looked_through_once(monkeypatch, tmp_path, url, scans):
    counted, installed = [], importlib.metadata.entry_points

    def scan():
        counted.append(url)
        return installed()

    monkeypatch.setattr(importlib.metadata, "entry_points", scan)
    entry_points.entry_points.cache_clear()
    entry_points._installed.cache_clear()
    for _ in range(3):
        filesystem(url if "://" in url else tmp_path / url)
    assert len(counted) == scans
