"""Numbers and lists of numbers to arrays."""

import decimal

import numpy as np
import pyarrow as pa
import pytest

from daskdl.errors import ColumnError, DataError
from daskdl_bridge.readers.arrays import decode_lists, decode_numbers
from daskdl_bridge.readers.error_location import ErrorLocation

LOCATION = ErrorLocation("part-0", "x", 10)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 0], pa.int8()),
        pa.array([1, 0], pa.uint64()),
        pa.array([1.0, 0.0], pa.float32()),
        pa.array([True, False]),
        pa.array([decimal.Decimal("1.00"), decimal.Decimal("0.00")]),
    ],
    ids=lambda column: str(column.type),
)
def test_numbers_of_every_type(column):
    found = decode_numbers(column, LOCATION, "float32")
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [1, 0])


def test_null_number_is_refused_with_its_row():
    with pytest.raises(DataError, match=r"column 'x' .* row 11 is null"):
        decode_numbers(pa.array([1, None]), LOCATION, "float32")


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.float32()),
        pa.large_list(pa.float64()),
        pa.list_(pa.int32(), 2),
        pa.list_(pa.decimal128(5, 2)),
    ],
    ids=str,
)
def test_lists_of_every_layout(kind):
    values = [[1, 2], [3, 4], [5, 6]]
    if pa.types.is_decimal(kind.value_type):
        values = [[decimal.Decimal(v) for v in row] for row in values]
    column = pa.array(values, kind).slice(1)
    found = decode_lists(column, LOCATION, "float32")
    np.testing.assert_array_equal(found, [[3, 4], [5, 6]])


def test_lists_of_lists_keep_their_shape():
    values = np.arange(24.0).reshape(2, 3, 4)
    found = decode_lists(pa.array(values.tolist()), LOCATION, "float64")
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.0], [1.0, 2.0]], r"row 10 has 1, row 11 has 2"),
        ([[1.0], []], r"row 10 has 1, row 11 has 0"),
        ([[[1.0], [2.0]], [[1.0], [2.0, 3.0]]], r"row 10 has 1, row 11 has 2"),
        ([[[1.0], [2.0]], [[1.0]]], r"row 10 has 2, row 11 has 1"),
        ([[1.0], None], r"row 11 is null"),
        ([[[1.0], [2.0]], [[1.0], None]], r"row 11 is null"),
        ([[1.0, 2.0], [3.0, None]], r"element 1 of row 11 is null"),
    ],
)
def test_ragged_and_null_rows_are_refused(rows, message):
    with pytest.raises(DataError, match=message):
        decode_lists(pa.array(rows), LOCATION, "float32")


def test_null_list_of_fixed_size_is_refused():
    column = pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2))
    with pytest.raises(DataError, match=r"row 11 is null"):
        decode_lists(column, LOCATION, "float32")


def test_lists_of_text_are_refused():
    with pytest.raises(ColumnError, match=r"lists of numbers, got list<.*string>"):
        decode_lists(pa.array([["a"]]), LOCATION, "float32")


def test_no_rows():
    column = pa.array([], pa.list_(pa.float32()))
    assert decode_lists(column, LOCATION, "float32").shape == (0, 0)
