"""JSON lines as Spark writes them."""

import numpy as np
import pytest

from daskdl.errors import ColumnError, CorruptFileError, DataError
from tests.unit.bridge.table_files import load_one, open_path, write_json, write_text

ROWS = [
    {"id": 1, "label": 0, "features": [1.0, 2], "x": 3, "note": "a"},
    {"id": 2, "label": 1, "features": [3.0, 4], "x": 4.5},
]


def test_arrays_numbers_and_keys(tmp_path):
    path = write_json(tmp_path / "x.json", ROWS)
    batch = load_one(path, features=("features", "x"), key="id", n_classes=2)
    np.testing.assert_array_equal(batch.features, [[1, 2, 3], [3, 4, 4.5]])
    np.testing.assert_array_equal(batch.labels, np.eye(2))
    assert batch.keys.tolist() == [1, 2]


def test_vectors(tmp_path):
    rows = [
        {"features": {"type": 1, "values": [1.0, 0.0, 2.0]}},
        {"features": {"type": 0, "size": 3, "indices": [1], "values": [5.0]}},
    ]
    batch = load_one(write_json(tmp_path / "x.json", rows), require_labels=False)
    np.testing.assert_array_equal(batch.features, [[1, 0, 2], [0, 5, 0]])


@pytest.mark.parametrize(
    ("key", "kind"), [("text", str), ({"a": 1, "b": "x"}, dict), (2**60, int)]
)
def test_keys_of_any_type(tmp_path, key, kind):
    path = write_json(tmp_path / "x.json", [{"key": key, "features": [1.0]}])
    (found,) = load_one(path, key="key", require_labels=False).keys.tolist()
    assert (type(found), found) == (kind, key)


def test_columns_are_found_in_later_files_too(tmp_path):
    """A column that is null throughout a file is missing from it."""
    write_json(tmp_path / "a.json", [{"features": [1.0], "label": 1}])
    write_json(tmp_path / "b.json", [{"features": [1.0], "label": 1, "key": "k"}])
    partitions = open_path(str(tmp_path), key="key").partitions
    keys = [partition.load().keys.tolist() for partition in partitions]
    assert keys == [[None], ["k"]]


def test_rows_are_counted_without_blank_lines(tmp_path):
    path = write_text(tmp_path / "x.json", '{"features": 1}\n\n \n{\n')
    with pytest.raises(CorruptFileError, match="row 1 is not"):
        load_one(path, require_labels=False)


def test_column_that_is_missing_from_a_file_is_null(tmp_path):
    write_json(tmp_path / "a.json", ROWS)
    write_json(tmp_path / "b.json", [{"label": 1}])
    partition = open_path(str(tmp_path)).partitions[1]
    with pytest.raises(DataError, match=r"b\.json: column 'features' .* row 0 is null"):
        partition.load()


@pytest.mark.parametrize("text", ["", "\n"])
def test_file_without_records_has_no_rows(tmp_path, text):
    write_json(tmp_path / "a.json", ROWS)
    write_text(tmp_path / "b.json", text)
    assert open_path(str(tmp_path)).partitions[1].load().num_examples == 0


def test_long_records_are_no_trouble(tmp_path):
    """pyarrow refuses records that span two of its blocks of 1 MiB."""
    rows = [{"features": [0.123456789] * 100_000, "label": 1}] * 2
    path = write_json(tmp_path / "x.json", rows)
    assert load_one(path).features.shape == (2, 100_000)


def test_whole_numbers_may_become_fractions(tmp_path):
    """Where the column was sampled all were whole."""
    rows = [{"x": n % 3, "label": n % 2} for n in range(1500)]
    rows[1400]["x"] = 0.5
    path = write_json(tmp_path / "x.json", rows)
    features = load_one(path, features="x", n_classes=2).features
    np.testing.assert_array_equal(features[:, 0], [row["x"] for row in rows])


def test_whole_numbers_of_one_file_may_be_fractions_in_the_next(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    write_json(folder / "a.json", [{"x": 1, "label": 2}])
    write_json(folder / "b.json", [{"x": -0.5, "label": 1.5}])
    source = open_path(folder, features="x", label="label")
    second = source.partitions[1].load()
    assert (second.features.item(), second.labels.item()) == (-0.5, 1.5)


@pytest.mark.parametrize("key", [3.7, 2**64 + 1])
def test_a_key_that_is_no_whole_number_as_others_are_is_refused(tmp_path, key):
    rows = [{"key": n, "x": 1} for n in range(1200)] + [{"key": key, "x": 1}]
    path = write_json(tmp_path / "x.json", rows)
    with pytest.raises(ColumnError, match=f"'key' must hold int64.*{key} in row 1200"):
        load_one(path, features="x", key="key", require_labels=False)


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([*ROWS, {"label": 1}], DataError, r"'features' .* row 2 is null"),
        ([*ROWS, {"features": [1.0, "NaN"], "label": 1}], DataError, r"finite.* row 2"),
        (
            [*ROWS, {"features": [1.0, None], "label": 1}],
            DataError,
            r"element 1 of row 2",
        ),
        (
            [*ROWS, {"features": [1.0], "label": 1}],
            DataError,
            r"row 0 has 2, row 2 has 1",
        ),
        ([*ROWS, {"features": "x", "label": 1}], ColumnError, r"got 'x' in row 2"),
        ([*ROWS, {"features": {}, "label": 1}], ColumnError, r"got {} in row 2"),
        ([*ROWS, {"features": "\ud800", "label": 1}], ColumnError, "in row 2"),
        ([{"features": "x", "label": 1}], ColumnError, r"hold numbers.*got string"),
        ([{"features": "\ud800", "label": 1}], ColumnError, r"numbers.*got string"),
        ([{"features": {"\ud800": 1}, "label": 1}], ColumnError, r"got string"),
        ([{"features": {"a": 1 << 70}, "label": 1}], ColumnError, r"got string"),
        (
            [{"features": {"a": 1}, "label": 1}],
            ColumnError,
            r"hold numbers.*got struct",
        ),
    ],
)
def test_bad_values_are_refused(tmp_path, rows, error, message):
    path = write_json(tmp_path / "x.json", rows)
    with pytest.raises(error, match=message):
        load_one(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [('{"features": [1.0, 2', r"row 2 is not"), ("[1]", r"row 2 is b'\[1\]'")],
)
def test_damaged_lines_are_refused(tmp_path, line, message):
    path = write_json(tmp_path / "x.json", ROWS)
    write_text(tmp_path / "x.json", (tmp_path / "x.json").read_text() + line + "\n")
    with pytest.raises(CorruptFileError, match=message):
        load_one(path)


DOCUMENT = '[\n {"label": 0,\n  "a": 1.5, "id": "ü"},\n {"a": 2, "label": 1}\n]'


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "ISO-8859-1"])
def test_document_that_spans_lines(tmp_path, encoding):
    path = tmp_path / "x.json"
    path.write_bytes(DOCUMENT.encode(encoding))
    options = {"features": "a", "label": "label", "key": "id", "encoding": encoding}
    batch = load_one(str(path), multi_line=True, **options)
    assert batch.features.tolist() == [[1.5], [2]]
    assert batch.keys.tolist() == ["ü", None]


def test_document_of_one_object_is_one_row(tmp_path):
    path = write_text(tmp_path / "x.json", '{"a":\n 1.5}\n')
    batch = load_one(path, features="a", require_labels=False, multi_line=True)
    assert batch.features.tolist() == [[1.5]]


def test_lines_in_another_encoding(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes('{"a": 1.5, "id": "ü"}\n'.encode("latin-1"))
    options = {"features": "a", "key": "id", "require_labels": False}
    batch = load_one(str(path), encoding="latin-1", **options)
    assert batch.keys.tolist() == ["ü"]


def test_document_that_is_none_is_refused(tmp_path):
    path = write_text(tmp_path / "x.json", '{"a": 1}\n{"a": 2}\n')
    with pytest.raises(CorruptFileError, match="one JSON document with multi_line"):
        load_one(path, features="a", require_labels=False, multi_line=True)


def test_byte_order_mark_is_dropped(tmp_path):
    path = write_text(tmp_path / "x.json", '\ufeff{"a": 1.5}\n')
    assert load_one(path, features="a", require_labels=False).num_examples == 1


@pytest.mark.parametrize("depth", [2_000, 100_000])
@pytest.mark.parametrize("row", [0, 1])
def test_a_row_that_is_nested_without_end_is_refused(tmp_path, depth, row):
    good = '{"features": [1.0], "label": 1}\n'
    deep = f'{{"features": {"[" * depth}{"]" * depth}, "label": 1}}\n'
    path = write_text(tmp_path / "x.json", good * row + deep + good)
    with pytest.raises(DataError, match=r"nested deeper|JSON"):
        load_one(path)


@pytest.mark.parametrize("depth", [2_000, 100_000])
def test_a_column_that_is_nested_without_end_is_refused(tmp_path, depth):
    deep = f'{{"features": [1.0], "label": {"[" * depth}{"]" * depth}}}\n'
    path = write_text(tmp_path / "x.json", deep)
    with pytest.raises(DataError, match=r"nested deeper|JSON"):
        load_one(path)


def test_a_key_that_is_nested_without_end_is_refused(tmp_path):
    deep = f'{{"features": [1.0], "key": {"[" * 2_000}{"]" * 2_000}}}\n'
    path = write_text(tmp_path / "x.json", deep)
    with pytest.raises(DataError, match=r"nested deeper|JSON"):
        load_one(path, key="key", require_labels=False)


@pytest.mark.parametrize("depth", [2_000, 100_000])
def test_a_document_that_is_nested_without_end_is_refused(tmp_path, depth):
    path = write_text(tmp_path / "x.json", "[" * depth + "]" * depth)
    with pytest.raises(CorruptFileError, match="must be one JSON document"):
        load_one(path, features="a", require_labels=False, multi_line=True)
