import numpy as np
import pytest

from daskdl.data.examples import checked_features, first_bad_row
from daskdl.data.labels import labels_of, one_hot
from daskdl.errors import ColumnError, DataError

PART = "part-00001.parquet"


def labels(values, n_classes=10, **options):
    options = {"name": PART, "column": "label", **options}
    return labels_of(np.asarray(values), n_classes, **options)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "float64", "object"])
@pytest.mark.parametrize("shape", [(3,), (3, 1)])
def test_class_numbers_of_any_type_become_one_hot_rows(dtype, shape):
    rows = labels(np.array([2, 0, 1], dtype).reshape(shape), 3)
    np.testing.assert_array_equal(rows, np.eye(3, dtype=np.float32)[[2, 0, 1]])
    assert rows.dtype == np.float32


def test_booleans_are_two_classes():
    np.testing.assert_array_equal(labels([True, False], 2), [[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("values", "got"),
    [
        ([0, 1, 12], "12 in row 2"),
        ([0, -1, 12], "-1 in row 1"),
        ([0.5, 1.0], "0.5 in row 0"),
        ([1.0, np.nan], "nan in row 1"),
        ([np.inf, 1.0], "inf in row 0"),
        (np.array([1, None]), "null in row 1"),
        (np.array(["3", "4"]), "'3' in row 0"),
        (np.array([1, "x"], dtype=object), "'x' in row 1"),
        ([2**63], "9223372036854775808 in row 0"),
    ],
)
def test_what_is_no_class_number_is_named(values, got):
    with pytest.raises(
        DataError,
        match=rf"^{PART}: column 'label' must hold integers from 0 to 9, got {got}\.$",
    ):
        labels(values)


def test_rows_are_counted_from_the_first_row_of_the_partition():
    with pytest.raises(DataError, match=r"got 12 in row 37\."):
        labels([3, 12], first_row=36)


def test_rows_of_numbers_pass_through():
    rows = np.array([[0.2, 0.8], [1.0, 0.0]])
    np.testing.assert_array_equal(labels(rows, 2, dtype=np.float64), rows)


def test_rows_of_another_width_are_refused():
    with pytest.raises(ColumnError, match=r"one integer or 3 numbers a row, got 2\.$"):
        labels([[0.2, 0.8]], 3)


@pytest.mark.parametrize("n_classes", [None, 2])
def test_rows_that_are_not_finite_are_named(n_classes):
    with pytest.raises(
        DataError, match=r"must hold finite numbers, got nan in row 1\.$"
    ):
        labels([[0.0, 1.0], [np.nan, 1.0]], n_classes)


def test_one_number_an_example_is_a_column_without_classes():
    assert labels([0.5, 1.5], None).shape == (2, 1)


def test_a_missing_number_to_predict_is_named():
    with pytest.raises(
        DataError, match=r"must hold finite numbers, got null in row 1\.$"
    ):
        labels(np.array([0.5, None]), None)


def test_time_series_of_class_rows_pass_with_their_width():
    series = np.zeros((2, 3, 5))
    assert labels(series, 3).shape == (2, 3, 5)


def test_no_examples_are_no_rows():
    assert one_hot(np.array([], dtype=int), 4).shape == (0, 4)


def features(values, **options):
    return checked_features(np.asarray(values), name=PART, column="x", **options)


def test_features_are_cast_and_shaped():
    cast = features(np.arange(8, dtype=np.uint8).reshape(2, 4), feature_shape=(1, 2, 2))
    assert cast.shape == (2, 1, 2, 2)
    assert cast.dtype == np.float32


def test_one_number_an_example_is_a_feature():
    assert features([1.0, 2.0]).shape == (2, 1)


@pytest.mark.parametrize("options", [{"n_features": 3}, {"feature_shape": (3, 1)}])
def test_features_of_another_width_are_refused(options):
    with pytest.raises(
        ColumnError,
        match=rf"^{PART}: column 'x' must hold 3 numbers an example, got 2\.$",
    ):
        features([[1.0, 2.0]], **options)


@pytest.mark.parametrize(
    ("values", "got"),
    [
        ([[0.0, 1.0], [np.nan, 1.0]], "nan in row 1"),
        ([[0.0, -np.inf]], "-inf in row 0"),
        ([[0.0], [1e39]], r"1e\+39, which is too large for float32, in row 1"),
        (np.array([[1.0], [None]]), "None in row 1"),
        (np.array([["a"]]), "'a' in row 0"),
    ],
)
def test_features_that_are_not_finite_are_named(values, got):
    with pytest.raises(
        DataError,
        match=rf"^{PART}: column 'x' must hold finite numbers, got {got}\.$",
    ):
        features(values)


def test_what_float32_cannot_hold_is_fine_in_float64():
    assert features([[1e39]], dtype="float64")[0, 0] == 1e39


def test_objects_that_are_numbers_are_fine():
    np.testing.assert_array_equal(features(np.array([1, 2.5, True], object))[1], [2.5])


def test_no_rows_hold_no_bad_one():
    assert first_bad_row(np.zeros((0, 3))) is None
