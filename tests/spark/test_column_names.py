"""Columns may be called anything that Spark lets them be called."""

import numpy as np
import pytest

import daskdl
from daskdl_bridge.spark.column_names import quoted
from tests.spark.small_network import small_network

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
]

DOTTED, TICKED, LABEL = "x.y", "a`b.c", "is it.so"
HELD, KEY = "held.back", "the.`key"
FEATURES = [DOTTED, TICKED]


@pytest.fixture(scope="module")
def frame(spark):
    drawn = np.random.default_rng(0).normal(size=(60, 2))
    rows = [
        (f"k{i}", *map(float, x), float(x[0] > 0), i % 4 == 0)
        for i, x in enumerate(drawn)
    ]
    made = spark.createDataFrame(rows, [KEY, *FEATURES, LABEL, HELD])
    return made.repartition(2).cache()


@pytest.fixture
def front(client):
    return daskdl.DaskMultiLayer(client, small_network(2))


@pytest.mark.parametrize("approach", ["direct", "export"])
def test_names_reach_the_workers_as_they_are(front, frame, approach, tmp_path):
    how = {"features": FEATURES, "rdd_training_approach": approach}
    found = front.evaluate(frame, label=LABEL, **how)
    assert found.num_examples == 60
    url = str(tmp_path / "predictions")
    front.feed_forward_with_key(frame, output=url, key=KEY, keep=[DOTTED, HELD], **how)
    written = frame.sparkSession.read.parquet(url)
    assert {KEY, DOTTED, HELD} < set(written.columns)
    assert written.select(quoted(KEY)).distinct().count() == 60


def test_predictions_stand_beside_such_columns(front, frame):
    scored = front.feed_forward_with_key(frame, features=FEATURES)
    assert scored.columns[:5] == frame.columns
    assert scored.count() == 60


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_a_model_predicts_from_the_columns_that_it_was_trained_on(frame, kind):
    output = {} if kind == "Classifier" else {"n_out": 1, "loss": "mse"}
    estimator = getattr(daskdl.spark, kind)(
        network=small_network(2, **output),
        featuresCols=FEATURES,
        labelCol=LABEL,
        predictionCol="pre.dicted",
        validationIndicatorCol=HELD,
        numWorkers=1,
    )
    scored = estimator.fit(frame).transform(frame)
    assert scored.select("`pre.dicted`").count() == 60
    assert len(scored.collect()) == 60


def test_a_model_predicts_from_vectors_of_such_a_column(frame):
    from pyspark.ml.feature import VectorAssembler

    plain = frame.toDF("key", "x", "y", LABEL, HELD)
    assembler = VectorAssembler(inputCols=["x", "y"], outputCol="all.of`it")
    vectors = assembler.transform(plain)
    estimator = daskdl.spark.Classifier(
        network=small_network(2),
        featuresCol="all.of`it",
        labelCol=LABEL,
        numWorkers=1,
    )
    scored = estimator.fit(vectors).transform(vectors)
    assert len(scored.collect()) == 60
