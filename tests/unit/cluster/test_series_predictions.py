"""Predictions of time series of different lengths."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from daskdl import LSTM, GlobalPooling, Output, RnnOutput
from daskdl.cluster.inference import InferenceTask, predict_source
from daskdl.cluster.results import pairs_of
from daskdl.data.sinks import open_sink
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.nn.conf.input_type import Recurrent
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.fitting.preparation import options_for
from daskdl.nn.multilayer import MultiLayerNetwork
from tests.unit.bridge.table_files import write_parquet
from tests.unit.cluster.inline_client import InlineClient

STEPS = [[1.0], [3.0, 5.0, 7.0], [9.0, 2.0]]


def network(*layers, data_format="NCW"):
    conf = MultiLayerConfiguration(
        layers=[LSTM(n_out=4), *layers],
        input=Recurrent(size=1, data_format=data_format),
        seed=5,
    )
    return MultiLayerNetwork(conf).init()


CLASSES = RnnOutput(n_out=3, loss="mcxent")
NUMBER = RnnOutput(n_out=1, loss="mse", activation="identity")


@pytest.fixture
def data(tmp_path):
    directory = tmp_path / "in"
    directory.mkdir()
    for name, rows in (("a", slice(0, 1)), ("b", slice(1, 3))):
        columns = {"features": STEPS[rows], "id": [10, 11, 12][rows]}
        write_parquet(directory / f"{name}.parquet", columns)
    return str(directory)


def predicted(network, data, sink=None, **options):
    options = SourceOptions(align="end", key="id", require_labels=False, **options)
    source = open_source(data, options_for(network, options, data))
    task = InferenceTask(batch_size=2, key=("id",))
    return predict_source(InlineClient(), network, source, sink, task)


def written(network, data, output, **options):
    sink = open_sink(str(output))
    sink.prepare()
    entries = predicted(network, data, sink, **options)
    sink.commit([entry.path for entry in entries])
    return pq.read_table(output)


def test_each_has_the_steps_of_its_example(data):
    found = network(CLASSES)
    pairs = pairs_of(predicted(found, data))
    for (_, output), steps in zip(pairs, STEPS, strict=True):
        alone = found.output(np.array([[steps]], np.float32))[0]
        np.testing.assert_allclose(output, alone, rtol=1e-5)


def test_classes_are_written_as_arrays_of_steps(data, tmp_path):
    found = network(CLASSES)
    table = written(found, data, tmp_path / "out")
    (_, second, _) = table["probability"].to_pylist()
    alone = found.output(np.array([[STEPS[1]]], np.float32))[0]
    np.testing.assert_allclose(second, alone.T, rtol=1e-5)
    assert table["prediction"].to_pylist()[1] == alone.argmax(axis=0).tolist()


@pytest.mark.parametrize("output", [CLASSES, NUMBER], ids=["classes", "number"])
def test_the_layout_does_not_change_what_is_written(data, tmp_path, output):
    tables = [
        written(network(output, data_format=one), data, tmp_path / one).to_pylist()
        for one in ("NCW", "NWC")
    ]
    assert str(tables[0]) == str(tables[1])


def test_in_python_they_are_of_the_layout_of_the_network(data):
    pairs = {
        one: pairs_of(predicted(network(CLASSES, data_format=one), data))
        for one in ("NCW", "NWC")
    }
    for (_, first), (_, second) in zip(pairs["NCW"], pairs["NWC"], strict=True):
        np.testing.assert_array_equal(second, first.T)


def test_numbers_are_written_as_arrays_of_steps(data, tmp_path):
    table = written(network(NUMBER), data, tmp_path / "out")
    lengths = [len(one) for one in table["prediction"].to_pylist()]
    assert lengths == [1, 3, 2]


@pytest.mark.parametrize(
    ("output", "types"),
    [
        (CLASSES, ["list<element: double>", "list<element: list<element: double>>"]),
        (NUMBER, ["list<element: double>"]),
        (
            RnnOutput(n_out=2, loss="mse", activation="identity"),
            ["list<element: list<element: double>>"],
        ),
    ],
    ids=["classes", "number", "numbers"],
)
@pytest.mark.parametrize("rows", [[[1.0], [2.0]], [None, None], []], ids=str)
def test_types_are_those_of_the_network_whatever_the_rows_are(
    tmp_path, output, types, rows
):
    column = pa.array(rows, pa.list_(pa.float64()))
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"features": column, "id": range(len(rows))}), path)
    table = written(network(output), str(path), tmp_path / "out", handle_invalid="keep")
    assert [str(field.type) for field in table.schema][1:] == types


def test_rows_that_are_kept_are_null(tmp_path):
    columns = {"features": [[1.0, 2.0], None, []], "id": [0, 1, 2]}
    path = write_parquet(tmp_path / "x.parquet", columns)
    table = written(network(CLASSES), path, tmp_path / "out", handle_invalid="keep")
    assert [len(one or ()) for one in table["probability"].to_pylist()] == [2, 0, 0]
    assert table["prediction"].null_count == 2


def test_one_output_of_a_series_is_written_as_any_other(data, tmp_path):
    found = network(GlobalPooling(), Output(n_out=3, loss="mcxent"))
    table = written(found, data, tmp_path / "out")
    assert str(table["prediction"].type) == "double"
