"""Files of lines are read by ranges of bytes: which lines are whose."""

import bz2
import gzip
import pickle

import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.lines import has_plain_lines, read_head, read_lines
from daskdl_bridge.source import PathSources
from tests.unit.bridge.ranged_files import WHOLE, found_in, ranges_of_bytes
from tests.unit.bridge.table_files import open_path, write_text

A = {"features": "a", "require_labels": False}
LINES = b"\xef\xbb\xbfone\r\ntwo\rthree\n\n\r\n\rlast, without an end"


@pytest.fixture
def tiny():
    """Ranges of four bytes."""
    with ranges_of_bytes(4):
        yield


@pytest.mark.parametrize("n_bytes", range(1, len(LINES) + 2))
def test_each_line_is_in_the_one_range_in_which_it_begins(tmp_path, n_bytes):
    path = tmp_path / "x.csv"
    path.write_bytes(LINES)
    found = []
    for start in range(0, len(LINES), n_bytes):
        span = (start, min(start + n_bytes, len(LINES)))
        part = Part(url=str(path), size=len(LINES), span=span)
        found += read_lines(part, "CSV", {}).splitlines(keepends=True)
    assert found == LINES[3:].splitlines(keepends=True)


def test_names_of_ranges_tell_their_bytes(tmp_path):
    path = write_text(tmp_path / "x.csv", "a\n1\n2\n3\n")
    with ranges_of_bytes(4):
        names = [one.name for one in open_path(path, **A).partitions]
    assert names == [f"{path} [0:4]", f"{path} [4:8]"]


def test_a_file_of_one_range_keeps_its_name(tmp_path):
    path = write_text(tmp_path / "x.csv", "a\n1\n2\n3\n")
    with ranges_of_bytes(8):
        (partition,) = open_path(path, **A).partitions
    assert partition.name == path


def test_ranges_of_a_file_are_of_equal_size(tmp_path):
    path = write_text(tmp_path / "x.csv", "a\n" + "1\n" * 5)
    with ranges_of_bytes(10):
        spans = [one.part.span for one in open_path(path, **A).partitions]
    assert spans == [(0, 6), (6, 12)]


def test_files_and_their_ranges_are_in_order(tmp_path):
    for number in (2, 10):
        write_text(tmp_path / f"{number}.csv", f"a\n{number}\n{number + 1}\n")
    rows, _ = found_in(str(tmp_path), 2, **A)
    assert [row[0] for row in rows] == [[2], [3], [10], [11]]


def test_ranges_travel_to_workers(tmp_path, tiny):
    path = write_text(tmp_path / "x.csv", "a\n1\n2\n3\n")
    partitions = pickle.loads(pickle.dumps(open_path(path, **A).partitions))
    rows = [value for one in partitions for value in one.load().features[:, 0]]
    assert rows == [1, 2, 3]


def test_a_look_tells_files(tmp_path, tiny):
    path = write_text(tmp_path / "x.csv", "a\n1\n2\n3\n")
    found = PathSources().look(path, SourceOptions())
    assert [name for name, _ in found.parts] == [path]


def in_two_bytes(data):
    return data.decode().encode("utf-16")


@pytest.mark.parametrize(
    ("name", "stored", "options", "too_large"),
    [
        ("x.csv.gz", gzip.compress, {}, ""),
        ("x.csv.bz2", bz2.compress, {}, ""),
        ("x.csv", bytes, {"multi_line": True}, "With multi_line a file is read as a"),
        ("x.csv", in_two_bytes, {"encoding": "utf-16"}, "write it in UTF-8, or write"),
    ],
)
def test_what_tells_its_lines_only_from_its_beginning_stays_whole(
    tmp_path, tiny, name, stored, options, too_large
):
    path = tmp_path / name
    path.write_bytes(stored(b"a\n1\n2\n"))
    (partition,) = open_path(str(path), **A, **options).partitions
    assert partition.name == str(path)
    assert too_large in partition.too_large
    assert partition.load().features.tolist() == [[1], [2]]


def test_json_documents_stay_whole(tmp_path, tiny):
    path = write_text(tmp_path / "x.json", '[{"a": 1},\n{"a": 2}]\n')
    (partition,) = open_path(path, **A, multi_line=True).partitions
    assert partition.load().features.tolist() == [[1], [2]]


@pytest.mark.parametrize(
    ("encoding", "is_plain"),
    [
        ("UTF-8", True),
        ("utf8", True),
        ("US-ASCII", True),
        ("ISO-8859-1", True),
        ("windows-1252", True),
        ("koi8-r", True),
        ("utf-8-sig", False),
        ("utf-16", False),
        ("utf-16-le", False),
        ("utf-32", False),
        ("utf-7", False),
        ("cp037", False),
        ("shift_jis", False),
        ("gb18030", False),
        ("iso2022_jp", False),
    ],
)
def test_text_may_be_cut_where_each_byte_of_a_line_end_is_one(encoding, is_plain):
    assert has_plain_lines(encoding) is is_plain


def test_a_row_may_be_longer_than_many_ranges(tmp_path):
    path = write_text(tmp_path / "x.csv", f"id,a\n{'x' * 1000},1\ny,2\n")
    rows, _ = found_in(path, 10, key="id", **A)
    assert [key for *_, key in rows] == ["x" * 1000, "y"]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_a_head_ends_with_its_last_line_however_long(tmp_path, monkeypatch, end):
    monkeypatch.setattr("daskdl_bridge.readers.lines._HEAD_BYTES", 8)
    monkeypatch.setattr("daskdl_bridge.readers.lines._STEP_BYTES", 3)
    lines = [f"id,a{end}", f"{'x' * 100},1{end}", f"y,2{end}"]
    path = write_text(tmp_path / "x.csv", "".join(lines))
    head = read_head(Part(url=path), "CSV", SourceOptions())
    assert head.decode() == "".join(lines[:2])


def test_a_store_may_give_files_from_their_beginning_only(tmp_path, monkeypatch):
    def refuse(self, *args):
        raise ValueError("Cannot seek streaming HTTP file")

    monkeypatch.setattr("fsspec.implementations.local.LocalFileOpener.seek", refuse)
    path = write_text(tmp_path / "x.csv", "a\n1\n2\n3\n")
    rows, errors = found_in(path, 2, **A)
    assert not errors
    assert [row[0] for row in rows] == [[1], [2], [3]]


def test_a_header_may_lie_behind_the_first_range(tmp_path):
    path = write_text(tmp_path / "x.csv", "# nothing\n\n  \n# more\na,b\n1,2\n3,4\n")
    rows, _ = found_in(path, 4, comment="#", header=True, **A)
    assert [row[0] for row in rows] == [[1], [3]]


def test_columns_of_each_file_are_those_of_its_header(tmp_path):
    write_text(tmp_path / "1.csv", "a,b\n1,2\n3,4\n")
    write_text(tmp_path / "2.csv", "b,a\n5,6\n7,8\n")
    rows, _ = found_in(str(tmp_path), 4, **A)
    assert [row[0] for row in rows] == [[1], [3], [6], [8]]


@pytest.mark.parametrize("text", ["\n\n", " \n", "#\n", "\n# c\n \n"])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("n_bytes", [1, WHOLE])
def test_a_file_of_blank_lines_has_no_rows(tmp_path, text, header, n_bytes):
    write_text(tmp_path / "1.csv", "a,b\n1,2\n" if header else "1,2\n")
    write_text(tmp_path / "2.csv", text)
    options = {"features": "a" if header else "_c0", "comment": "#"}
    how = {**options, "header": header, "require_labels": False}
    rows, errors = found_in(str(tmp_path), n_bytes, **how)
    assert not errors
    assert len(rows) == 1


def test_libsvm_files_have_the_width_of_all_their_ranges(tmp_path):
    path = write_text(tmp_path / "x.libsvm", "0 1:1\n0 2:1\n1 5:1\n1 1:2\n")
    rows, _ = found_in(path, 4)
    assert [len(features) for features, *_ in rows] == [5] * 4


@pytest.mark.parametrize("text", ['{"a": 1}{"a": 2}\n', '{"a": 1,\n"b": 2}\n'])
def test_json_objects_and_lines_are_one_to_one(tmp_path, text):
    """Where lines may lie in two ranges, objects must not lie on two lines."""
    write_text(tmp_path / "1.json", '{"a": 1}\n')
    write_text(tmp_path / "2.json", text)
    _, (error,) = found_in(str(tmp_path), WHOLE, **A)
    assert "each line must be a whole JSON object, row 0 is not" in error
