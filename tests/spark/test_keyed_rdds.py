"""Predictions of RDDs with keys, written to a path and not given back to Spark."""

import numpy as np
import pytest

import daskdl
from daskdl.data.dataset import DataSet
from tests.spark.small_network import (
    WIDTH,
    small_arrays,
    small_network,
    small_recurrent_network,
)

pytestmark = [
    pytest.mark.timeout(300),
    # No pandas takes part in mapInArrow.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
]

APPROACHES = ["export", "direct"]


@pytest.fixture(autouse=True)
def exports_there(tmp_path, monkeypatch):
    """Have exports go to a directory of the test's own."""
    monkeypatch.setenv("DASKDL_EXPORT_DIRECTORY", str(tmp_path / "exports"))
    yield
    daskdl.spark.delete_temp_files()


@pytest.fixture(scope="module")
def features():
    return small_arrays()[0]


def predicted(front, rdd, approach, output, **options):
    """Write predictions; return their number, and the rows of Parquet by key."""
    import pyarrow.parquet as pq

    rows = front.feed_forward_with_key(
        rdd, output=output, rdd_training_approach=approach, **options
    )
    if options.get("output_format", "parquet") != "parquet":
        return rows, None
    written = pq.read_table(output).to_pylist()
    return rows, {row["key"]: row for row in written}


@pytest.mark.parametrize("approach", APPROACHES)
def test_pairs_are_written_with_their_keys(spark, client, features, approach, tmp_path):
    front = daskdl.DaskMultiLayer(client, small_network(WIDTH))
    pairs = [(f"k{i}", x) for i, x in enumerate(features)]
    rdd = spark.sparkContext.parallelize(pairs, 3)
    rows, written = predicted(front, rdd, approach, str(tmp_path / "out"))
    expected = front.network.output(features)
    found = [written[key]["probability"]["values"] for key, _ in pairs]
    assert rows == len(pairs)
    assert np.allclose(found, expected)


# Of the forms of keys that each format has.
OF_SPARK = {
    "csv": lambda spark, path: [
        int(row["key"]) for row in spark.read.csv(path, header=True).collect()
    ],
    "json": lambda spark, path: [row["key"] for row in spark.read.json(path).collect()],
    "pickle": lambda spark, path: spark.sparkContext.pickleFile(path).keys().collect(),
    "sequence_file": lambda spark, path: (
        spark.sparkContext.sequenceFile(path).keys().collect()
    ),
}


@pytest.mark.parametrize("output_format", OF_SPARK)
def test_pairs_are_written_in_the_format_that_is_asked_for(
    spark, client, features, output_format, tmp_path
):
    front = daskdl.DaskMultiLayer(client, small_network(WIDTH))
    rdd = spark.sparkContext.parallelize(list(enumerate(features)), 3)
    output = str(tmp_path / "out")
    rows, _ = predicted(front, rdd, "export", output, output_format=output_format)
    assert rows == len(features)
    assert sorted(OF_SPARK[output_format](spark, output)) == list(range(rows))


@pytest.mark.parametrize("approach", APPROACHES)
def test_series_are_written_with_their_masks_heeded(spark, client, approach, tmp_path):
    front = daskdl.DaskMultiLayer(client, small_recurrent_network(3))
    series = np.random.default_rng(5).normal(size=(12, 3, 6)).astype(np.float32)
    masks = (np.arange(6) <= np.arange(12)[:, None] % 6).astype(np.float32)
    triples = list(zip(range(12), series, masks, strict=True))
    rdd = spark.sparkContext.parallelize(triples, 2)
    _, written = predicted(front, rdd, approach, str(tmp_path / "out"))
    expected = front.network.output(series, features_mask=masks)
    found = [written[key]["probability"]["values"] for key in range(12)]
    assert np.allclose(found, expected, atol=1e-6)


def two_inputs():
    return daskdl.ComputationGraphConfiguration(
        seed=1,
        inputs={name: daskdl.Recurrent(size=2) for name in ("a", "b")},
        vertices={
            "steps_a": daskdl.SimpleRnn(n_out=3, inputs=["a"]),
            "steps_b": daskdl.SimpleRnn(n_out=3, inputs=["b"]),
            "last_a": daskdl.LastTimeStepVertex(inputs=["steps_a"], mask_input="a"),
            "last_b": daskdl.LastTimeStepVertex(inputs=["steps_b"]),
            "out": daskdl.Output(n_out=2, loss="mcxent", inputs=["last_a", "last_b"]),
        },
        outputs=["out"],
    )


@pytest.mark.parametrize("approach", APPROACHES)
def test_several_inputs_and_masks_are_written(spark, client, approach, tmp_path):
    front = daskdl.DaskComputationGraph(client, two_inputs())
    rng = np.random.default_rng(5)
    a, b = (rng.normal(size=(8, 2, 5)).astype(np.float32) for _ in range(2))
    masks = (np.arange(5) <= np.arange(8)[:, None] % 5).astype(np.float32)
    elements = [(i, (a[i], b[i]), (masks[i], None)) for i in range(8)]
    rdd = spark.sparkContext.parallelize(elements, 2)
    _, written = predicted(front, rdd, approach, str(tmp_path / "out"))
    expected = front.network.output([a, b], features_mask=[masks, None])
    found = [written[key]["probability"]["values"] for key in range(8)]
    assert np.allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("approach", APPROACHES)
def test_datasets_bring_their_keys(spark, client, features, approach):
    front = daskdl.DaskMultiLayer(client, small_network(WIDTH))
    datasets = [
        DataSet(features[start : start + 80], keys=np.arange(start, start + 80))
        for start in (0, 80, 160)
    ]
    rdd = spark.sparkContext.parallelize(datasets, 2)
    pairs = front.feed_forward_with_key(rdd, rdd_training_approach=approach)
    expected = front.network.output(features)
    assert sorted(key for key, _ in pairs) == list(range(240))
    assert all(np.allclose(found, expected[key]) for key, found in pairs)


def test_an_export_of_pairs_gives_pairs(spark, client, features):
    front = daskdl.DaskMultiLayer(client, small_network(WIDTH))
    rdd = spark.sparkContext.parallelize(list(enumerate(features)), 3)
    with daskdl.spark.export(rdd) as there:
        pairs = front.feed_forward_with_key(there)
    assert sorted(key for key, _ in pairs) == list(range(240))


def test_keys_that_no_file_holds_are_refused(spark, client, features, tmp_path):
    front = daskdl.DaskMultiLayer(client, small_network(WIDTH))
    pairs = [(frozenset([i]), x) for i, x in enumerate(features)]
    rdd = spark.sparkContext.parallelize(pairs, 3)
    with pytest.raises(daskdl.DataError, match="must be a number, a text"):
        front.feed_forward_with_key(rdd, output=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_elements_without_keys_are_refused(spark, client, features, tmp_path):
    front = daskdl.DaskMultiLayer(client, small_network(WIDTH))
    rdd = spark.sparkContext.parallelize([DataSet(features)], 1)
    with pytest.raises(daskdl.OptionError, match="holds the keys"):
        front.feed_forward_with_key(rdd, output=str(tmp_path / "out"))
