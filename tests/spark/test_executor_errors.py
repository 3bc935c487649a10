"""What is wrong with data is told by the names that a user of Spark has for them."""

import sys

import numpy as np
import pytest

import daskdl
from daskdl.errors import ColumnError, DataError
from tests.spark.small_network import small_network

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
]

APPROACHES = ["direct", "export"]


@pytest.fixture
def front(client):
    return daskdl.DaskMultiLayer(client, small_network(1))


@pytest.mark.parametrize("approach", APPROACHES)
def test_a_bad_number_of_an_rdd_is_a_data_error(front, spark, approach):
    labels = np.eye(2)
    examples = [(np.ones(1), labels[0]), (np.array([np.nan]), labels[1])]
    rdd = spark.sparkContext.parallelize(examples, 1)
    with pytest.raises(DataError, match=r"^Spark RDD: features .* finite numbers, got"):
        front.fit(rdd, batch_size=2, rdd_training_approach=approach)


def test_a_bad_number_to_predict_from_is_a_data_error(front, spark):
    pairs = [(1, np.zeros(1)), (2, np.array([np.nan]))]
    rdd = spark.sparkContext.parallelize(pairs, 1)
    with pytest.raises(DataError, match="of the key 2 must be finite numbers"):
        front.feed_forward_with_key(rdd)


@pytest.mark.parametrize("approach", APPROACHES)
def test_what_else_fails_in_an_executor_stays_as_it_is(front, spark, approach):
    rdd = spark.sparkContext.parallelize([1, 0], 1)
    broken = rdd.map(lambda x: (np.array([1.0 / x]), np.eye(2)[0]))
    with pytest.raises(Exception, match="ZeroDivisionError") as caught:
        front.fit(broken, batch_size=2, rdd_training_approach=approach)
    if sys.version_info >= (3, 11):
        assert "Python failed in an executor" in caught.value.__notes__[0]


@pytest.mark.parametrize("approach", APPROACHES)
def test_a_null_is_told_of_the_frame_and_its_column(front, spark, approach):
    rows = [(float(i), None if i > 2 else 1) for i in range(5)]
    frame = spark.createDataFrame(rows, "x double, label int").coalesce(1)
    expected = (
        "^Spark DataFrame: column 'label' must hold a value in every row, at least 2 "
        r"are null\.$"
    )
    with pytest.raises(DataError, match=expected):
        front.fit(frame, features="x", batch_size=2, rdd_training_approach=approach)


def test_a_missing_column_is_told_before_any_job(front, spark):
    rdd = spark.sparkContext.parallelize([(1.0, 2)], 1)
    frame = spark.createDataFrame(
        rdd.map(lambda row: (1.0 / 0.0, row[1])), "features double, label int"
    )
    with pytest.raises(ColumnError, match=r"'feat' .* Did you mean 'features'"):
        front.feed_forward_with_key(frame, features="feat")


@pytest.mark.parametrize("held", [True, False])
def test_an_indicator_must_leave_rows_for_both(spark, held):
    frame = spark.createDataFrame([(1.0, 0, held)], "x double, label int, held boolean")
    estimator = daskdl.spark.Classifier(
        network=small_network(1), featuresCol="x", validationIndicatorCol="held"
    )
    expected = r"^Classifier: validationIndicatorCol must leave rows .* 'held' is"
    with pytest.raises(DataError, match=expected):
        estimator.fit(frame)
