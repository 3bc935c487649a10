"""Rows of SequenceFiles and pickle files: left out, kept, aligned."""

import array

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from daskdl import Output
from daskdl.cluster.inference import InferenceTask, predict_source
from daskdl.data.sinks import open_sink
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import ColumnError, OptionError
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.multilayer import MultiLayerNetwork
from daskdl_bridge.readers.datavec_records import RECORD_WRITABLE
from daskdl_bridge.readers.vectors import VECTOR
from tests.unit.bridge import spark_classes
from tests.unit.bridge.spark_classes import spark_class
from tests.unit.bridge.table_files import load_one, open_path
from tests.unit.bridge.test_pickle_rows import pickled
from tests.unit.bridge.test_pickle_rows import write as write_pickles
from tests.unit.bridge.test_sequence_table import (
    DOUBLES,
    doubles,
    integer,
    labelled,
    record,
    write,
)
from tests.unit.cluster.inline_client import InlineClient

NAN = float("nan")
NULL = (6, "", ())

# The first, third and last row cannot be used: null, NaN, no class.
TUPLES = [(1, None, 0), (2, 2.5, 1), (3, NAN, 0), (4, 4.5, 0), (5, 5.5, 7)]
DICTS = [dict(zip(("id", "x", "label"), one, strict=True)) for one in TUPLES]
VALID = [2, 4]


def value(kind, form, one):
    return NULL if one is None else (kind, form, one)


@pytest.fixture(params=["record", "tuple", "dict", "row", "array"])
def data(request, tmp_path, monkeypatch):
    """Write a file of the same rows, and return it with the names of its columns."""
    path = tmp_path / "part-00000"
    names = {"key": "_c0", "features": "_c1", "label": "_c2"}
    named = {"key": "id", "features": "x", "label": "label"}
    if request.param == "record":
        pairs = [
            (b"", stored(value(4, "i", i), value(2, "d", x), value(4, "i", label)))
            for i, x, label in TUPLES
        ]
        path = write(path, pairs, key="NullWritable", value=RECORD_WRITABLE)
        return path, names
    if request.param == "array":
        pairs = [(integer(i), doubles(NAN if x is None else x)) for i, x, _ in TUPLES]
        path = write(path, pairs[:4], key="IntWritable", value=DOUBLES)
        return path, {"key": "key", "features": "value", "label": "key"}
    if request.param == "tuple":
        return write_pickles(path, pickled(TUPLES)), names
    if request.param == "dict":
        return write_pickles(path, pickled(DICTS)), named
    spark_classes.provide(monkeypatch)
    rows = [spark_classes.Row(**one) for one in DICTS]
    return write_pickles(path, pickled(rows)), named


def stored(*values):
    """Return a record of DataVec in which there may be nulls."""
    made = b"".join(record(one)[4:] if one[1] else b"\0\6" for one in values)
    return integer(len(values)) + made


def test_rows_that_cannot_be_used_are_left_out(data):
    path, names = data
    batch = load_one(path, **names, n_classes=5, handle_invalid="skip")
    assert batch.keys.tolist() == VALID


def network():
    conf = MultiLayerConfiguration(
        layers=[Output(n_out=3, loss="mcxent")], input=FeedForward(size=1)
    )
    return MultiLayerNetwork(conf).init()


def written(data, output, *, key, features, **options):
    options = SourceOptions(features=features, key=key, require_labels=False, **options)
    source = open_source(data, options)
    sink = open_sink(str(output))
    sink.prepare()
    task = InferenceTask(batch_size=2, key=(key,))
    entries = predict_source(InlineClient(), network(), source, sink, task)
    sink.commit([entry.path for entry in entries])
    return pq.read_table(output)


def test_or_kept_without_a_prediction(data, tmp_path):
    path, names = data
    names = {name: names[name] for name in ("key", "features")}
    table = written(path, tmp_path / "out", **names, handle_invalid="keep")
    n_rows = table.num_rows
    assert table[names["key"]].to_pylist() == [1, 2, 3, 4, 5][:n_rows]
    is_null = [one is None for one in table["prediction"].to_pylist()]
    assert is_null == [True, False, True, False, False][:n_rows]


def test_further_columns_stand_beside_predictions(data, tmp_path):
    path, names = data
    table = written(
        path,
        tmp_path / "out",
        key=names["key"],
        features=names["features"],
        keep="all",
        handle_invalid="skip",
    )
    beside = [name for name in table.column_names if name in names.values()]
    assert set(beside) == set(names.values())
    assert table[names["features"]].to_pylist() in ([2.5, 4.5, 5.5], [[2.5], [4.5]])


def test_labelled_points_are_kept_as_vectors(tmp_path, monkeypatch):
    spark_classes.provide(monkeypatch)
    point = spark_class("mllib.regression", "LabeledPoint")
    vector = spark_class("mllib.linalg", "DenseVector")
    points = [point(0.0, vector(NAN)), point(1.0, vector(0.5))]
    path = write_pickles(tmp_path / "x.seq", pickled(points))
    table = written(
        path,
        tmp_path / "out",
        key="label",
        features="features",
        keep="features",
        handle_invalid="skip",
    )
    assert table["label"].to_pylist() == [1.0]
    assert table.schema.field("features").type == VECTOR


# Steps of two features, of three examples.
STEPS = [[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]], []]
PADDED = [[[1, 0], [2, 0]], [[3, 5], [4, 6]]]


@pytest.mark.parametrize(
    "rows",
    [
        [(i, steps) for i, steps in enumerate(STEPS)],
        [(i, np.array(steps)) for i, steps in enumerate(STEPS[:2])],
        [{"key": i, "value": steps} for i, steps in reversed([*enumerate(STEPS)])],
    ],
    ids=["lists", "arrays", "an empty one first"],
)
def test_pickled_arrays_are_time_series(rows, tmp_path):
    path = write_pickles(tmp_path / "x.seq", pickled(rows))
    batch = load_one(
        path,
        features="value",
        key="key",
        align="start",
        handle_invalid="skip",
        require_labels=False,
    )
    order = np.argsort(batch.keys)
    np.testing.assert_array_equal(batch.features[order], PADDED)
    np.testing.assert_array_equal(batch.features_mask[order], [[1, 0], [1, 1]])


def test_columns_of_pickles_stand_side_by_side_step_by_step(tmp_path):
    rows = [([1.0], array.array("d", [2.0])), ([3.0, 5.0], array.array("d", [4, 6]))]
    path = write_pickles(tmp_path / "x.seq", pickled([(0, *row) for row in rows]))
    how = {"features": ("_c1", "_c2"), "require_labels": False}
    np.testing.assert_array_equal(load_one(path, align="start", **how).features, PADDED)


def test_arrays_of_writables_are_time_series(tmp_path):
    pairs = [(integer(i), doubles(*range(1, i + 2))) for i in range(2)]
    path = write(tmp_path / "x.seq", pairs, key="IntWritable", value=DOUBLES)
    batch = load_one(path, features="value", label="key", align="end")
    np.testing.assert_array_equal(batch.features, [[[0, 1]], [[1, 2]]])


@pytest.mark.parametrize("column", ["key", "_c1"])
def test_what_is_no_array_is_refused_as_series_before_work(column, tmp_path):
    rows = [("a", 1.0)] if column == "_c1" else [(1, [1.0])]
    path = write_pickles(tmp_path / "x.seq", pickled(rows))
    with pytest.raises(ColumnError, match=f"'{column}' must hold arrays of time steps"):
        open_path(path, features=column, align="start", require_labels=False)


def test_types_are_those_of_the_first_row_that_has_a_value(tmp_path):
    rows = [{"x": None, "y": [None], "z": None}, {"x": 1.5, "y": [2.5], "z": None}]
    path = write_pickles(tmp_path / "x.seq", pickled(rows[:1]), pickled(rows[1:]))
    (partition,) = open_path(
        path, features="y", key="x", require_labels=False
    ).partitions
    assert partition.columns.key_types == (pa.float64(),)


def test_a_column_without_a_value_is_refused_as_features(tmp_path):
    path = write_pickles(tmp_path / "x.seq", pickled([{"x": None}] * 3))
    with pytest.raises(ColumnError, match=r"'x' must hold numbers.*got null"):
        open_path(path, features="x", require_labels=False, handle_invalid="skip")


def test_options_of_other_forms_are_refused_all_the_same(tmp_path):
    path = labelled(tmp_path / "x.seq")
    with pytest.raises(OptionError, match="got merge_schema=True"):
        open_path(path, features="value", label="key", merge_schema=True)
