"""The estimators keep the contract of pyspark.ml."""

import math

import numpy as np
import pytest

import daskdl
from tests.spark.small_network import small_network

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
]

WIDTH = 3


@pytest.fixture(scope="module")
def frame(spark):
    features = np.random.default_rng(0).normal(size=(200, WIDTH))
    rows = [
        (*map(float, x), float(x[0] > 0), i % 4 == 0) for i, x in enumerate(features)
    ]
    schema = "a double, b double, c double, label double, held boolean"
    return spark.createDataFrame(rows, schema).repartition(2).cache()


@pytest.fixture(scope="module")
def model(frame):
    return classifier(maxIter=8, validationIndicatorCol="held").fit(frame)


def classifier(**options):
    return daskdl.spark.Classifier(
        network=small_network(WIDTH, n_out=2, loss="mcxent"),
        featuresCols=["a", "b", "c"],
        batchSize=20,
        numWorkers=1,
        **options,
    )


def test_spark_evaluates_what_the_model_adds(frame, model):
    from pyspark.ml.evaluation import (
        BinaryClassificationEvaluator,
        MulticlassClassificationEvaluator,
    )

    scored = model.transform(frame)
    added = ["prediction", "probability", "rawPrediction"]
    assert scored.columns == [*frame.columns, *added]
    accuracy = MulticlassClassificationEvaluator(metricName="accuracy").evaluate(scored)
    assert accuracy > 0.9
    assert BinaryClassificationEvaluator().evaluate(scored) > 0.95


def test_the_model_predicts_as_its_network_does(frame, model):
    rows = model.transform(frame).collect()
    features = np.array([[row.a, row.b, row.c] for row in rows], np.float32)
    expected = model.network.output(features)
    found = np.array([row.probability.toArray() for row in rows])
    assert np.allclose(found, expected, atol=1e-6)


def test_a_saved_model_is_the_same(frame, model, tmp_path):
    model.write().overwrite().save(str(tmp_path / "model"))
    loaded = daskdl.spark.ClassificationModel.load(str(tmp_path / "model"))
    assert loaded.uid == model.uid
    assert np.array_equal(loaded.network.params, model.network.params)
    assert loaded.features_columns() == ("a", "b", "c")


def test_a_saved_estimator_keeps_its_params(tmp_path):
    first = classifier(masterOptions={"averaging_frequency": 2})
    for _ in range(2):
        first.write().overwrite().save(str(tmp_path / "estimator"))
    loaded = daskdl.spark.Classifier.load(str(tmp_path / "estimator"))
    found = {p.name: value for p, value in loaded.extractParamMap().items()}
    assert found == {p.name: value for p, value in first.extractParamMap().items()}


def test_no_weight_is_in_a_param(model):
    longest = max(len(str(value)) for value in model.extractParamMap().values())
    assert longest < 1000


# Spark leaves the threads of its CrossValidator to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_cross_validator_finds_the_better_one(frame):
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    estimator = classifier()
    grid = ParamGridBuilder().addGrid(estimator.maxIter, [1, 8]).build()
    evaluator = MulticlassClassificationEvaluator(metricName="accuracy")
    fitted = CrossValidator(
        estimator=estimator,
        estimatorParamMaps=grid,
        evaluator=evaluator,
        numFolds=2,
        parallelism=2,
        seed=1,
    ).fit(frame)
    assert fitted.avgMetrics[1] > fitted.avgMetrics[0]


def test_early_stopping_keeps_the_best_network(frame):
    estimator = classifier(maxIter=50, validationIndicatorCol="held", patience=1)
    trained = estimator.fit(frame).network
    assert trained.epoch_count < 50


def test_a_regressor_predicts_numbers(frame):
    from pyspark.ml.evaluation import RegressionEvaluator

    regressor = daskdl.spark.Regressor(
        network=small_network(WIDTH, n_out=1, loss="mse", activation="identity"),
        featuresCols=["a", "b", "c"],
        labelCol="a",
        maxIter=30,
        batchSize=20,
        numWorkers=1,
    )
    scored = regressor.fit(frame).transform(frame)
    assert scored.columns == [*frame.columns, "prediction"]
    r2 = RegressionEvaluator(labelCol="a", metricName="r2").evaluate(scored)
    assert r2 > 0.8


def test_a_saved_network_is_a_udf(frame, model, tmp_path):
    path = str(tmp_path / "network.safetensors")
    model.network.save(path)
    predict = daskdl.spark.predict_udf(path)
    rows = frame.withColumn("scored", predict("a", "b", "c")).select("scored.*")
    expected = model.transform(frame).select("prediction").collect()
    found = [row.prediction for row in rows.collect()]
    assert found == [row.prediction for row in expected]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labelCol": "lable"}, "'lable' must be there"),
        ({"featuresCols": ["a", "z"]}, "'z' must be there"),
        ({"validationIndicatorCol": "no"}, "'no' must be there"),
    ],
)
def test_a_missing_column_is_refused_before_any_job(frame, options, message):
    estimator = classifier()
    estimator.setParams(**options)
    with pytest.raises(daskdl.OptionError, match=message):
        estimator.fit(frame)


WRONG = {
    "network": [3, "layers: 3", ["a"], {"layers": 3}],
    "featuresCol": [3, ["a"], None],
    "featuresCols": ["a", [], ["a", "a"], ["a", 1], 3],
    "labelCol": [3, ["a"], None],
    "predictionCol": [3, None],
    "probabilityCol": [3, None],
    "rawPredictionCol": [3, None],
    "classWeights": [1.0, "1", [], [1.0, -1.0], [1.0, math.inf], [1.0, "2"], [True]],
    "maxIter": [0, -1, 1.5, "3", True, None, [1]],
    "batchSize": [0, -1, 1.5, "3", True, None],
    "trainingMaster": [3, "avreaging", None, ["averaging"]],
    "masterOptions": [3, "a", ["a"], {1: 2}],
    "numWorkers": [0, -1, 1.5, "3", True],
    "seed": [-1, 1.5, "3", True],
    "validationIndicatorCol": [3, ["held"]],
    "patience": [0, -1, 1.5, "3", True, None],
    "exportDirectory": [3, "", ["a"]],
}


@pytest.mark.usefixtures("spark")
def test_each_param_of_an_estimator_has_wrong_values():
    assert {param.name for param in classifier().params} == WRONG.keys()


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in WRONG.items() for value in values],
    ids=repr,
)
def test_a_wrong_value_of_a_param_is_refused_when_it_is_set(name, value):
    estimator = daskdl.spark.Classifier()
    before = estimator.extractParamMap()
    with pytest.raises((daskdl.OptionError, TypeError), match=name):
        estimator.setParams(**{name: value})
    assert estimator.extractParamMap() == before


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", sorted(WRONG.keys() - {"seed"}))
def test_values_that_are_set_one_by_one_are_refused_too(name):
    estimator = daskdl.spark.Classifier()
    for value in WRONG[name]:
        with pytest.raises((ValueError, TypeError)):
            estimator.set(estimator.getParam(name), value)


@pytest.mark.usefixtures("spark")
def test_a_param_that_is_none_is_refused_by_its_nearest_name():
    with pytest.raises(daskdl.OptionError, match="Did you mean 'maxIter'"):
        classifier().setParams(maxIters=3)


@pytest.mark.usefixtures("spark")
def test_none_takes_a_param_back():
    estimator = classifier(masterOptions={"averaging_frequency": 2}, seed=3)
    estimator.setParams(masterOptions=None, seed=None)
    assert estimator.given("masterOptions") == {}
    assert not estimator.isSet(estimator.seed)


def test_a_model_refuses_a_wrong_size_of_minibatches(model):
    with pytest.raises(daskdl.OptionError, match="batchSize must be a whole number"):
        model.copy({model.batchSize: 0})


def test_an_estimator_needs_a_network(frame):
    with pytest.raises(daskdl.OptionError, match="network must be"):
        daskdl.spark.Classifier(featuresCols=["a"]).fit(frame)


def test_class_weights_weigh_the_loss(frame):
    """A class that hardly counts is predicted less than it comes."""
    estimator = classifier(maxIter=3, classWeights=[100.0, 0.01])
    scored = estimator.fit(frame).transform(frame)
    comes = frame.where("label = 1").count()
    assert scored.where("prediction = 1").count() < 0.7 * comes
    with pytest.raises(daskdl.OptionError, match="each of 2 classes"):
        classifier(classWeights=[1.0, 2.0, 3.0]).fit(frame)


def test_a_single_sigmoid_tells_one_of_two_classes(frame):
    from pyspark.ml.evaluation import BinaryClassificationEvaluator

    estimator = classifier(maxIter=8)
    one = small_network(WIDTH, n_out=1, loss="xent", activation="sigmoid")
    scored = estimator.setParams(network=one).fit(frame).transform(frame)
    right = scored.where("prediction = label").count()
    assert right > 180
    assert BinaryClassificationEvaluator().evaluate(scored) > 0.95
    for row in scored.take(5):
        assert row.probability.toArray().sum() == pytest.approx(1)
        assert row.prediction == float(row.probability[1] > 0.5)


def test_a_regressor_of_two_numbers_predicts_vectors(frame):
    from pyspark.sql import functions

    two = frame.withColumn("two", functions.array("a", "b"))
    regressor = daskdl.spark.Regressor(
        network=small_network(WIDTH, n_out=2, loss="mse", activation="identity"),
        featuresCols=["a", "b", "c"],
        labelCol="two",
        batchSize=20,
        numWorkers=1,
    )
    scored = regressor.fit(two).transform(two)
    assert scored.schema["prediction"].dataType.simpleString() == "vector"
    assert len(scored.first().prediction) == 2


def test_vectors_that_were_just_read_are_predicted(frame, spark, tmp_path):
    from pyspark.ml.feature import VectorAssembler

    columns = ["a", "b", "c"]
    assembler = VectorAssembler(inputCols=columns, outputCol="features")
    assembler.transform(frame).write.parquet(str(tmp_path / "vectors"))
    read = spark.read.parquet(str(tmp_path / "vectors"))
    estimator = daskdl.spark.Classifier(
        network=small_network(WIDTH, n_out=2, loss="mcxent"), numWorkers=1
    )
    trained = estimator.fit(read)
    scored = trained.transform(read).select("features", "prediction").collect()
    output = trained.network.output(np.array([row.features for row in scored]))
    assert [row.prediction for row in scored] == output.argmax(axis=1).tolist()


def test_rows_without_an_indicator_are_trained_on(frame):
    """And fits within a block train on the block's workers."""
    from pyspark.sql import functions

    is_held = functions.when(functions.col("held"), functions.lit(True))
    partly = frame.withColumn("held", is_held)
    with daskdl.spark.connect(frame.sparkSession, workers=1) as client:
        estimator = classifier(validationIndicatorCol="held")
        trained = estimator.fit(partly).network
        assert client.run(lambda: True)
    assert trained.iteration_count == math.ceil(150 / 20)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"featuresCol": "a"}, "must not be given together"),
        ({"validationIndicatorCol": "a"}, "must name a boolean column"),
        ({"network": "one output"}, "loss must be mcxent"),
    ],
)
def test_params_that_do_not_go_together_are_refused(frame, options, message):
    if "network" in options:
        options = {"network": small_network(WIDTH, n_out=1, loss="mse")}
    estimator = classifier().setParams(**options)
    with pytest.raises(daskdl.OptionError, match=message):
        estimator.fit(frame)


def test_a_model_of_another_kind_is_not_loaded(model, tmp_path):
    model.save(str(tmp_path / "model"))
    with pytest.raises(daskdl.OptionError, match="got a ClassificationModel"):
        daskdl.spark.RegressionModel.load(str(tmp_path / "model"))
