"""Lines of text: what groups of a pattern hold, what is null, what is refused."""

import pytest

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import ColumnError, CorruptFileError, DataError
from daskdl_bridge.source import PathSources
from tests.unit.bridge.damaged_files import check_refused_or_read, damaged_copies
from tests.unit.bridge.ranged_files import WHOLE, check_alike, found_in
from tests.unit.bridge.table_files import load_one, open_path, write_text

PATTERN = r"(?P<key>\w+): (?P<x>\S*) (?P<y>\S*) -> (?P<label>\d)"
LINES = "".join(f"k{i}: {i / 2} {-i} -> {i % 3}\n" for i in range(40))
HOW = {"pattern": PATTERN, "features": ("x", "y"), "label": "label", "key": "key"}


def test_groups_are_columns(tmp_path):
    batch = load_one(write_text(tmp_path / "x.txt", LINES), **HOW, n_classes=3)
    assert batch.features.tolist() == [[i / 2, -i] for i in range(40)]
    assert batch.labels.argmax(axis=1).tolist() == [i % 3 for i in range(40)]
    assert batch.keys.tolist() == [f"k{i}" for i in range(40)]


def test_groups_may_be_named_as_in_java(tmp_path):
    path = write_text(tmp_path / "x.txt", LINES)
    how = {**HOW, "pattern": PATTERN.replace("?P<", "?<")}
    assert load_one(path, **how).num_examples == 40


def test_groups_without_names_are_numbered(tmp_path):
    path = write_text(tmp_path / "x.txt", "1 2\n3 4\n")
    batch = load_one(path, pattern=r"(\d) (\d)", features="_c0", label="_c1")
    assert batch.features.tolist() == [[1], [3]]
    assert batch.labels.tolist() == [[2], [4]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("n_bytes", [1, 50, 300])
def test_ranges_have_the_rows_of_the_file(tmp_path, end, n_bytes):
    path = write_text(tmp_path / "x.txt", LINES.replace("\n", end))
    assert found_in(path, n_bytes, **HOW) == found_in(path, WHOLE, **HOW)


def test_what_ranges_say_is_what_the_file_says(tmp_path):
    path = write_text(tmp_path / "x.txt", LINES + "no\n")
    assert check_alike(path, 100, **HOW) == 0


def test_a_line_that_does_not_match_is_refused_with_its_number(tmp_path):
    path = write_text(tmp_path / "x.txt", LINES + "k: 1 2 -> 3 and\n")
    with pytest.raises(DataError, match=r"x\.txt: each line must match .*, line 41 is"):
        load_one(path, **HOW)


def test_text_for_numbers_is_refused_with_its_line(tmp_path):
    path = write_text(tmp_path / "x.txt", LINES + "k: 1 b -> 1\n")
    with pytest.raises(ColumnError, match=r"'y' must hold numbers, got 'b' in line 41"):
        load_one(path, **HOW)


@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz", "part-00000.txt"])
def test_an_empty_group_is_null(tmp_path, name):
    path = write_text(tmp_path / name, LINES + "k:  1 -> 1\n")
    with pytest.raises(DataError, match=r"'x' must hold a value .*, row 40 is null"):
        load_one(path, **HOW)


def test_a_group_that_is_not_met_is_null(tmp_path):
    path = write_text(tmp_path / "x.txt", "1 a\n2\n")
    how = {"pattern": r"(?P<x>\d)(?: (?P<k>\w))?", "features": "x", "key": "k"}
    assert load_one(path, **how, require_labels=False).keys.tolist() == ["a", None]


def test_without_a_pattern_a_line_is_a_value(tmp_path):
    path = write_text(tmp_path / "x.txt", LINES)
    assert PathSources().look(path, SourceOptions()).columns == {"value": "text"}
    with pytest.raises(ColumnError, match=r"'value' must hold numbers, .* got string"):
        open_path(path, features="value", require_labels=False)


def test_columns_and_kinds_are_told(tmp_path):
    path = write_text(tmp_path / "x.txt", LINES)
    found = PathSources().look(path, SourceOptions(pattern=PATTERN)).columns
    assert found == {"key": "text", "x": "number", "y": "number", "label": "number"}


def test_an_encoding_is_heeded(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(LINES.replace("k", "é").encode("utf-16"))
    assert load_one(str(path), **HOW, encoding="UTF-16").keys[0] == "é0"


def test_bytes_of_another_encoding_are_corrupt(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(LINES.replace("k", "é").encode("latin-1"))
    with pytest.raises(CorruptFileError, match=r"line 1 is damaged or in another enc"):
        load_one(str(path), **HOW)


def test_a_file_of_spark_that_is_cut_short_is_corrupt(tmp_path):
    path = write_text(tmp_path / "part-00000.txt", LINES[:-1])
    with pytest.raises(CorruptFileError, match="must end with a line end"):
        load_one(path, **HOW)


def test_a_file_without_lines_has_no_rows(tmp_path):
    assert load_one(write_text(tmp_path / "x.txt", ""), **HOW).num_examples == 0


def test_damage_is_refused_or_read(tmp_path, rng):
    for data in damaged_copies(LINES.encode(), rng, 300):
        check_refused_or_read(tmp_path / "x.txt", data, **HOW)
