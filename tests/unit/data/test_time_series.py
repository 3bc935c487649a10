"""Time series of different lengths, padded and masked."""

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.source import SourceOptions
from daskdl.data.time_series import StepNumber, TimeSeries, padded_arrays
from daskdl.errors import DataError, OptionError, ShapeError

STEPS = np.array([[1, 10], [2, 20], [3, 30]], np.float32)
SERIES = TimeSeries(STEPS, np.array([1, 2]))


def padded(features, labels=(), *, align, at_last_step=(), **how):
    return padded_arrays(
        "x.parquet", features, labels, align=align, at_last_step=at_last_step, **how
    )


@pytest.mark.parametrize(
    ("align", "features", "mask"),
    [
        ("start", [[[1, 0], [10, 0]], [[2, 3], [20, 30]]], [[1, 0], [1, 1]]),
        ("end", [[[0, 1], [0, 10]], [[2, 3], [20, 30]]], [[0, 1], [1, 1]]),
    ],
)
def test_steps_stand_at_one_end(align, features, mask):
    made = padded([SERIES], align=align)
    np.testing.assert_array_equal(made.features[0], features)
    np.testing.assert_array_equal(made.features_masks[0], mask)


@pytest.mark.parametrize(
    ("align", "labels", "mask"),
    [
        ("start", [[[5, 0]], [[0, 6]]], [[1, 0], [0, 1]]),
        ("end", [[[0, 5]], [[0, 6]]], [[0, 1], [0, 1]]),
    ],
)
@pytest.mark.parametrize("data_format", ["NCW", "NWC"])
def test_label_of_a_series_stands_at_its_last_step(align, labels, mask, data_format):
    made = padded(
        [SERIES], [np.array([[5.0], [6.0]])], align=align, at_last_step=[data_format]
    )
    expected = np.array(labels)
    if data_format == "NWC":
        expected = expected.transpose(0, 2, 1)
    np.testing.assert_array_equal(made.labels[0], expected)
    np.testing.assert_array_equal(made.labels_masks[0], mask)


def test_labels_shorter_than_the_features_stand_at_the_same_end():
    short = TimeSeries(np.array([[7.0], [8.0]]), np.array([1, 1]))
    made = padded([SERIES], [short], align="end", at_last_step=["NCW"])
    np.testing.assert_array_equal(made.labels_masks[0], [[0, 1], [0, 1]])


def test_features_are_padded_to_labels_that_are_longer():
    longer = TimeSeries(np.ones((5, 1)), np.array([3, 2]))
    made = padded([SERIES], [longer], align="start", at_last_step=[None])
    np.testing.assert_array_equal(made.features_masks[0], [[1, 0, 0], [1, 1, 0]])


def test_equal_lengths_need_no_mask():
    equal = TimeSeries(STEPS[:2], np.array([1, 1]))
    made = padded([equal], align="equal_length")
    assert (made.features[0].shape, made.features_masks) == ((2, 2, 1), [None])


def test_other_lengths_are_refused_where_they_must_be_equal():
    with pytest.raises(DataError, match=r"got 1 and 2 steps in row 11\. Give align="):
        padded([SERIES], align="equal_length", first_row=10)


def test_more_than_memory_may_take_is_refused():
    with pytest.raises(DataError, match=r"got 2 of 2 features and up to 2 steps, whic"):
        padded([SERIES], align="start", most_bytes=31)


def test_a_step_is_told_with_its_row():
    numbers = StepNumber(np.array([2, 3]), 10)
    assert [str(numbers + step) for step in (0, 1, 2, 4)] == [
        "10, step 0",
        "10, step 1",
        "11, step 0",
        "11, step 2",
    ]


@pytest.mark.parametrize("word", ["ALIGN_END", "align_end", "end", "END"])
def test_words_of_dl4j_are_known(word):
    assert SourceOptions(align=word).align == "end"


def test_other_words_are_refused():
    with pytest.raises(OptionError, match="align must be one of 'end', 'equal_le"):
        SourceOptions(align="middle")


@pytest.mark.parametrize("option", ["features_mask", "labels_mask"])
def test_masks_of_columns_are_refused_beside_it(option):
    with pytest.raises(OptionError, match=f"{option} must be None with align"):
        SourceOptions(align="end", **{option: "mask"})


def series(n, time):
    return DataSet(np.ones((n, 2, time)), features_mask=np.ones((n, time)))


def test_merging_fills_at_the_beginning_of_series_that_end_together():
    merged = DataSet.merge([series(1, 1), series(1, 3)], align="end")
    np.testing.assert_array_equal(merged.features_mask, [[0, 0, 1], [1, 1, 1]])
    np.testing.assert_array_equal(merged.features[0, 0], [0, 0, 1])


def test_merging_of_several_inputs_does_so_too():
    each = [MultiDataSet.of(series(1, 1)), MultiDataSet.of(series(1, 3))]
    merged = MultiDataSet.merge(each, align="end")
    np.testing.assert_array_equal(merged.features_masks[0][0], [0, 0, 1])


def test_merging_refuses_lengths_that_must_be_equal():
    with pytest.raises(ShapeError, match=r"align='equal_length', got \[1, 3\]"):
        DataSet.merge([series(1, 1), series(1, 3)], align="equal_length")


def steps_first(length, features=2):
    shape = (1, length, features)
    return DataSet(np.ones(shape), features_mask=np.ones((1, length)))


def test_masks_tell_that_time_comes_before_features():
    merged = DataSet.merge([steps_first(3), steps_first(1)], align="end")
    assert merged.features.shape == (2, 3, 2)
    np.testing.assert_array_equal(merged.features[1, :, 0], [0, 0, 1])
    np.testing.assert_array_equal(merged.features_mask, [[1, 1, 1], [0, 0, 1]])


def test_other_numbers_of_features_are_refused_whatever_the_masks():
    with pytest.raises(ShapeError, match="examples of features must have one shape"):
        DataSet.merge([steps_first(3), steps_first(4, features=3)])
