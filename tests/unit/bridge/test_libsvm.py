"""libsvm files."""

import numpy as np
import pytest

from daskdl.errors import ColumnError, CorruptFileError, DataError
from tests.unit.bridge.table_files import load_one, open_path, write_text


def test_indices_start_at_1(tmp_path):
    path = write_text(tmp_path / "x.libsvm", "1 1:0.5 3:-2e1\n0\n\n2 2:7 # odd\n")
    batch = load_one(path)
    np.testing.assert_array_equal(batch.features, [[0.5, 0, -20], [0] * 3, [0, 7, 0]])
    np.testing.assert_array_equal(batch.labels, [[1], [0], [2]])


def test_rows_may_have_no_features(tmp_path):
    path = write_text(tmp_path / "x.libsvm", "1\n0\n")
    assert load_one(path).features.shape == (2, 0)


def test_rows_are_numbered_across_those_read_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("daskdl_bridge.readers.libsvm._ROWS_AT_ONCE", 2)
    good = "".join(f"{row} 1:{row} 3:1\n" for row in range(5))
    batch = load_one(write_text(tmp_path / "x.libsvm", good))
    assert batch.features.tolist() == [[row, 0, 1] for row in range(5)]
    path = write_text(tmp_path / "y.libsvm", f"{good}1 x:1\n")
    with pytest.raises(CorruptFileError, match="row 5 is '1 x:1'"):
        load_one(path)


def test_width_is_that_of_all_files(tmp_path):
    write_text(tmp_path / "a.libsvm", "0 1:1\n")
    write_text(tmp_path / "b.libsvm", "1 5:1\n")
    partitions = open_path(str(tmp_path)).partitions
    assert [p.load().features.shape for p in partitions] == [(1, 5), (1, 5)]


def test_width_is_what_the_user_says(tmp_path):
    path = write_text(tmp_path / "x.libsvm", "0 1:1\n")
    assert load_one(path, n_features=9).features.shape == (1, 9)


def test_files_without_rows(tmp_path):
    write_text(tmp_path / "a.libsvm", "")
    write_text(tmp_path / "b.libsvm", "1 2:1\n")
    partitions = open_path(str(tmp_path)).partitions
    assert [partition.load().num_examples for partition in partitions] == [0, 1]


@pytest.mark.parametrize("bad", ["0:1", "4:1", "-1:1"])
def test_index_outside_the_width_is_refused_with_its_row(tmp_path, bad):
    path = write_text(tmp_path / "x.libsvm", f"0 1:1\n1 1:1 {bad}\n")
    with pytest.raises(ColumnError, match=r"from 1 to 3, got -?\d in row 1"):
        load_one(path, n_features=3)


@pytest.mark.parametrize(
    "line",
    ["x 1:1", "1 1:y", "1 1.5:2", "1 1:", "1 1:2:3", "1 2 3", ":", "1 :2", "1 nan:2"],
)
def test_damaged_line_is_refused_with_its_row(tmp_path, line):
    path = write_text(tmp_path / "x.libsvm", f"0 1:1 2:1\n{line}\n1 1:1\n")
    with pytest.raises(CorruptFileError, match=r"row 1 is '"):
        load_one(path, n_features=3)


def test_other_column_is_refused(tmp_path):
    path = write_text(tmp_path / "x.libsvm", "0 1:1\n")
    with pytest.raises(ColumnError, match=r"column 'key' must exist"):
        open_path(path, key="key")


def test_byte_order_mark_is_dropped(tmp_path):
    path = write_text(tmp_path / "x.libsvm", "\ufeff1 1:2\r\n# a comment\r\n\r\n0 1:3")
    assert load_one(path).features.tolist() == [[2], [3]]


@pytest.mark.parametrize("index", ["2147483648", "4000000000"])
def test_an_index_beyond_those_of_spark_is_refused(tmp_path, index):
    path = write_text(tmp_path / "x.libsvm", f"0 1:1\n1 1:1 {index}:1\n")
    with pytest.raises(DataError, match=f"got {index} in row 1"):
        load_one(path)


@pytest.mark.parametrize("index", ["99999999999999999999", "-" + "9" * 5000])
def test_an_index_that_is_no_number_of_64_bits_is_refused(tmp_path, index):
    path = write_text(tmp_path / "x.libsvm", f"0 1:1\n1 1:1 {index}:1\n")
    with pytest.raises(CorruptFileError, match="row 1 is '1 1:1 "):
        load_one(path)


def test_wide_rows_are_refused_before_memory_is_taken(tmp_path):
    path = write_text(tmp_path / "x.libsvm", "0 1:1\n1 2000000000:1\n")
    with pytest.raises(DataError, match=r"2 sparse rows of width 2000000000, which"):
        load_one(path)


def test_the_limit_of_wide_rows_is_an_option(tmp_path):
    path = write_text(tmp_path / "x.libsvm", "0 1:1\n1 1000:1\n")
    with pytest.raises(DataError, match=r"at most 7999 bytes as dense rows.* raise"):
        load_one(path, most_part_bytes=7999, dtype="float32")
    batch = load_one(path, most_part_bytes=8000, dtype="float32")
    assert batch.features.shape == (2, 1000)
