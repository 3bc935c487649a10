"""What daskdl refuses in an executor comes back as its error; the rest with a note."""

import sys
import traceback

import numpy as np
import pytest

from daskdl.errors import ClusterError, DataError, ShapeError
from daskdl_bridge.element_blocks import rows_of_datasets, rows_of_pairs
from daskdl_bridge.spark.executor_errors import telling_executor_errors

# What classic Spark has around it, cut short.
_JAVA = (
    "An error occurred while calling o84.parquet.\n"
    ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in "
    "stage 1.0 failed 1 times\nCaused by: org.apache.spark.api.python."
    "PythonException: {}\n\tat org.apache.spark.api.python.BasePythonRunner.read\n"
)


class PythonException(Exception):
    """As pyspark raises it."""


def failing(rows):
    """Raise what Spark makes of the error of `rows`, as export and direct do."""
    with telling_executor_errors("export"):
        try:
            list(rows)
        except Exception:  # noqa: BLE001 - as Spark does
            text = traceback.format_exc()
            raise PythonException(_JAVA.format(text)) from None


def test_a_number_that_is_none_is_refused_as_data():
    expected = "^Spark RDD: features of the key 2 must be finite numbers, got .*nan.*$"
    with pytest.raises(DataError, match=expected):
        failing(rows_of_pairs([(1, np.zeros(1)), (2, np.array([np.nan]))]))


def test_a_message_is_one_line_whatever_the_element_prints():
    with pytest.raises(DataError, match=r"got array\(\[\[.*nan.*\]\]\)\.$") as caught:
        failing(rows_of_pairs([("k", np.array([[0.0, 1.0], [np.nan, 2.0]]))]))
    assert "\n" not in str(caught.value)


def test_an_element_among_datasets_must_be_one():
    with pytest.raises(DataError, match=r"must all be DataSets .* got \(1, 2\)\.$"):
        failing(rows_of_datasets([(1, 2)]))


@pytest.mark.parametrize("kind", [ShapeError, ClusterError])
def test_an_error_of_daskdl_keeps_class_and_sentence(kind):
    def rows():
        yield
        raise kind("Dense: x must be of 2 columns, got 3.")

    with pytest.raises(kind, match=r"^Dense: x must be of 2 columns, got 3\.$"):
        failing(rows())


def test_other_errors_stay_and_get_a_note():
    with pytest.raises(PythonException, match="ZeroDivisionError") as caught:
        failing(1 / number for number in [0])
    if sys.version_info >= (3, 11):
        assert "export: Python failed in an executor" in caught.value.__notes__[0]


def test_an_error_of_this_process_stays_as_it_is():
    with (
        pytest.raises(DataError, match=r"^here\.$"),
        telling_executor_errors("export"),
    ):
        raise DataError("here.")


def test_dates_that_spark_3_does_not_write_are_told_with_what_to_set():
    text = "SparkUpgradeException: [INCONSISTENT.WRITE_ANCIENT_DATETIME] You may get"
    expected = r'^export: dates must be .*datetimeRebaseModeInWrite", "CORRECTED"\)'
    with (
        pytest.raises(DataError, match=expected),
        telling_executor_errors("export"),
    ):
        raise PythonException(_JAVA.format(text))
