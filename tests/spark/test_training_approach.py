"""What the training master says of DataFrames and RDDs: by files, or into memory."""

import itertools

import numpy as np
import pytest
from distributed import Client, LocalCluster

import daskdl
from daskdl.data.dataset import DataSet
from daskdl_bridge.spark import direct_inbox
from daskdl_bridge.spark.direct import direct
from tests.spark.small_network import (
    ROWS,
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

SIZES = [7, 20, 13, 40, 60, 100]


@pytest.fixture(scope="module")
def client():
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=2, host="127.0.0.1", **options) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def nothing_left(client):
    yield
    daskdl.spark.delete_temp_files()
    assert set(client.run(open_inboxes).values()) == {0}


def open_inboxes():
    return len(direct_inbox._OPEN)


@pytest.fixture(scope="module")
def arrays():
    return small_arrays()


def as_datasets(features, labels):
    one_hot = np.eye(2, dtype=np.float32)[labels]
    bounds = itertools.pairwise(np.cumsum([0, *SIZES]))
    return [
        DataSet(features[start:stop], one_hot[start:stop]) for start, stop in bounds
    ]


@pytest.fixture(scope="module")
def data(spark, arrays):
    """What DL4J's users give, by its kind."""
    from pyspark.mllib.regression import LabeledPoint

    features, labels = arrays
    plain = [
        (f"k{i}", x.tolist(), int(y))
        for i, (x, y) in enumerate(zip(features, labels, strict=True))
    ]
    of = spark.sparkContext.parallelize
    return {
        "frame": spark.createDataFrame(
            plain, "k string, features array<float>, label int"
        ).repartition(3),
        "datasets": of(as_datasets(features, labels), 3),
        "examples": of(list(zip(features, labels, strict=True)), 3),
        "labeled points": of([LabeledPoint(float(y), x) for _, x, y in plain], 3),
        "pairs": of([(k, features[i]) for i, (k, _, _) in enumerate(plain)], 3),
    }


def front_end(client, approach="export", directory=None):
    where = None if directory is None else str(directory)
    master = daskdl.ParameterAveragingTrainingMaster(
        rdd_training_approach=approach, export_directory=where, dealing="fixed"
    )
    return daskdl.DaskMultiLayer(client, small_network(WIDTH), master)


def pushes(client):
    """How many pieces workers hold, told while a fit runs."""
    return sum(client.run(held_pieces).values())


def held_pieces():
    return sum(len(one.pieces._held) for one in direct_inbox._OPEN.values())


class Looking(daskdl.Listener):
    """Notes where the data are while workers train."""

    def __init__(self, client, directory):
        self.client, self.directory = client, directory
        self.pieces = self.files = None

    def on_epoch_end(self, fit):
        self.pieces = pushes(self.client)
        self.files = len(list(self.directory.glob("daskdl-export-*")))


KINDS = ["frame", "datasets", "examples", "labeled points"]


@pytest.mark.parametrize("approach", ["export", "direct"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_master_says_how_rows_come(client, data, tmp_path, kind, approach):
    front = front_end(client, approach, tmp_path)
    looking = Looking(client, tmp_path)
    size = None if kind == "datasets" else 20
    front.fit(data[kind], epochs=4, batch_size=size, listeners=[looking])
    assert (looking.pieces > 0, looking.files) == (
        approach == "direct",
        int(approach == "export"),
    )
    assert front.last_fit.epochs[0].examples == ROWS
    assert front.evaluate(data[kind]).accuracy() > 0.8


@pytest.mark.parametrize("of_master", ["export", "direct"])
def test_the_call_counts_before_the_master(client, data, tmp_path, of_master):
    of_call = {"export": "direct", "direct": "export"}[of_master]
    front = front_end(client, of_master, tmp_path / "master")
    looking = Looking(client, tmp_path / "call")
    front.fit(
        data["frame"],
        batch_size=20,
        listeners=[looking],
        rdd_training_approach=of_call,
        export_directory=str(tmp_path / "call"),
    )
    assert (looking.pieces > 0, looking.files) == (
        of_call == "direct",
        int(of_call == "export"),
    )
    assert not (tmp_path / "master").exists()


def test_an_rdd_of_datasets_keeps_its_minibatches(client, data, arrays):
    front = front_end(client, "direct")
    front.fit(data["datasets"], epochs=2, listeners=[])
    assert front.network.iteration_count == len(SIZES)
    minibatches = as_datasets(*arrays)
    assert front.score(data["datasets"]) == pytest.approx(front.score(minibatches))


def test_what_memory_has_no_room_for_is_written(client, data, arrays, tmp_path):
    front = front_end(client)
    where = str(tmp_path)
    with direct(
        data["datasets"], client, memory_limit=1000, export_directory=where
    ) as there:
        assert list(tmp_path.glob("daskdl-direct-*/*.arrows"))
        assert front.score(there) == pytest.approx(front.score(as_datasets(*arrays)))
    assert list(tmp_path.iterdir()) == []


def test_predictions_of_a_direct_master_come_back_by_files(client, data, tmp_path):
    front = front_end(client, "direct", tmp_path)
    assert front.feed_forward_with_key(data["frame"]).count() == ROWS
    assert front.feed_forward_with_key(data["pairs"]).count() == ROWS
    assert len(list(tmp_path.glob("daskdl-export-*"))) == 4


def test_predictions_are_written_without_an_export(client, data, tmp_path):
    front = front_end(client, "direct", tmp_path / "none")
    output = str(tmp_path / "predicted")
    assert front.feed_forward_with_key(data["frame"], key="k", output=output) == ROWS
    # Made for what memory has no room for.
    assert list((tmp_path / "none").iterdir()) == []


def test_predictions_for_spark_are_not_to_be_had_directly(client, data):
    front = front_end(client)
    with pytest.raises(daskdl.OptionError, match="must be 'export' for predictions"):
        front.feed_forward_with_key(data["frame"], rdd_training_approach="direct")


def test_a_network_without_workers_says_so(data):
    network = daskdl.MultiLayerNetwork(small_network(WIDTH))
    with pytest.raises(daskdl.OptionError, match="opened without workers"):
        network.fit(data["frame"], batch_size=20, rdd_training_approach="direct")


def test_a_bad_option_is_told_before_anything_is_sent(client, data, monkeypatch):
    def sent(*_, **__):
        pytest.fail("rows were sent")

    monkeypatch.setattr("daskdl_bridge.spark.opening.direct", sent)
    front = front_end(client, "direct")
    with pytest.raises(daskdl.OptionError, match="multi_line"):
        front.fit(data["frame"], batch_size=20, listeners=[], multi_line=True)
    with pytest.raises(daskdl.ColumnError, match="'lable'"):
        front.fit(data["frame"], batch_size=20, listeners=[], label="lable")


def test_an_export_that_was_made_is_not_exported(client, data, tmp_path):
    front = front_end(client, "direct", tmp_path / "master")
    with daskdl.spark.export(data["frame"], str(tmp_path)) as there:
        front.fit(there, batch_size=20, listeners=[])
        with pytest.raises(daskdl.OptionError, match="export_directory"):
            front.evaluate(there, export_directory=str(tmp_path))
    assert not (tmp_path / "master").exists()


@pytest.mark.parametrize("approach", ["export", "direct"])
def test_rows_of_an_rdd_are_skipped_or_kept_as_of_a_dataframe(
    spark, client, arrays, tmp_path, approach
):
    import pyarrow.parquet as pq
    from pyspark.sql import Row

    rows = [
        Row(id=i, x=None if i % 5 == 1 else x.tolist(), label=int(y), s=f"s{i}")
        for i, (x, y) in enumerate(zip(*arrays, strict=True))
    ]
    rdd = spark.sparkContext.parallelize(rows, 3)
    front = front_end(client, approach, tmp_path / "exports")
    how = {"features": "x", "batch_size": 20}
    front.fit(rdd, **how, listeners=[], handle_invalid="skip")
    assert front.last_fit.epochs[0].examples == ROWS - ROWS // 5
    output = str(tmp_path / "predicted")
    front.feed_forward_with_key(
        rdd, **how, key="id", keep="s", handle_invalid="keep", output=output
    )
    written = pq.read_table(output).to_pylist()
    assert {row["id"]: row["s"] for row in written} == {r.id: r.s for r in rows}
    without = {row["id"] for row in written if row["prediction"] is None}
    assert without == {row.id for row in rows if row.x is None}


@pytest.mark.parametrize("approach", ["export", "direct"])
def test_rows_of_an_rdd_may_hold_series(spark, client, rng, tmp_path, approach):
    from pyspark.sql import Row

    rows = [
        Row(x=rng.normal(size=(2 + i % 4, 3)).tolist(), label=i % 2) for i in range(24)
    ]
    rdd = spark.sparkContext.parallelize(rows, 3)
    front = daskdl.DaskMultiLayer(client, small_recurrent_network(3))
    how = {"features": "x", "align": "end", "rdd_training_approach": approach}
    how["export_directory"] = str(tmp_path)
    front.fit(rdd, **how, batch_size=8, listeners=[])
    assert front.last_fit.epochs[0].examples == len(rows)
