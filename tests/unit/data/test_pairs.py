"""Arrays without a data set around them, and what a look at their numbers finds."""

import dask.array as da
import numpy as np
import pytest
import xarray as xr

import daskdl as dl
from daskdl.data.finite import are_finite, check_finite
from daskdl.data.pairs import as_examples, is_pair
from daskdl.data.sources.source import open_source
from daskdl.errors import DataError


@pytest.mark.parametrize(
    "value",
    [
        (np.zeros((2, 1)), np.zeros(2)),
        ([[0.0], [1.0]], [0, 1]),
        ([np.zeros(2)], [True]),
        (xr.DataArray([[1.0]]), da.zeros(1)),
    ],
)
def test_two_arrays_in_a_tuple_are_a_pair(value):
    assert is_pair(value)
    assert as_examples("x", value).labels is not None


@pytest.mark.parametrize(
    "value",
    [
        [np.zeros(2), np.zeros(2)],
        (np.zeros(2),),
        ("a", "b"),
        (["a"], ["b"]),
        (dl.DataSet([[0.0]]), dl.DataSet([[0.0]])),
        ((np.zeros(2), np.zeros(2)), (np.zeros(2), np.zeros(2))),
    ],
)
def test_nothing_else_is(value):
    assert not is_pair(value)


def test_pairs_of_lists_are_a_source():
    (partition,) = open_source(([[0.0], [1.0]], [0, 1])).partitions
    assert partition.load().features.shape == (2, 1)


def test_lazy_arrays_keep_their_own_source():
    lazy = (da.zeros((4, 1), chunks=2), da.zeros((4, 1), chunks=2))
    assert len(open_source(lazy).partitions) == 2


def test_a_normalizer_learns_from_a_pair_and_from_columns_without_an_axis(rng):
    features, labels = rng.normal(size=(5, 2)), rng.normal(size=5)
    found = dl.NormalizerStandardize(fit_label=True).fit((features, labels))
    wanted = dl.NormalizerStandardize(fit_label=True)
    wanted.fit(dl.DataSet(features, labels[:, None]))
    np.testing.assert_array_equal(found.label_mean, wanted.label_mean)
    scaled = found.transform(dl.DataSet(features, labels))
    assert scaled.labels.shape == (5,)
    np.testing.assert_allclose(found.revert(scaled).labels, labels)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_found_anywhere(dtype, value):
    for place in range(6):
        values = np.zeros((2, 3), dtype)
        values.flat[place] = value
        assert not are_finite(values)
        with pytest.raises(DataError, match=f"row {place // 3}, column {place % 3}"):
            check_finite("who", "what", values)


def test_what_is_rounded_to_the_largest_number_is_finite():
    most = float(np.finfo("float32").max)
    check_finite("who", "what", np.array([most * (1 + 2e-8)]), dtype="float32")
    with pytest.raises(DataError, match=r"e\+38, which is too large for float32, in"):
        check_finite("who", "what", np.array([most * (1 + 1e-7)]), dtype="float32")


def test_what_does_not_count_may_be_anything():
    values = np.array([[np.nan, 1.0], [2.0, np.nan]])
    check_finite("who", "what", values, counts=np.isfinite(values))
    with pytest.raises(DataError, match="row 1, column 1"):
        check_finite("who", "what", values, counts=np.array([[False], [True]]))


@pytest.mark.parametrize(
    "values", [np.zeros((0, 3)), np.array([1, 2]), np.array([True])]
)
def test_no_numbers_and_whole_ones_are_finite(values):
    assert are_finite(values)


def test_a_wider_type_overflows_nowhere():
    values = np.ones(3, "float32")
    with np.errstate(all="raise"):
        assert are_finite(values, "float64")
