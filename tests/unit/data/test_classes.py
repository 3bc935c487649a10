"""Counts of classes, and weights from them."""

import numpy as np
import pytest

from daskdl import ClassCounts, DataSet, MultiDataSet, class_counts
from daskdl.errors import DataError
from tests.unit.bridge.table_files import write_parquet


def test_classes_of_all_partitions_are_counted():
    data = [DataSet(np.zeros((2, 1)), np.eye(3)[[0, 2]])]
    data.append(DataSet(np.zeros((3, 1)), np.eye(3)[[0, 0, 0]]))
    np.testing.assert_array_equal(class_counts(data).counts, [4, 0, 1])


def test_numbers_of_classes_are_counted():
    """A part need not hold an example of the last class."""
    data = [DataSet(np.zeros((2, 1)), [[0], [1]]), DataSet(np.zeros((1, 1)), [[3]])]
    np.testing.assert_array_equal(class_counts(data).counts, [1, 1, 0, 1])


def test_columns_of_tables_are_counted(tmp_path):
    columns = {"x": np.zeros(5), "y": np.array([1, 1, 2, 1, 0])}
    path = write_parquet(tmp_path / "x.parquet", columns)
    found = class_counts(path, features="x", label="y", n_classes=4)
    np.testing.assert_array_equal(found.counts, [1, 3, 1, 0])


def test_names_of_classes_come_along():
    data = DataSet(np.zeros((1, 1)), [[0, 1]], label_names=["cat", "dog"])
    assert class_counts(data).class_names == ("cat", "dog")


def test_weights_are_inverse_frequencies_of_mean_one():
    found = ClassCounts(np.array([8, 0, 2]))
    assert found.weights == (0.625, 0.0, 2.5)
    assert np.dot(found.weights, found.counts) == found.counts.sum()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "labels must hold one class an example.*got none"),
        (np.zeros((2, 3, 4)), r"labels must hold one class.*got shape \(2, 3, 4\)"),
        ([[1, 0], [1, 1]], r"labels must be one-hot rows.*got \[1, 1\] in row 1"),
        ([[1, 0], [0.5, 0.5]], r"labels must be one-hot rows.*in row 1"),
        ([[0], [-1]], "labels must hold integers from 0 to .*got -1 in row 1"),
    ],
)
def test_labels_must_tell_a_class(labels, message):
    with pytest.raises(DataError, match=message):
        class_counts(DataSet(np.zeros((2, 1)), labels), require_labels=False)


def test_several_outputs_tell_no_class():
    data = MultiDataSet([np.zeros((1, 1))], [np.ones((1, 1)), np.ones((1, 1))])
    with pytest.raises(DataError, match="one output to tell a class, got 2"):
        class_counts(data)
