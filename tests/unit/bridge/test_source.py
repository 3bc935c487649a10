"""What counts as a path, and in what form files are stored."""

from pathlib import Path

import pytest

from daskdl.data.sources.source import open_source
from daskdl.errors import DataError, OptionError
from daskdl_bridge.source import PathSources
from tests.unit.bridge.sample_forms import path_of
from tests.unit.bridge.table_files import open_path, write_parquet, write_text


@pytest.mark.parametrize(
    ("data", "accepted"),
    [
        ("x", True),
        (Path("x"), True),
        (["x", Path("y")], True),
        (("x",), True),
        ([], False),
        (3, False),
        (["x", 3], False),
    ],
)
def test_paths_and_lists_of_paths_are_accepted(data, accepted):
    assert PathSources().accepts(data) is accepted


def test_entry_point_opens_paths():
    assert len(open_source(path_of("parquet_array")).partitions) == 4


@pytest.mark.parametrize("data", ["x.parquet", ["x.parquet"], Path("x.parquet")])
def test_source_is_called_what_the_user_called_it(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    write_parquet(tmp_path / "x.parquet", {"features": [1.0], "label": [1]})
    assert open_path(data).name == "x.parquet"


def test_name_that_does_not_tell_the_form_is_refused(tmp_path):
    path = write_text(tmp_path / "part-00000", "x")
    with pytest.raises(DataError, match=r"part-00000: the name must end in .*'csv'"):
        open_path(path)


def test_different_forms_are_refused(tmp_path):
    write_text(tmp_path / "a.csv", "x")
    write_text(tmp_path / "b.json.gz", "x")
    with pytest.raises(
        DataError, match=r"one format, got 'csv', 'json', for .*b\.json"
    ):
        open_path(str(tmp_path))


def test_unknown_format_is_refused_with_the_nearest_name(tmp_path):
    path = write_text(tmp_path / "x", "x")
    with pytest.raises(OptionError, match=r"got 'parqet'. Did you mean 'parquet'\?"):
        open_path(path, format="parqet")


@pytest.mark.parametrize("name", ["x.csv.lzo", "x.json.zstd"])
def test_a_compression_that_nobody_reads_is_named(tmp_path, name):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(DataError, match=r"files must be plain, or end in .*, got \."):
        open_path(str(tmp_path / name), features="a", label="b")
