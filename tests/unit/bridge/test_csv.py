"""CSV as Spark writes it, and as others do."""

import numpy as np
import pytest

from daskdl.errors import ColumnError, CorruptFileError, DataError
from tests.unit.bridge.table_files import load_one, open_path, write_text

JOB = "11111111-2222-3333-4444-555555555555"
WITH_HEADER = "label,a,b,name\n0,1.5,2,x\n1,3,-4e1,y\n"
MARK = "\ufeff"  # of the byte order
TRIMMED = {"ignore_trailing_white_space": True}
A_AND_B = {"features": ("a", "b"), "label": "label"}


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
def test_header_names_the_columns(tmp_path, name):
    batch = load_one(write_text(tmp_path / name, WITH_HEADER), **A_AND_B)
    np.testing.assert_array_equal(batch.features, [[1.5, 2], [3, -40]])
    np.testing.assert_array_equal(batch.labels, [[0], [1]])


def test_without_header_columns_have_the_names_of_spark(tmp_path):
    path = write_text(tmp_path / "x.csv", "0,1.5,2\n1,3,4\n")
    batch = load_one(path, features=("_c1", "_c2"), label="_c0")
    np.testing.assert_array_equal(batch.features, [[1.5, 2], [3, 4]])


def test_header_of_numbers_is_one_if_told(tmp_path):
    path = write_text(tmp_path / "x.csv", "0,1\n5,6\n")
    batch = load_one(path, features="0", label="1", header=True)
    np.testing.assert_array_equal(batch.features, [[5]])


def test_first_row_of_text_is_none_if_told(tmp_path):
    path = write_text(tmp_path / "x.csv", "a,1\nb,2\n")
    batch = load_one(path, features="_c1", key="_c0", header=False, label="_c1")
    assert batch.keys.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("cell", "how"),
    [("1" * 100_000 + "x", {}), (" " * 100_000 + "x", TRIMMED)],
)
def test_long_cells_take_the_time_of_their_length(tmp_path, cell, how):
    """Patterns that try a run from each of its places take the square of it."""
    path = write_text(tmp_path / "x.csv", f"{cell},a\n{cell},1\n")
    batch = load_one(path, features="a", require_labels=False, **how)
    assert batch.features.tolist() == [[1]]


@pytest.mark.parametrize("n_parts", [1, 2])
@pytest.mark.parametrize("first", ["a,id", '"a","id"'])
@pytest.mark.parametrize("header", [None, True])
def test_byte_order_mark_is_no_part_of_the_first_name(tmp_path, n_parts, first, header):
    """Excel writes one at the start of every file."""
    for part in range(n_parts):
        write_text(tmp_path / f"{part}.csv", f"{MARK}{first}\n1.5,x\n2,y\n")
    options = {"features": "a", "key": "id", "require_labels": False, "header": header}
    batches = [p.load() for p in open_path(str(tmp_path), **options).partitions]
    assert [b.features.tolist() for b in batches] == [[[1.5], [2]]] * n_parts
    assert [b.keys.tolist() for b in batches] == [["x", "y"]] * n_parts


def test_byte_order_mark_is_no_part_of_the_name_of_a_key(tmp_path):
    path = write_text(tmp_path / "x.csv", f"{MARK}id,a\n007,1.5\n")
    batch = load_one(path, features="a", key="id", require_labels=False)
    assert batch.keys.tolist() == ["007"]


@pytest.mark.parametrize("n_parts", [1, 2])
@pytest.mark.parametrize("header", [None, False])
def test_byte_order_mark_is_no_part_of_the_first_number(tmp_path, n_parts, header):
    for part in range(n_parts):
        write_text(tmp_path / f"{part}.csv", f"{MARK}7\n8\n")
    options = {"features": "_c0", "require_labels": False, "header": header}
    partitions = open_path(str(tmp_path), **options).partitions
    rows = [partition.load().features.tolist() for partition in partitions]
    assert rows == [[[7], [8]]] * n_parts


@pytest.mark.parametrize("n_parts", [1, 2])
@pytest.mark.parametrize("header", [None, False])
def test_byte_order_mark_is_no_part_of_the_first_key(tmp_path, n_parts, header):
    for part in range(n_parts):
        write_text(tmp_path / f"{part}.csv", f"{MARK}7,1.5\n8,2\n")
    options = {"features": "_c1", "key": "_c0", "require_labels": False}
    partitions = open_path(str(tmp_path), header=header, **options).partitions
    keys = [partition.load().keys.tolist() for partition in partitions]
    assert keys == [["7", "8"]] * n_parts


def test_bad_cell_of_a_file_with_a_byte_order_mark_is_named(tmp_path):
    path = write_text(tmp_path / "x.csv", MARK + "label,a,b\n0,1,2\n1,x,3\n")
    with pytest.raises(ColumnError, match=r"'a' must hold numbers, got 'x' in row 1"):
        load_one(path, **A_AND_B)


def test_delimiter(tmp_path):
    path = write_text(tmp_path / "x.csv", WITH_HEADER.replace(",", "\t"))
    assert load_one(path, delimiter="\t", **A_AND_B).features.shape == (2, 2)


def test_keys_stay_text(tmp_path):
    path = write_text(tmp_path / "x.csv", 'id,features\n007,1\n"",2\n,3\n" a\\"b",4\n')
    batch = load_one(path, key="id", require_labels=False)
    assert batch.keys.tolist() == ["007", None, None, ' a"b']


def test_quoted_empty_key_is_text_if_null_has_a_name(tmp_path):
    path = write_text(tmp_path / "x.csv", 'id,features\n"",2\n,3\nNA,4\n"NA",5\n')
    batch = load_one(path, key="id", require_labels=False, null_value="NA")
    assert batch.keys.tolist() == ["", None, None, None]


def test_quoted_cell_may_span_lines(tmp_path):
    path = write_text(tmp_path / "x.csv", 'id,features\n"a\nb",1\nc,2\n')
    batch = load_one(path, key="id", require_labels=False, multi_line=True)
    assert batch.keys.tolist() == ["a\nb", "c"]


def test_row_of_a_cell_that_spans_lines_names_the_option(tmp_path):
    path = write_text(tmp_path / "x.csv", 'id,features\n"a\nb",1\n')
    with pytest.raises(DataError, match=r"row 0 must have 2 .* give multi_line=True"):
        load_one(path, key="id", require_labels=False)


def test_lines_of_blanks_are_no_rows(tmp_path):
    path = write_text(tmp_path / "x.csv", "a\tb\n1\t2\n \n\t\n3\t4\n")
    batch = load_one(path, features=("a", "b"), require_labels=False, delimiter="\t")
    assert batch.features.tolist() == [[1, 2], [3, 4]]


def test_lines_of_long_blank_delimiters_are_no_rows(tmp_path):
    """Spark reads a line of nothing but blanks as none, whatever they stand for."""
    path = write_text(tmp_path / "x.csv", "1\t\t2\n\t\t\n3\t\t4\n")
    options = {"features": ("_c0", "_c1"), "require_labels": False}
    batch = load_one(path, delimiter="\t\t", **options)
    assert batch.features.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("other", ["x", '"x"'])
def test_blanks_behind_the_last_of_cells_with_a_long_delimiter_stay(tmp_path, other):
    """As in Spark, whether or not another row has quotes."""
    path = write_text(tmp_path / "x.csv", f"1|| a \n2||{other}\n")
    options = {"features": "_c0", "key": "_c1", "require_labels": False}
    batch = load_one(path, delimiter="||", ignore_trailing_white_space=True, **options)
    assert batch.keys.tolist() == [" a ", "x"]


def test_null_in_the_only_column_that_is_read_is_a_row(tmp_path):
    """Also where a cell keeps pyarrow from reading the file as it is."""
    text = 'id,features\na"b,1\n"c"d,\ne,2\n'
    with pytest.raises(DataError, match=r"'features' must hold .* row 1 is null"):
        load_one(write_text(tmp_path / "x.csv", text), require_labels=False)


def test_row_may_be_longer_than_a_block_of_pyarrow(tmp_path):
    path = write_text(tmp_path / "x.csv", f"id,features\n{'x' * 3_000_000},1\n")
    batch = load_one(path, key="id", require_labels=False)
    assert len(batch.keys[0]) == 3_000_000


def test_empty_and_doubled_names_get_their_number_as_in_spark(tmp_path):
    path = write_text(tmp_path / "x.csv", "a,,a\n1,2,3\n")
    batch = load_one(path, features=("a0", "_c1", "a2"), require_labels=False)
    assert batch.features.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("name", ["utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252"])
def test_encoding(tmp_path, name):
    path = tmp_path / f"part-00000-{JOB}-c000.csv"
    path.write_bytes("näme,features\nü,1\n".encode(name))
    batch = load_one(str(path), key="näme", require_labels=False, encoding=name)
    assert batch.keys.tolist() == ["ü"]


def test_other_encoding_than_told_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes("id,features\nü,1\n".encode("latin-1"))
    with pytest.raises(CorruptFileError, match=r"in UTF-8.*Give encoding if it is"):
        load_one(str(path), key="id", require_labels=False)


def test_number_that_only_python_reads_is_named(tmp_path):
    path = write_text(tmp_path / "x.csv", "label,a,b\n0,1_0,2\n")
    with pytest.raises(ColumnError, match=r"must hold numbers, got '1_0' in row 0"):
        load_one(path, **A_AND_B)


def test_columns_may_change_places_between_parts_with_headers(tmp_path):
    write_text(tmp_path / "a.csv", "label,a,b\n0,1,2\n")
    write_text(tmp_path / "b.csv", "b,label,a\n4,1,3\n")
    partitions = open_path(str(tmp_path), **A_AND_B).partitions
    rows = np.concatenate([partition.load().features for partition in partitions])
    np.testing.assert_array_equal(rows, [[1, 2], [3, 4]])


def test_part_without_bytes_has_no_rows(tmp_path):
    """RDDs leave such parts, in front too."""
    write_text(tmp_path / "part-00000", "")
    write_text(tmp_path / "part-00001", "1,2\n")
    write_text(tmp_path / "_SUCCESS", "")
    options = {"features": "_c1", "label": "_c0", "format": "csv"}
    partitions = open_path(str(tmp_path), **options).partitions
    assert [partition.load().num_examples for partition in partitions] == [0, 1]


def test_part_with_nothing_but_a_header_has_no_rows(tmp_path):
    assert (
        load_one(write_text(tmp_path / "x.csv", "label,a,b\n"), **A_AND_B) is not None
    )


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("label,a,b\n0,1,2\n1,2\n", DataError, r"row 1 must have 3 cells .* got 2"),
        ("label,a,b\n0,1,2\n1,2,3,4\n", DataError, r"row 1 must have 3 cells .* got 4"),
        (
            "label,a,b\n0,1,2\n1,x,3\n",
            ColumnError,
            r"'a' must hold numbers, got 'x' in r",
        ),
        ("label,a,b\n0,1,2\n1,,3\n", DataError, r"'a' must hold .* row 1 is null"),
        ("label,a,b\n0,1,NaN\n", DataError, r"'b' must hold finite numbers.* row 0"),
        ("label,a,b\n0,1,Infinity\n", DataError, r"'b' must hold finite numbers"),
        ("label,a,b\n,1,2\n", DataError, r"'label' must hold .* row 0 is null"),
    ],
)
def test_bad_cells_are_refused(tmp_path, text, error, message):
    with pytest.raises(error, match=message):
        load_one(write_text(tmp_path / "x.csv", text), **A_AND_B)


def test_quote_without_end_is_refused_where_it_takes_up_the_rest(tmp_path):
    path = write_text(tmp_path / "x.csv", 'label,a,b\n0,1,2\n0,1,"2\n')
    with pytest.raises(CorruptFileError, match=r"damaged: no quote ends the cell"):
        load_one(path, multi_line=True, **A_AND_B)


def test_later_part_must_have_the_columns(tmp_path):
    write_text(tmp_path / "a.csv", "label,a,b\n0,1,2\n")
    write_text(tmp_path / "b.csv", "label,a,c\n0,1,2\n")
    partition = open_path(str(tmp_path), **A_AND_B).partitions[1]
    with pytest.raises(ColumnError, match=r"b\.csv: column 'b' must exist"):
        partition.load()


def test_foreign_compression_is_refused(tmp_path):
    path = write_text(tmp_path / "x.csv.lzo", WITH_HEADER)
    with pytest.raises(DataError, match=r"must be plain, or end in .*, got \.lzo"):
        open_path(path, format="csv", **A_AND_B)


@pytest.mark.parametrize("name", ["x.csv", "x.json"])
@pytest.mark.parametrize("columns", [A_AND_B, {}])
def test_file_without_a_byte_has_no_example(tmp_path, name, columns):
    path = write_text(tmp_path / name, "")
    with pytest.raises(
        DataError, match=rf"{name}: must hold at least one example, got"
    ):
        open_path(path, format=name[2:], **columns)


def test_file_without_last_line_end_is_whole_if_spark_did_not_write_it(tmp_path):
    path = write_text(tmp_path / "x.csv", WITH_HEADER.rstrip("\n"))
    assert load_one(path, **A_AND_B).num_examples == 2


def test_file_of_spark_without_last_line_end_is_cut_short(tmp_path):
    path = tmp_path / f"part-00000-{JOB}-c000.csv"
    with pytest.raises(
        CorruptFileError, match=r"cut short at offset 35\. Copy it .* end its last line"
    ):
        load_one(write_text(path, WITH_HEADER.rstrip("\n")), **A_AND_B)
