"""Texts and lists of paths on any store."""

import pytest

from daskdl import list_paths, read_text, write_text
from daskdl.errors import (
    DataError,
    OptionError,
    OutputExistsError,
    SourceNotFoundError,
    UnfinishedJobError,
)

TEXT = 'é 漢字 "quoted"\r\n\n\x00end'


@pytest.mark.parametrize("place", ["{folder}/a.txt", "file://{folder}/a", "memory://a"])
def test_a_text_comes_back_as_it_was(tmp_path, place):
    url = place.format(folder=tmp_path)
    write_text(url, TEXT, overwrite=True)
    assert read_text(url) == TEXT


def test_a_text_that_is_there_stays(tmp_path):
    write_text(tmp_path / "a", "old")
    with pytest.raises(OutputExistsError, match=r"must not exist yet, got a file"):
        write_text(tmp_path / "a", "new")
    assert read_text(tmp_path / "a") == "old"


def test_what_is_no_text_is_refused_with_the_place(tmp_path):
    (tmp_path / "a").write_bytes(b"ab\xff")
    with pytest.raises(DataError, match=r"must be text in UTF-8, .* its byte 2"):
        read_text(tmp_path / "a")


def test_a_missing_text_is_refused(tmp_path):
    with pytest.raises(SourceNotFoundError, match=r"must be a file, got nothing"):
        read_text(tmp_path / "a")


def files(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def names_of(urls, folder):
    return [url.removeprefix(f"{folder}/") for url in urls]


def test_part_files_are_listed_in_the_order_of_their_rows(tmp_path):
    files(tmp_path, "part-00010", "part-00002", "part-100000", "_SUCCESS", ".a.crc")
    found = list_paths(str(tmp_path))
    assert names_of(found, tmp_path) == ["part-00002", "part-00010", "part-100000"]


def test_what_is_below_is_listed_by_the_numbers_in_the_names(tmp_path):
    files(tmp_path, "b/dataset_10.bin", "b/dataset_9.bin", "a/x.txt", "_hidden/y.bin")
    assert names_of(list_paths(tmp_path), tmp_path) == [
        "a/x.txt",
        "b/dataset_9.bin",
        "b/dataset_10.bin",
    ]


@pytest.mark.parametrize("endings", [".bin", [".bin"], (".bin", ".csv")])
def test_only_files_of_some_endings_are_listed(tmp_path, endings):
    """Not the directories, whose names DL4J compares."""
    files(tmp_path, "a.bin/b.txt", "c/d.bin")
    assert names_of(list_paths(tmp_path, endings=endings), tmp_path) == ["c/d.bin"]


def test_an_unfinished_job_is_refused_unless_asked_for(tmp_path):
    files(tmp_path, "part-00000")
    with pytest.raises(UnfinishedJobError):
        list_paths(tmp_path)
    assert len(list_paths(tmp_path, require_success=False)) == 1


@pytest.mark.parametrize(
    ("path", "message"),
    [(3, "path_or_url must be a"), ("x.zarr", "must be a path of files, got x.zarr")],
)
def test_what_has_no_files_is_refused(path, message):
    with pytest.raises(OptionError, match=message):
        list_paths(path)
