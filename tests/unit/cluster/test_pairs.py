"""Keyed pairs as data sets: of one input, and of several."""

import numpy as np
import pytest

from daskdl.cluster.results import dataset_of_pairs
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.errors import ShapeError


def test_features_of_one_input_are_stacked():
    examples = dataset_of_pairs([("a", np.ones(3)), ("b", [1, 2, 3])])
    assert isinstance(examples, DataSet)
    assert list(examples.keys) == ["a", "b"]
    np.testing.assert_array_equal(examples.features, [[1, 1, 1], [1, 2, 3]])


def test_a_feature_may_be_a_number():
    examples = dataset_of_pairs([("a", 1.5), ("b", 2)])
    np.testing.assert_array_equal(examples.features.ravel(), [1.5, 2])


def test_a_list_of_lists_is_one_array():
    examples = dataset_of_pairs([(7, [[1, 2], [3, 4]])])
    assert examples.features.shape == (1, 2, 2)


@pytest.mark.parametrize("kind", [tuple, list])
def test_arrays_of_several_inputs_are_stacked_each(kind):
    pairs = [(key, kind([np.full(3, key), np.full(2, -key)])) for key in (1, 2)]
    examples = dataset_of_pairs(pairs)
    assert isinstance(examples, MultiDataSet)
    assert [array.shape for array in examples.features] == [(2, 3), (2, 2)]
    np.testing.assert_array_equal(examples.features[1][:, 0], [-1, -2])
    assert list(examples.keys) == [1, 2]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (np.ones(4), r"features of 'b' must have the shape \(3,\) of those of 'a'"),
        ((np.ones(3), np.ones(2)), "features of 'b' must be 1 arrays as those of 'a'"),
    ],
)
def test_an_example_unlike_the_first_is_named(second, message):
    with pytest.raises(ShapeError, match=message):
        dataset_of_pairs([("a", np.ones(3)), ("b", second)])
