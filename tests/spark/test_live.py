"""DataFrames and RDDs handed over as they are, and back as what they were."""

import itertools

import numpy as np
import pytest

import daskdl
from daskdl.data.dataset import DataSet
from tests.spark.small_network import ROWS, WIDTH, small_arrays, small_network

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def arrays():
    return small_arrays()


@pytest.fixture(scope="module")
def frame(spark, arrays):
    from pyspark.sql import functions

    features, labels = arrays
    rows = [
        (f"k{i}", x.tolist(), int(y))
        for i, (x, y) in enumerate(zip(features, labels, strict=True))
    ]
    made = spark.createDataFrame(rows, "k string, features array<float>, label int")
    # What has no counterpart here is not to be lost.
    spanned = made.withColumn("span", functions.expr("interval '1 2' day to hour"))
    return spanned.withColumn("pairs", functions.expr("map(k, label)")).repartition(3)


@pytest.fixture
def front(client):
    return daskdl.DaskMultiLayer(client, small_network(WIDTH))


@pytest.fixture(autouse=True)
def exports_there(tmp_path, monkeypatch):
    """Have exports go to a directory of the test's own."""
    directory = tmp_path / "exports"
    monkeypatch.setenv("DASKDL_EXPORT_DIRECTORY", str(directory))
    yield directory
    daskdl.spark.delete_temp_files()


def test_a_dataframe_trains_and_comes_back_with_all_its_columns(frame, front):
    front.fit(frame, epochs=5, batch_size=20, listeners=[])
    scored = front.feed_forward_with_key(frame)
    assert scored.columns == [*frame.columns, "prediction", "probability"]
    assert scored.schema["probability"].dataType.simpleString() == "vector"
    kept = scored.drop("prediction", "probability")
    assert kept.schema.simpleString() == frame.schema.simpleString()
    assert sorted(map(str, kept.collect())) == sorted(map(str, frame.collect()))
    right = scored.where("prediction = label").count() / ROWS
    assert right == pytest.approx(front.evaluate(frame).accuracy())
    assert right > 0.9


def test_one_object_is_exported_once(frame, front, exports_there):
    front.fit(frame, batch_size=20, listeners=[])
    front.evaluate(frame)
    assert len(list(exports_there.glob("daskdl-export-*"))) == 1


def test_an_export_outlives_spark_jobs_and_goes_with_its_block(
    frame, front, exports_there
):
    with daskdl.spark.export(frame, columns=["features", "label"]) as there:
        front.fit(there, epochs=2, batch_size=20, listeners=[])
        assert front.evaluate(there).accuracy() > 0.5
    assert list(exports_there.glob("*")) == []


def test_the_same_rows_train_as_from_a_path(frame, client, tmp_path):
    path = str(tmp_path / "written")
    frame.select("features", "label").write.parquet(path)
    networks = []
    for data in (frame, path):
        front = daskdl.DaskMultiLayer(
            client,
            small_network(WIDTH),
            daskdl.AllReduceTrainingMaster(dealing="fixed"),
        )
        front.fit(data, epochs=2, batch_size=20, listeners=[])
        networks.append(front.network.params.copy())
    assert np.array_equal(*networks)


def test_pairs_come_back_as_an_rdd_with_their_keys(spark, front, arrays):
    features, _ = arrays
    pairs = [((i, f"k{i}"), x) for i, x in enumerate(features)]
    rdd = spark.sparkContext.parallelize(pairs, 5)
    back = dict(front.feed_forward_with_key(rdd).collect())
    expected = front.network.output(features)
    assert back.keys() == {key for key, _ in pairs}
    assert all(np.array_equal(back[key], expected[key[0]]) for key in back)


def test_an_rdd_of_datasets_keeps_its_minibatches(spark, front, arrays):
    features, labels = arrays
    one_hot = np.eye(2, dtype=np.float32)[labels]
    sizes = [7, 20, 13, 40, 60, 100]
    bounds = np.cumsum([0, *sizes])
    datasets = [
        DataSet(features[start:stop], one_hot[start:stop])
        for start, stop in itertools.pairwise(bounds)
    ]
    rdd = spark.sparkContext.parallelize(datasets, 3)
    network = daskdl.MultiLayerNetwork(small_network(WIDTH))
    network.fit(rdd, epochs=2, listeners=[])
    assert network.iteration_count == 2 * len(sizes)
    front.fit(rdd, epochs=2, listeners=[])
    assert front.last_fit.epochs[0].examples == ROWS
    assert front.score(rdd) == pytest.approx(front.score(datasets), rel=1e-6)


@pytest.mark.parametrize("kind", ["pairs", "labeled points", "rows"])
def test_an_rdd_of_examples_trains(spark, front, arrays, kind):
    from pyspark.mllib.regression import LabeledPoint
    from pyspark.sql import Row

    make = {
        "pairs": lambda x, y: (x, y),
        "labeled points": lambda x, y: LabeledPoint(float(y), x.tolist()),
        "rows": lambda x, y: Row(features=x.tolist(), label=int(y)),
    }[kind]
    examples = [make(x, y) for x, y in zip(*arrays, strict=True)]
    rdd = spark.sparkContext.parallelize(examples, 3)
    front.fit(rdd, epochs=3, batch_size=20, listeners=[])
    assert front.last_fit.epochs[0].examples == ROWS
    assert front.evaluate(rdd).accuracy() > 0.8


def test_fit_paths_takes_an_rdd_of_paths(spark, frame, front, tmp_path):
    for name in ("one", "two"):
        frame.select("features", "label").write.parquet(str(tmp_path / name))
    paths = [str(tmp_path / name) for name in ("one", "two")]
    rdd = spark.sparkContext.parallelize(paths)
    front.fit_paths(rdd, batch_size=20, listeners=[])
    assert front.last_fit.epochs[0].examples == 2 * ROWS


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ("frame", {"label": "lable"}, "'lable'"),
        ("frame", {"format": "csv"}, "format must be None"),
        ("numbers", {}, "elements must be DataSets"),
        ("empty", {}, "must hold an example"),
        ("stream", {}, "with an end"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    spark, frame, front, exports_there, data, options, message
):
    given = {
        "frame": lambda: frame,
        "numbers": lambda: spark.sparkContext.parallelize([1.0, 2.0]),
        "empty": lambda: spark.sparkContext.emptyRDD(),
        "stream": lambda: (
            spark.readStream.format("rate")
            .load()
            .selectExpr("array(value) features", "value label")
        ),
    }[data]()
    with pytest.raises(daskdl.DaskdlError, match=message):
        front.fit(given, batch_size=8, listeners=[], **options)
    assert list(exports_there.glob("*")) == []


def test_a_column_named_as_a_prediction_is_refused(frame, front):
    taken = frame.withColumnRenamed("k", "prediction")
    with pytest.raises(daskdl.OptionError, match="prediction"):
        front.feed_forward_with_key(taken)


def test_a_failed_job_leaves_no_export(spark, front, exports_there):
    broken = spark.range(9).selectExpr(
        "array(float(id)) features", "int(raise_error('no')) label"
    )
    with pytest.raises(Exception, match="no"):
        front.fit(broken, batch_size=8, listeners=[])
    assert list(exports_there.glob("*")) == []


def test_a_network_without_a_cluster_trains_on_a_dataframe(frame):
    network = daskdl.MultiLayerNetwork(small_network(WIDTH))
    network.fit(frame, epochs=5, batch_size=20, listeners=[])
    assert network.evaluate(frame).accuracy() > 0.9
