"""A store that does not answer is not one that holds nothing."""

import pytest
from fsspec.implementations.local import LocalFileSystem

from daskdl.data import retries
from daskdl.errors import SourceNotFoundError, StorageError
from tests.unit.bridge.table_files import open_path

SILENT = ConnectionError("nobody answers")


@pytest.fixture
def breaking(monkeypatch):
    """A function that makes calls fail for paths that end in a name."""
    monkeypatch.setattr(retries, "WAITS_S", (0.0, 0.0))

    def break_calls(call, ending, times=99):
        whole = getattr(LocalFileSystem, call)
        left = [times]

        def broken(self, path, *args, **kwargs):
            if str(path).endswith(ending) and left[0] > 0:
                left[0] -= 1
                raise SILENT
            return whole(self, path, *args, **kwargs)

        monkeypatch.setattr(LocalFileSystem, call, broken)

    return break_calls


@pytest.fixture
def data(tmp_path):
    for day in "12":
        place = tmp_path / "data" / f"day={day}"
        place.mkdir(parents=True)
        (place / "part-00000.csv").write_text("features,label\n1,2\n")
    (tmp_path / "data" / "_SUCCESS").touch()
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("call", "ending"),
    [
        ("info", "_SUCCESS"),
        ("info", "_delta_log"),
        ("info", "/data"),
        ("ls", "/data"),
        ("ls", "/day=2"),
    ],
)
def test_a_call_that_fails_is_no_empty_answer(breaking, data, call, ending):
    breaking(call, ending)
    with pytest.raises(StorageError, match=r"nobody answers"):
        open_path(data)


@pytest.mark.parametrize(
    ("call", "ending"),
    [("ls", "/data"), ("ls", "/day=2"), ("info", "*.csv"), ("info", "/data/*,/x")],
)
def test_a_pattern_does_not_lose_what_is_not_listed(breaking, data, call, ending):
    breaking(call, ending)
    url = f"{data}/*,/x" if "," in ending else f"{data}/day=*/*.csv"
    with pytest.raises(StorageError, match=r"nobody answers"):
        open_path(url)


@pytest.mark.parametrize(
    ("call", "ending"), [("info", "_SUCCESS"), ("ls", "/day=2"), ("info", "_delta_log")]
)
def test_a_call_that_fails_once_is_tried_again(breaking, data, call, ending):
    breaking(call, ending, times=1)
    assert len(open_path(f"{data}/day=*").partitions) == 2


def test_a_missing_path_is_named_if_the_store_breaks_off(breaking, tmp_path):
    with pytest.raises(SourceNotFoundError, match=r"the path must exist"):
        open_path(tmp_path / "nothing" / "below")


def test_a_path_below_a_file_does_not_exist(tmp_path):
    (tmp_path / "x.csv").write_text("a\n")
    with pytest.raises(SourceNotFoundError, match=r"the path must exist"):
        open_path(tmp_path / "x.csv" / "part-00000")


def test_a_store_may_hide_what_is_above(monkeypatch, data):
    whole = LocalFileSystem.info

    def info(self, path, **kwargs):
        if "_delta_log" in str(path):
            raise PermissionError(13, "not for you")
        return whole(self, path, **kwargs)

    monkeypatch.setattr(LocalFileSystem, "info", info)
    assert len(open_path(data).partitions) == 2


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("day=*/part-*", 2),
        ("day=[12]/part-0000?.csv", 2),
        ("day=[^1]/*.csv", 1),
        ("day=[!1]/*.csv", 1),
        ("day={1,2}/part-00000.csv", 2),
        ("**/*.csv", 2),
        ("day=*/part-00000.csv", 2),
        ("*/nothing", 0),
        ("day=*/part-00000.csv/x", 0),
    ],
)
def test_patterns_match_as_they_do_in_spark(data, pattern, count):
    if count:
        assert len(open_path(f"{data}/{pattern}").partitions) == count
    else:
        with pytest.raises(SourceNotFoundError, match=r"matches nothing"):
            open_path(f"{data}/{pattern}")
