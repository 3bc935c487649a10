"""Messages about a range of a file name the row in the file."""

import re

import numpy as np
import pytest

from daskdl.errors import ChangedFileError, ColumnError, CorruptFileError
from daskdl_bridge.readers.line_ranges import LineReader
from tests.unit.bridge.ranged_files import WHOLE, found_in, ranges_of_bytes
from tests.unit.bridge.table_files import open_path, write_text

SIZES = pytest.mark.parametrize("n_bytes", [3, 50, WHOLE])
CSV = {"features": "a", "label": "b", "comment": "#", "header": True}


@SIZES
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("5", r"row 60 must have 2 cells as the first one has, got 1"),
        ("x,1", r"'a' must hold numbers, got 'x' in row 60\."),
        (",1", r"'a' must hold a value in every row, row 60 is null"),
        ("inf,1", r"'a' must hold finite numbers, got inf in row 60\."),
        ("1,nan", r"'b' must hold finite numbers, got nan in row 60\."),
    ],
)
def test_a_row_of_csv_is_counted_without_comments(tmp_path, n_bytes, bad, message):
    lines = ["# begins", "a,b", *["1,2", " ", "# c"] * 60, bad, "3,4", ""]
    path = write_text(tmp_path / "x.csv", "\n".join(lines))
    _, (error,) = found_in(path, n_bytes, **CSV)
    assert re.search(message, error)


@SIZES
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{", r"whole JSON object, row 60 is not"),
        ("[1]", r"JSON object, row 60 is b'\[1\]'"),
        ('{"x": "a", "label": 1}', r"'x' must hold double .*, got 'a' in row 60\."),
        ('{"label": 1}', r"'x' must hold a value in every row, row 60 is null"),
        ('{"x": 1, "label": 7}', r"'label' must hold .* in row 60\."),
    ],
)
def test_a_row_of_json_is_counted_without_blank_lines(tmp_path, n_bytes, bad, message):
    write_text(tmp_path / "1.json", '{"x": 1.5, "label": 1}\n')
    good = '{"x": 1, "label": 1}\n\n'
    write_text(tmp_path / "2.json", good * 60 + bad + "\n" + good)
    _, errors = found_in(
        str(tmp_path), n_bytes, features="x", label="label", n_classes=2
    )
    assert len(errors) == 1
    assert re.search(message, errors[0])


@SIZES
@pytest.mark.parametrize(
    ("bad", "message"), [("1 y:2", "row 60 is '1 y:2'"), ("1 9:1", "got 9 in row 60")]
)
def test_a_row_of_libsvm_is_counted_without_comments(tmp_path, n_bytes, bad, message):
    good = "1 1:2 # so\n# no row\n\n"
    path = write_text(tmp_path / "x.libsvm", good * 60 + bad + "\n" + good)
    _, (error,) = found_in(path, n_bytes, n_features=3)
    assert message in error


def test_rows_are_counted_only_for_a_message(tmp_path, monkeypatch):
    monkeypatch.setattr(LineReader, "rows_before", None)
    path = write_text(tmp_path / "x.csv", "a,b\n" + "1,2\n" * 60)
    rows, _ = found_in(path, 10, **CSV)
    assert len(rows) == 60


def test_bytes_are_told_where_rows_cannot_be_counted(tmp_path, monkeypatch):
    def refuse(self, part, options):
        raise CorruptFileError("no")

    monkeypatch.setattr(LineReader, "rows_before", refuse)
    path = write_text(tmp_path / "x.csv", "a,b\n" + "1,2\n" * 10 + ",3\n")
    _, (error,) = found_in(path, 12, **CSV)
    assert "row 2 of bytes 35 to 47 is null" in error


def test_a_row_of_keys_that_do_not_fit_is_that_of_the_file(tmp_path):
    text = "".join(f'{{"x": 1, "key": {row}}}\n' for row in range(9))
    path = write_text(tmp_path / "x.json", text)
    with ranges_of_bytes(40):
        options = {"features": "x", "key": "key", "require_labels": False}
        last = open_path(path, **options).partitions[-1]
    with pytest.raises(ColumnError, match=r"got 'no number' in row 8\."):
        last.stored_keys(np.array(["no number"], object))


@pytest.mark.parametrize("n_bytes", [5, WHOLE])
def test_a_file_of_spark_is_cut_short_whatever_its_range(tmp_path, n_bytes):
    """The last line may begin in any of them."""
    path = write_text(tmp_path / "part-00000.csv", f"a,b\n1,2\n3,4{' ' * 20}")
    _, (error,) = found_in(path, n_bytes, **CSV)
    assert re.search(r"CSV file of Spark .* is cut short at offset 31\.", error)


def test_a_carriage_return_amid_a_file_of_spark_ends_a_line(tmp_path):
    path = write_text(tmp_path / "part-00000.csv", "a,b\n1,2\r3,4\r5,6\n")
    for n_bytes in range(1, 17):
        rows, errors = found_in(path, n_bytes, **CSV)
        assert not errors
        assert len(rows) == 3


def test_bytes_that_are_none_of_the_encoding_are_told_by_their_range(tmp_path):
    (tmp_path / "1.csv").write_bytes(b"a,b\n1,2\n")
    (tmp_path / "2.csv").write_bytes(b"a,b\n1,2\n\x81,3\n")
    _, (error,) = found_in(str(tmp_path), 6, encoding="cp1252", **CSV)
    assert "2.csv [6:12]: must be a whole CSV file in cp1252, it is damaged" in error


def test_a_file_that_grew_is_another(tmp_path):
    path = write_text(tmp_path / "x.csv", "a,b\n1,2\n3,4\n")
    with ranges_of_bytes(4):
        partitions = open_path(path, **CSV).partitions
    write_text(tmp_path / "x.csv", "a,b\n1,2\n3,4\n5,6\n")
    with pytest.raises(ChangedFileError, match=r"x\.csv: must stay as it was"):
        partitions[0].load()
