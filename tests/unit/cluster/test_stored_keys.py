"""Predictions whose keys have the type that they are stored in, in every part."""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from daskdl import Output
from daskdl.cluster.inference import InferenceTask, predict_source
from daskdl.cluster.results import pairs_of
from daskdl.data.sinks import open_sink
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.multilayer import MultiLayerNetwork
from tests.unit.bridge.ranged_files import ranges_of_bytes
from tests.unit.bridge.table_files import (
    open_path,
    write_json,
    write_parquet,
    write_text,
)
from tests.unit.cluster.inline_client import InlineClient
from tests.unit.cluster.stored_keys import STORED, UTC, day


@pytest.fixture(scope="module")
def network():
    return MultiLayerNetwork(
        MultiLayerConfiguration(
            layers=[Output(n_out=3, loss="mcxent")], input=FeedForward(size=1)
        )
    ).init()


def write_parts(directory, arrays, **options):
    for number, keys in enumerate(arrays):
        table = pa.table({"x": np.arange(float(len(keys))), "id": keys})
        path = directory / f"{number}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path, **options)
    return directory


def predicted(network, data, output, output_format="parquet", **options):
    """Predict as the command does; return the directory of the predictions."""
    source = open_path(
        str(data), features="x", key="id", require_labels=False, **options
    )
    sink = open_sink(str(output), format=output_format)
    sink.prepare()
    task = InferenceTask(batch_size=2, key=("id",))
    entries = predict_source(InlineClient(), network, source, sink, task)
    sink.commit([entry.path for entry in entries])
    return output


def predicted_of(kind, network, tmp_path):
    """Return the keys of the stored parts, and where the predictions are."""
    stored, parts = STORED[kind]
    arrays = [pa.array(keys, stored) for keys in parts]
    data = write_parts(tmp_path / "in", arrays)
    return arrays, predicted(network, data, tmp_path / "out")


def key_types(directory):
    parts = sorted(directory.glob("*.parquet"))
    types = [pq.read_schema(part).field("id").type for part in parts]
    # Not a set: equal lists can differ in the name of their elements, and by hash.
    return [kind for i, kind in enumerate(types) if kind not in types[:i]]


@pytest.mark.parametrize("kind", STORED)
def test_every_part_has_the_type_that_is_stored(kind, network, tmp_path):
    _, output = predicted_of(kind, network, tmp_path)
    assert key_types(output) == [STORED[kind][0]]


@pytest.mark.parametrize("kind", STORED)
def test_all_parts_are_read_as_one_table_with_every_key(kind, network, tmp_path):
    arrays, output = predicted_of(kind, network, tmp_path)
    found = pa.dataset.dataset(output, exclude_invalid_files=True).to_table()
    assert found["id"].to_pylist() == [
        key for array in arrays for key in array.tolist()
    ]


@pytest.mark.parametrize(
    ("days", "stored"),
    [
        (["1", "2", "__HIVE_DEFAULT_PARTITION__"], pa.int32()),
        (["1", "2.5", "__HIVE_DEFAULT_PARTITION__"], pa.float64()),
        (["1", "b", "__HIVE_DEFAULT_PARTITION__"], pa.string()),
        (["__HIVE_DEFAULT_PARTITION__"], pa.string()),
    ],
    ids=str,
)
def test_partition_directories_have_one_type(days, stored, network, tmp_path):
    for name in days:
        directory = tmp_path / "in" / f"id={name}"
        directory.mkdir(parents=True)
        pq.write_table(pa.table({"x": [1.0, 2.0]}), directory / "a.parquet")
    output = predicted(network, tmp_path / "in", tmp_path / "out")
    assert key_types(output) == [stored]


@pytest.mark.parametrize("kind", STORED)
def test_several_keys_are_columns_of_the_types_that_are_stored(kind, network, tmp_path):
    stored, parts = STORED[kind]
    for number, keys in enumerate(parts):
        columns = {
            "x": np.arange(float(len(keys))),
            "id": pa.array(keys, stored),
            "part": pa.array([number] * len(keys), pa.int16()),
        }
        path = tmp_path / f"in/{number}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), path)
    source = open_path(
        str(tmp_path / "in"), features="x", key=("part", "id"), require_labels=False
    )
    sink = open_sink(str(tmp_path / "out"))
    sink.prepare()
    task = InferenceTask(batch_size=2, key=("part", "id"))
    entries = predict_source(InlineClient(), network, source, sink, task)
    sink.commit([entry.path for entry in entries])
    found = pa.dataset.dataset(tmp_path / "out", exclude_invalid_files=True).to_table()
    first = pa.dataset.dataset(tmp_path / "in").to_table()
    for name in ("part", "id"):
        assert found[name].to_pylist() == first[name].to_pylist()
    assert key_types(tmp_path / "out") == [stored]


def test_times_of_nanoseconds_come_back_as_one_of_several_keys(network, tmp_path):
    times = pa.array([1, None, 3], pa.timestamp("ns"))
    columns = {"x": [1.0, 2.0, 3.0], "a": times, "b": [1, 2, 3]}
    path = write_parquet(tmp_path / "x.parquet", columns)
    (partition,) = open_path(
        path, features="x", key=("a", "b"), require_labels=False
    ).partitions
    first = np.empty(3, object)
    first[:] = [key[0] for key in partition.load().keys]
    assert partition.stored_keys(first, 0).equals(times)


def test_several_keys_are_tuples_in_pairs(network, tmp_path):
    path = write_json(tmp_path / "x.json", [{"x": 1.0, "a": "u", "b": 2}])
    source = open_path(path, features="x", key=("a", "b"), require_labels=False)
    task = InferenceTask(batch_size=2, key=("a", "b"))
    ((key, _),) = pairs_of(predict_source(InlineClient(), network, source, None, task))
    assert key == ("u", 2)


def test_int96_is_an_instant_as_in_spark(network, tmp_path):
    """The last day of the calendar too, which nanoseconds do not reach."""
    last = datetime.datetime(9999, 12, 31, tzinfo=UTC)
    naive = pa.array([day(1), last.replace(tzinfo=None)], pa.timestamp("us"))
    data = write_parts(
        tmp_path / "in",
        [naive, pa.nulls(1, naive.type)],
        use_deprecated_int96_timestamps=True,
        store_schema=False,
    )
    output = predicted(network, data, tmp_path / "out")
    assert key_types(output) == [pa.timestamp("us", "UTC")]
    assert pq.read_table(output)["id"].to_pylist() == [day(1, UTC), last, None]


def test_int96_within_a_struct_is_an_instant_too(network, tmp_path):
    stored = pa.struct([("at", pa.list_(pa.timestamp("us")))])
    data = write_parts(
        tmp_path / "in",
        [pa.array([{"at": [day(1)]}], stored)],
        use_deprecated_int96_timestamps=True,
        store_schema=False,
    )
    output = predicted(network, data, tmp_path / "out")
    assert pq.read_table(output)["id"].to_pylist() == [{"at": [day(1, UTC)]}]


def test_json_keys_have_one_type(network, tmp_path):
    (tmp_path / "in").mkdir()
    write_json(tmp_path / "in/0.json", [{"x": 1.0, "id": 7}, {"x": 2.0}])
    write_json(tmp_path / "in/1.json", [{"x": 1.0}, {"x": 2.0}])
    output = predicted(network, tmp_path / "in", tmp_path / "out")
    assert key_types(output) == [pa.int64()]


def test_csv_keys_are_text_in_every_part(network, tmp_path):
    (tmp_path / "in").mkdir()
    write_text(tmp_path / "in/0.csv", "x,id\n1.0,007\n")
    write_text(tmp_path / "in/1.csv", "x,id\n1.0,\n")
    output = predicted(network, tmp_path / "in", tmp_path / "out")
    assert key_types(output) == [pa.string()]


def test_ranges_of_a_file_are_predicted_in_the_order_of_its_rows(network, tmp_path):
    """Those in which no line begins leave no part."""
    keys = ["a", "b" * 40, "c", "d"]
    text = "x,id\n" + "".join(f"1.0,{key}\n" for key in keys)
    data = write_text(tmp_path / "x.csv", text)
    with ranges_of_bytes(10):
        output = predicted(network, data, tmp_path / "out")
    parts = [pq.read_table(part)["id"] for part in sorted(output.glob("*.parquet"))]
    assert [key for part in parts for key in part.to_pylist()] == keys
    assert all(parts)


def test_pickled_pairs_are_those_that_are_returned(network, tmp_path):
    data = write_parts(tmp_path / "in", [pa.array([5, 6, 7]), pa.array([8])])
    source = open_path(str(data), features="x", key="id", require_labels=False)
    entries = predict_source(InlineClient(), network, source, None, InferenceTask(2))
    returned = pairs_of(entries)
    output = predicted(network, data, tmp_path / "out", "pickle")
    written = open_path(
        str(output), features="value", key="key", require_labels=False, dtype="float64"
    )
    parts = [partition.load() for partition in written.partitions]
    assert [key for part in parts for key in part.keys] == [key for key, _ in returned]
    np.testing.assert_array_equal(
        np.concatenate([part.features for part in parts]),
        [output for _, output in returned],
    )


def test_keys_that_are_returned_stay_plain(network, tmp_path):
    data = write_parts(tmp_path / "in", [pa.array([1, None], pa.int32())])
    source = open_path(str(data), features="x", key="id", require_labels=False)
    task = InferenceTask(batch_size=2)
    entries = predict_source(InlineClient(), network, source, None, task)
    assert [key for key, _ in pairs_of(entries)] == [1, None]
