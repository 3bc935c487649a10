"""Further columns of tables that stand beside written predictions."""

import datetime
import decimal
import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from daskdl import Output
from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.inference import InferenceTask, predict_source
from daskdl.data.sinks import open_sink
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import ColumnError, OptionError
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.multilayer import MultiLayerNetwork
from daskdl_bridge.readers.vectors import VECTOR
from tests.unit.bridge.table_files import (
    open_path,
    write_json,
    write_orc,
    write_parquet,
    write_text,
)
from tests.unit.cluster.inline_client import InlineClient

SPARK = Path("tests/data/spark")

STRUCT = pa.struct([("a", pa.string()), ("b", pa.list_(pa.int16()))])
# Three rows each, and the type that Spark reads of it.
KEPT = {
    "int8": pa.array([1, None, 3], pa.int8()),
    "float32": pa.array([0.5, None, float("nan")], pa.float32()),
    "string": pa.array(["a", "", None]),
    "binary": pa.array([b"a", None, b""]),
    "bool": pa.array([True, None, False]),
    "decimal": pa.array([decimal.Decimal("1.50"), None, None], pa.decimal128(12, 2)),
    "date": pa.array([datetime.date(2024, 1, 2), None, None]),
    "instant": pa.array([1, None, 3], pa.timestamp("us", "UTC")),
    "wall clock": pa.array([1, None, 3], pa.timestamp("us")),
    "list": pa.array([[1], None, [None]], pa.list_(pa.int32())),
    "struct": pa.array([{"a": "x", "b": [1]}, None, {"a": None, "b": None}], STRUCT),
    "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int32())),
}


@pytest.fixture(scope="module")
def network():
    return MultiLayerNetwork(
        MultiLayerConfiguration(
            layers=[Output(n_out=3, loss="mcxent")], input=FeedForward(size=1)
        )
    ).init()


def written(network, data, output, *, key="id", **options):
    source = open_source(
        data, SourceOptions(features="x", key=key, require_labels=False, **options)
    )
    sink = open_sink(str(output))
    sink.prepare()
    task = InferenceTask(batch_size=2, key=(key,))
    entries = predict_source(InlineClient(), network, source, sink, task)
    sink.commit([entry.path for entry in entries])
    return pq.read_table(output)


@pytest.fixture
def data(tmp_path):
    """Two parts whose columns are of every type."""
    directory = tmp_path / "in"
    directory.mkdir()
    for number in range(2):
        columns = {"x": [1.0, 2.0, 3.0], "id": [3 * number + i for i in range(3)]}
        write_parquet(directory / f"{number}.parquet", columns | KEPT)
    return str(directory)


@pytest.mark.parametrize("name", KEPT)
def test_columns_keep_their_values_and_types(network, data, tmp_path, name):
    found = written(network, data, tmp_path / "out", keep=[name])[name]
    assert found.type.equals(KEPT[name].type)
    expected = pa.chunked_array([KEPT[name], KEPT[name]])
    assert str(found.to_pylist()) == str(expected.to_pylist())


def test_they_stand_between_keys_and_predictions(network, data, tmp_path):
    table = written(network, data, tmp_path / "out", keep=["string", "date"])
    names = ["id", "string", "date", "prediction", "probability"]
    assert table.column_names == names


def test_all_are_kept_once(network, data, tmp_path):
    table = written(network, data, tmp_path / "out", keep="all")
    names = ["id", "x", *KEPT, "prediction", "probability"]
    assert table.column_names == names


def test_rows_stay_beside_their_predictions(network, data, tmp_path):
    whole = written(network, data, tmp_path / "out", keep=["x"])
    assert whole["id"].to_pylist() == list(range(6))
    assert whole["x"].to_pylist() == [1.0, 2.0, 3.0] * 2


def test_fields_of_structs_are_kept_under_their_whole_name(network, data, tmp_path):
    table = written(network, data, tmp_path / "out", keep=["struct.a"])
    assert table["struct.a"].to_pylist() == ["x", None, None] * 2


@pytest.mark.parametrize(
    ("handling", "ids", "names"),
    [("skip", [0, 2], ["a", "c"]), ("keep", [0, 1, 2], ["a", "b", "c"])],
)
def test_invalid_rows_are_left_out_or_kept_with_them(
    network, tmp_path, handling, ids, names
):
    columns = {"x": [1.0, None, 3.0], "id": [0, 1, 2], "name": ["a", "b", "c"]}
    path = write_parquet(tmp_path / "x.parquet", columns)
    table = written(
        network, path, tmp_path / "out", keep="name", handle_invalid=handling
    )
    assert table["id"].to_pylist() == ids
    assert table["name"].to_pylist() == names


def test_blocks_of_a_large_part_come_in_order(network, tmp_path, monkeypatch):
    monkeypatch.setattr("daskdl_bridge.readers.parquet.BLOCK_BYTES", 20)
    path = tmp_path / "x.parquet"
    columns = {"x": np.arange(9.0), "id": range(9), "name": list("abcdefghi")}
    pq.write_table(pa.table(columns), path, row_group_size=2)
    table = written(network, str(path), tmp_path / "out", keep="name")
    assert "".join(table["name"].to_pylist()) == "abcdefghi"


ROWS = [{"x": 1.0, "id": 1, "name": "a", "n": 7}, {"x": 2.0, "id": 2, "name": None}]
COLUMNS = {name: [row.get(name) for row in ROWS] for name in ROWS[0]}


@pytest.mark.parametrize("form", ["csv", "json", "orc", "table"])
def test_other_forms_have_them_too(network, tmp_path, form):
    path = tmp_path / f"x.{form}"
    made = {
        "csv": lambda: write_text(path, "x,id,name,n\n1,1,a,7\n2,2,,\n"),
        "json": lambda: write_json(path, ROWS),
        "orc": lambda: write_orc(path, COLUMNS),
        "table": lambda: pa.table(COLUMNS),
    }[form]()
    table = written(network, made, tmp_path / "out", keep=["name", "n"])
    n = "7" if form == "csv" else 7
    assert table["name"].to_pylist() == ["a", None]
    assert table["n"].to_pylist() == [n, None]


def test_directories_are_columns(network, tmp_path):
    for day in ("1", "2"):
        directory = tmp_path / "in" / f"day={day}"
        directory.mkdir(parents=True)
        write_parquet(directory / "x.parquet", {"x": [1.0], "id": [int(day)]})
    table = written(network, str(tmp_path / "in"), tmp_path / "out", keep="all")
    assert table["day"].to_pylist() == [1, 2]


@pytest.mark.parametrize("kind", ["dense", "mixed", "sparse"])
def test_vectors_of_spark_stay_vectors(network, tmp_path, kind):
    path = f"{SPARK}/parquet_vector_{kind}"
    (partition, *_) = open_path(path, require_labels=False).partitions
    width = partition.load().features.shape[1]
    wide = MultiLayerNetwork(
        MultiLayerConfiguration(
            layers=[Output(n_out=2, loss="mcxent")], input=FeedForward(size=width)
        )
    ).init()
    source = open_path(path, key="label", keep="features", require_labels=False)
    sink = open_sink(str(tmp_path / "out"))
    sink.prepare()
    task = InferenceTask(batch_size=64, key=("label",))
    entries = predict_source(InlineClient(), wide, source, sink, task)
    sink.commit([entry.path for entry in entries])
    (first, *_) = sorted((tmp_path / "out").glob("*.parquet"))
    schema = pq.read_schema(first)
    spark = json.loads(schema.metadata[b"org.apache.spark.sql.parquet.row.metadata"])
    kinds = {field["name"]: field["type"] for field in spark["fields"]}
    assert kinds["features"]["class"] == "org.apache.spark.ml.linalg.VectorUDT"
    assert schema.field("features").type == VECTOR


def test_types_that_differ_between_files_are_widened(network, tmp_path):
    directory = tmp_path / "in"
    directory.mkdir()
    for name, n in (("a", pa.array([1], pa.int8())), ("b", pa.array([2**40]))):
        write_parquet(directory / f"{name}.parquet", {"x": [1.0], "id": [1], "n": n})
    table = written(network, str(directory), tmp_path / "out", keep="n")
    assert (table["n"].type, table["n"].to_pylist()) == (pa.int64(), [1, 2**40])


def test_all_of_files_with_other_columns_are_refused(tmp_path):
    write_parquet(tmp_path / "a.parquet", {"x": [1.0]})
    write_parquet(tmp_path / "b.parquet", {"x": [1.0], "more": [1]})
    with pytest.raises(ColumnError, match=r"b\.parquet: .* got 'more' besides"):
        open_path(str(tmp_path), features="x", keep="all", require_labels=False)


def test_all_of_json_are_refused(tmp_path):
    path = write_json(tmp_path / "x.json", ROWS)
    with pytest.raises(OptionError, match="keep must name the columns of JSON files"):
        open_path(path, features="x", keep="all", require_labels=False)


def test_local_times_of_orc_are_refused(tmp_path):
    times = pa.array([1], pa.timestamp("us"))
    path = write_orc(tmp_path / "x.orc", {"x": [1.0], "at": times})
    with pytest.raises(ColumnError, match="'at' must not hold timestamps of ORC"):
        open_path(path, features="x", keep="at", require_labels=False)


def test_columns_that_are_not_there_are_refused(data):
    with pytest.raises(ColumnError, match="column 'names' must exist"):
        open_path(data, features="x", keep="names", require_labels=False)


def feed_forward(network, data, **how):
    front = DaskMultiLayer(InlineClient(), network)
    return front.feed_forward_with_key(data, key="id", features="x", **how)


def opened(data, **options):
    options = {"features": "x", "require_labels": False, **options}
    return open_source(data, SourceOptions(**options))


def test_an_open_source_brings_its_key(network, data, monkeypatch):
    monkeypatch.setattr(DaskMultiLayer, "_inferring", lambda *_: nullcontext())
    front = DaskMultiLayer(InlineClient(), network)
    pairs = front.feed_forward_with_key(opened(data, key="id"))
    assert [key for key, _ in pairs] == list(range(6))


def test_an_open_source_brings_the_columns_that_it_keeps(
    network, data, tmp_path, monkeypatch
):
    monkeypatch.setattr(DaskMultiLayer, "_inferring", lambda *_: nullcontext())
    front = DaskMultiLayer(InlineClient(), network)
    source = opened(data, key=("id", "date"), keep="string")
    front.feed_forward_with_key(source, output=str(tmp_path / "out"))
    names = pq.read_table(tmp_path / "out").column_names
    assert names == ["id", "date", "string", "prediction", "probability"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "key must name the column of .* that holds the keys"),
        ({"key": "id", "keep": "string"}, "keep is for predictions that are written"),
    ],
)
def test_an_open_source_without_what_is_needed_is_refused(
    network, data, options, message
):
    front = DaskMultiLayer(InlineClient(), network)
    with pytest.raises(OptionError, match=message):
        front.feed_forward_with_key(opened(data, **options))


def test_an_open_source_has_no_other_key(network, data):
    front = DaskMultiLayer(InlineClient(), network)
    with pytest.raises(OptionError, match=r"key must be given where .* is opened"):
        front.feed_forward_with_key(opened(data, key="id"), key="date")


@pytest.mark.parametrize("keep", ["prediction", "all"])
def test_names_of_predictions_are_refused_before_work(network, tmp_path, keep):
    columns = {"x": [1.0], "id": [1], "prediction": [0.0]}
    path = write_parquet(tmp_path / "x.parquet", columns)
    with pytest.raises(OptionError, match=r"keep must differ .* got 'prediction'"):
        feed_forward(network, path, keep=keep, output=str(tmp_path / "out"))


def test_they_need_a_place_to_be_written_to(network, data):
    with pytest.raises(OptionError, match=r"keep is for predictions that are written"):
        feed_forward(network, data, keep="string")


def test_data_with_labels_keep_none(data):
    with pytest.raises(OptionError, match="keep is for predictions, which need no"):
        open_source(data, SourceOptions(features="x", label="x", keep="string"))


def test_arrays_have_no_columns_to_keep():
    options = SourceOptions(keep="a", require_labels=False)
    with pytest.raises(OptionError, match="got keep='a'"):
        open_source(np.ones((2, 1)), options)
