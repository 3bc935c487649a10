"""DataFrames pushed into the memory of workers: every row once, and nothing left."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from distributed import Client, LocalCluster
from pyarrow import flight

import daskdl
from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.spark import direct_inbox, direct_sending, direct_session
from daskdl_bridge.spark.direct import direct
from daskdl_bridge.spark.sources import SparkSources
from tests.spark.small_network import ROWS, WIDTH, small_arrays, small_network

pytestmark = [
    pytest.mark.timeout(300),
    # No pandas takes part in mapInArrow.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
]


LOCAL = {
    "n_workers": 2,
    "threads_per_worker": 1,
    "host": "127.0.0.1",
    "dashboard_address": "127.0.0.1:0",
}


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(**LOCAL) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        yield client
        assert client.run(open_inboxes) == dict.fromkeys(client.nthreads(), 0)


def open_inboxes():
    return len(direct_inbox._OPEN)


@pytest.fixture(scope="module")
def arrays():
    return small_arrays()


@pytest.fixture(scope="module")
def frame(spark, arrays):
    rows = [
        (f"k{i}", x.tolist(), int(y))
        for i, (x, y) in enumerate(zip(*arrays, strict=True))
    ]
    made = spark.createDataFrame(rows, "k string, features array<float>, label int")
    return made.repartition(5).cache()


def opened(data, **options):
    return SparkSources().open(data, SourceOptions(**{"key": "k", **options}))


def loaded(client, data, **options):
    """Return the features by key, as workers that hold none of them load them."""
    partitions = opened(data, **options).partitions
    there = [
        client.submit(type(partition).load, partition, pure=False, workers=[worker])
        for partition in partitions
        for worker in client.nthreads()
    ]
    sets = client.gather(there)
    n_workers = len(client.nthreads())
    for first, second in zip(sets[::n_workers], sets[1::n_workers], strict=True):
        assert np.array_equal(first.features, second.features)
    return [
        (key, tuple(x))
        for one in sets[::n_workers]
        for key, x in zip(one.keys, one.features.tolist(), strict=True)
    ]


def expected(arrays):
    return [(f"k{i}", tuple(x)) for i, x in enumerate(arrays[0].tolist())]


@pytest.fixture
def small_pieces(monkeypatch):
    """Have tasks send pieces of a few rows."""
    monkeypatch.setattr(direct_sending, "_PIECE_BYTES", 200)


def test_every_worker_reads_every_row(client, frame, arrays):
    with direct(frame, client) as data:
        assert data.rows == ROWS
        assert {piece.inbox.worker for piece in data.pieces} == {*client.nthreads()}
        assert sorted(loaded(client, data)) == sorted(expected(arrays))


def test_rows_stay_in_their_order(spark, client, small_pieces):
    ordered = spark.range(0, 500, 1, 3).selectExpr("array(float(id)) features", "id k")
    with direct(ordered, client) as data:
        assert len(data.pieces) > 10
        keys = [key for key, _ in loaded(client, data, require_labels=False)]
        assert keys == list(range(500))


def test_it_trains_and_evaluates_as_an_export(client, frame):
    front = daskdl.DaskMultiLayer(client, small_network(WIDTH))
    with direct(frame, client, columns=["features", "label"]) as data:
        front.fit(data, epochs=5, batch_size=20, listeners=[])
        assert front.last_fit.epochs[0].examples == ROWS
        assert front.evaluate(data).accuracy() > 0.9


def test_predictions_are_written_with_their_keys(client, frame, tmp_path):
    front = daskdl.DaskMultiLayer(client, small_network(WIDTH))
    output = str(tmp_path / "predictions")
    with direct(frame, client) as data:
        front.fit(data, batch_size=20, listeners=[])
        assert front.feed_forward_with_key(data, key="k", output=output) == ROWS
        assert front.score(data) > 0


def test_vectors_come_as_vectors(client, frame, arrays):
    from pyspark.ml.functions import array_to_vector

    vectors = frame.withColumn("features", array_to_vector("features"))
    with direct(vectors, client) as data:
        assert sorted(loaded(client, data)) == sorted(expected(arrays))


def test_what_memory_has_no_room_for_is_written(
    client, frame, arrays, tmp_path, small_pieces
):
    limit = 1000
    where = str(tmp_path)
    with direct(frame, client, memory_limit=limit, export_directory=where) as data:
        spilled = [piece for piece in data.pieces if piece.url]
        files = list(tmp_path.glob("daskdl-direct-*/*.arrows"))
        assert len(files) == len(spilled) < len(data.pieces)
        assert max(client.run(held_bytes).values()) <= 2 * limit + 10_000
        assert sorted(loaded(client, data)) == sorted(expected(arrays))
    assert list(tmp_path.iterdir()) == []


def held_bytes():
    (inbox,) = direct_inbox._OPEN.values()
    return sum(buffer.size for buffer in inbox.pieces._buffers.values())


def test_without_room_it_says_what_to_do(client, frame, small_pieces):
    with pytest.raises(daskdl.OptionError, match=r"1,000 bytes each.*export_directory"):
        direct(frame, client, memory_limit=1000)


def test_a_failed_job_leaves_nothing(spark, client, tmp_path):
    broken = spark.range(9).selectExpr("int(raise_error('no')) label")
    with pytest.raises(Exception, match="no"):
        direct(broken, client, export_directory=str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_task_that_is_tried_again_counts_once():
    """In a process of its own: only a master with failures tries again."""
    program = pathlib.Path(__file__).parent / "direct_program.py"
    ran = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=250
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[-1]) == {
        "failed attempts": 3,
        "held before": True,
        "held after": True,
        "rows": True,
    }


def test_a_worker_that_died_is_named_with_what_to_do(frame):
    with (
        LocalCluster(**LOCAL) as cluster,
        Client(cluster) as client,
        direct(frame, client) as data,
    ):
        lost = data.pieces[0].inbox.worker
        os.kill(client.run(os.getpid)[lost], signal.SIGKILL)
        wait_until(lambda: lost not in client.nthreads())
        front = daskdl.DaskMultiLayer(client, small_network(WIDTH))
        with pytest.raises(daskdl.DaskdlError, match=f"{lost}.*daskdl.spark.export"):
            front.fit(data, batch_size=20, listeners=[])


def test_a_stopped_worker_holds_no_task(frame, monkeypatch):
    """Though the scheduler counts it as there, and it neither answers nor fails."""
    push = direct_session.Session.push
    stopped = []

    def to_a_stopped_worker(session, *given):
        worker = session._inboxes[0].worker
        stopped.append((worker, session._client.run(os.getpid)[worker]))
        os.kill(stopped[0][1], signal.SIGSTOP)
        return push(session, *given)

    monkeypatch.setattr(direct_session.Session, "push", to_a_stopped_worker)
    with LocalCluster(**LOCAL) as cluster, Client(cluster) as client:
        try:
            with pytest.raises(daskdl.WorkerLostError) as found:
                direct(frame, client, worker_timeout_s=10.0)
            assert f"worker {stopped[0][0]} must hold its rows" in str(found.value)
            assert "no heartbeat for 10 s" in str(found.value)
            assert "daskdl.spark.export" in str(found.value)
            context = frame.sparkSession.sparkContext
            assert context.statusTracker().getActiveJobsIds() == []
        finally:
            os.kill(stopped[0][1], signal.SIGCONT)


def test_series_invalid_rows_and_further_columns_are_taken(client, spark, tmp_path):
    rows = [(0, [1.0, 2.0], 0), (1, [3.0], 1), (2, None, 1), (3, [4.0, 5.0, 6.0], 0)]
    made = spark.createDataFrame(rows, "k int, series array<double>, label int")
    how = {"features": "series", "label": "label", "key": "k", "align": "start"}
    with direct(made.coalesce(1), client) as data:
        (partition,) = opened(data, **how, handle_invalid="skip").partitions
        (found,) = partition.load_rows()
    assert found.skipped == 1
    assert found.keys.tolist() == [0, 1, 3]
    assert found.examples.features.shape == (3, 1, 3)
    assert found.examples.features_mask.tolist() == [[1, 1, 0], [1, 0, 0], [1, 1, 1]]


def test_kept_columns_stand_beside_predictions(client, frame, spark, tmp_path):
    front = daskdl.DaskMultiLayer(client, small_network(WIDTH))
    output = str(tmp_path / "predictions")
    with direct(frame, client) as data:
        front.feed_forward_with_key(data, key="k", keep="label", output=output)
    kept = spark.read.parquet(output).select("k", "label")
    assert sorted(map(tuple, kept.collect())) == sorted(
        map(tuple, frame.select("k", "label").collect())
    )


def wait_until(is_so, limit_s=30.0):
    end_s = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < end_s
        time.sleep(0.05)


def test_what_a_client_leaves_is_freed(cluster, client, frame):
    with Client(cluster, set_as_default=False) as other:
        look_every_s = direct_inbox._LOOK_EVERY_S
        client.run(look_every, 0.2)
        direct(frame, other)
        assert set(client.run(open_inboxes).values()) == {1}
    wait_until(lambda: set(client.run(open_inboxes).values()) == {0})
    client.run(look_every, look_every_s)


def look_every(seconds):
    direct_inbox._LOOK_EVERY_S = seconds


def test_workers_that_cannot_be_reached_are_named(client, frame, monkeypatch):
    def nowhere(options):
        return "grpc://127.0.0.1:1"

    monkeypatch.setattr(direct_session, "open_inbox", nowhere)
    message = r"none does: .*127\.0\.0\.1:1.*daskdl\.spark\.export"
    with pytest.raises(daskdl.ClusterError, match=message):
        direct(frame, client)


def test_an_inbox_demands_the_token(client, frame):
    with direct(frame, client) as data:
        piece = data.pieces[0]
        stranger = direct_sending.Access("guessed")
        with (
            stranger.connect(piece.inbox.uri) as opened,
            pytest.raises(flight.FlightUnauthenticatedError),
        ):
            opened.do_get(flight.Ticket(b"{}"), stranger.options(10)).read_all()


def test_a_cluster_with_tls_has_inboxes_with_tls(frame, arrays):
    with (
        LocalCluster(**LOCAL, security=True) as cluster,
        Client(cluster) as client,
        direct(frame, client) as data,
    ):
        assert {piece.inbox.uri.split(":")[0] for piece in data.pieces} == {"grpc+tls"}
        assert sorted(loaded(client, data)) == sorted(expected(arrays))


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (lambda spark: [1], {}, r"must be a DataFrame or an RDD.*list"),
        (lambda spark: spark.range(3), {"memory_limit": "much"}, "got 'much'"),
        (lambda spark: spark.range(3), {"memory_limit": 0}, "memory_limit"),
        (lambda spark: spark.range(0), {}, "at least one row"),
        (
            lambda spark: spark.readStream.format("rate").load(),
            {},
            "with an end, got a stream",
        ),
    ],
)
def test_what_cannot_be_sent_is_refused(spark, client, make, options, message):
    with pytest.raises(daskdl.DaskdlError, match=message):
        direct(make(spark), client, **options)


def test_it_is_not_to_be_had_after_its_block(client, frame):
    with direct(frame, client) as data:
        pass
    with pytest.raises(daskdl.OptionError, match="has ended"):
        opened(data)


def test_columns_and_options_are_checked_as_of_files(client, frame):
    with direct(frame, client) as data:
        with pytest.raises(daskdl.ColumnError, match="'lable'"):
            opened(data, label="lable")
        with pytest.raises(daskdl.OptionError, match="export_directory"):
            opened(data, export_directory="hdfs:///x")
