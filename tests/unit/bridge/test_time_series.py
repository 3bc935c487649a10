"""Columns of arrays of unequal length as time series."""

import numpy as np
import pyarrow as pa
import pytest

from daskdl import LSTM, GlobalPooling, Output, RnnOutput
from daskdl.data.dataset import DataSet
from daskdl.data.reader import MinibatchReader
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import ColumnError, DataError, OptionError, ShapeError
from daskdl.nn.conf.input_type import FeedForward, Recurrent
from daskdl.nn.conf.network import MultiLayerConfiguration
from daskdl.nn.fitting.preparation import prepare
from daskdl.nn.multilayer import MultiLayerNetwork
from daskdl_bridge.readers.time_series import cut_to_fit
from daskdl_bridge.readers.vectors import VECTOR
from tests.unit.bridge import test_tfrecord as tfrecord
from tests.unit.bridge.table_files import (
    load_one,
    open_path,
    write_json,
    write_orc,
    write_parquet,
    write_text,
)

# Steps of two features, of three examples.
STEPS = [[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], [[9.0, 1.0], [2.0, 3.0]]]
LENGTHS = [1, 3, 2]
PADDED = [
    [[1, 0, 0], [2, 0, 0]],
    [[3, 5, 7], [4, 6, 8]],
    [[9, 2, 0], [1, 3, 0]],
]


@pytest.fixture
def path(tmp_path):
    columns = {
        "features": STEPS,
        "label": [0, 2, 1],
        "tags": [[0], [1, 2, 0], [2, 1]],
        "x": [[1.0], [3.0, 5.0, 7.0], [9.0, 2.0]],
        "y": [[2.0], [4.0, 6.0, 8.0], [1.0, 3.0]],
        "number": [1.0, 2.0, 3.0],
    }
    return write_parquet(tmp_path / "x.parquet", columns)


def vector(values):
    return {"type": 1, "size": None, "indices": None, "values": values}


def of_vectors(rows):
    return pa.array(list(rows), pa.list_(VECTOR))


def sparse(size):
    return {"type": 0, "size": size, "indices": [0], "values": [1.0]}


def network(last=RnnOutput, *, n_in=2, data_format="NCW"):
    layers = [LSTM(n_out=4)]
    if last is Output:
        layers.append(GlobalPooling())
    layers.append(last(n_out=3, loss="mcxent"))
    conf = MultiLayerConfiguration(
        layers=layers, input=Recurrent(size=n_in, data_format=data_format), seed=5
    )
    return MultiLayerNetwork(conf).init()


def test_arrays_of_arrays_are_padded_at_the_end(path):
    batch = load_one(path, align="start")
    np.testing.assert_array_equal(batch.features, PADDED)
    np.testing.assert_array_equal(batch.features_mask.sum(axis=1), LENGTHS)
    assert batch.features.dtype == np.float64


def test_or_at_the_start(path):
    batch = load_one(path, align="ALIGN_END")
    np.testing.assert_array_equal(batch.features[0], [[0, 0, 1], [0, 0, 2]])
    np.testing.assert_array_equal(batch.features_mask[0], [0, 0, 1])


def test_columns_of_numbers_a_step_stand_side_by_side(path):
    batch = load_one(path, align="start", features=("x", "y"))
    np.testing.assert_array_equal(batch.features, PADDED)


def test_other_forms_hold_them_too(tmp_path):
    rows = [{"features": one, "label": 0} for one in STEPS]
    paths = [
        write_json(tmp_path / "x.json", rows),
        write_orc(tmp_path / "x.orc", {"features": STEPS, "label": [0, 0, 0]}),
    ]
    for path in paths:
        np.testing.assert_array_equal(
            load_one(path, align="start").features, PADDED, err_msg=path
        )


@pytest.mark.parametrize("ending", ["xml", "tfrecord"])
def test_series_of_one_step_are_series_where_types_are_told_by_values(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    how = {"align": "start", "features": "x", "require_labels": False}
    if ending == "xml":
        write_text(path, "<rows><r><x>1</x></r><r><x>2</x></r></rows>")
        how["row_tag"] = "r"
    else:
        tfrecord.write(path, *(tfrecord.example(x=[n]) for n in (1.0, 2.0)))
    batch = load_one(str(path), **how)
    np.testing.assert_array_equal(batch.features, [[[1]], [[2]]])


def test_tables_in_memory_hold_them_too():
    table = pa.table({"features": STEPS})
    options = SourceOptions(align="start", require_labels=False)
    (partition,) = open_source(table, options).partitions
    np.testing.assert_array_equal(partition.load().features, PADDED)


def test_vectors_of_spark_may_be_steps(tmp_path):
    column = of_vectors([vector(step) for step in one] for one in STEPS)
    path = write_parquet(tmp_path / "x.parquet", {"features": column})
    batch = load_one(path, align="start", require_labels=False)
    np.testing.assert_array_equal(batch.features, PADDED)


def test_a_label_a_step_becomes_one_hot(path):
    batch = load_one(path, align="end", label="tags", n_classes=3)
    np.testing.assert_array_equal(batch.labels[1], np.eye(3)[[1, 2, 0]].T)
    np.testing.assert_array_equal(batch.labels_mask, batch.features_mask)


def test_one_label_stays_one_if_nobody_says_otherwise(path):
    batch = load_one(path, align="end", n_classes=3)
    np.testing.assert_array_equal(batch.labels, np.eye(3)[[0, 2, 1]])
    assert batch.labels_mask is None


def test_one_label_is_that_of_the_last_step_of_a_network_of_steps(path):
    (partition,) = opened_for(network(), path, align="start").partitions
    batch = partition.load()
    np.testing.assert_array_equal(batch.labels[:, :, 2][1], [0, 0, 1])
    np.testing.assert_array_equal(batch.labels_mask, [[1, 0, 0], [0, 0, 1], [0, 1, 0]])


def test_networks_with_one_output_have_one_label(path):
    (partition,) = opened_for(network(Output), path, align="start").partitions
    assert partition.load().labels.shape == (3, 3)


def opened_for(network, path, **options):
    return prepare(network, path, SourceOptions(**options), batch_size=3).source


@pytest.mark.parametrize("align", ["start", "end"])
@pytest.mark.parametrize(
    ("last", "label"), [(RnnOutput, "label"), (RnnOutput, "tags"), (Output, "label")]
)
@pytest.mark.parametrize("data_format", ["NCW", "NWC"])
def test_a_minibatch_of_two_blocks_scores_like_one_padded_by_hand(
    tmp_path, align, last, label, data_format
):
    for name, rows in (("a", slice(0, 1)), ("b", slice(1, 3))):
        columns = {
            "features": STEPS[rows],
            "label": [0, 2, 1][rows],
            "tags": [[0], [1, 2, 0], [2, 1]][rows],
        }
        write_parquet(tmp_path / f"{name}.parquet", columns)
    found = network(last, data_format=data_format)
    prepared = prepare(
        found,
        str(tmp_path / "*.parquet"),
        SourceOptions(align=align, label=label),
        batch_size=3,
    )
    (minibatch,) = prepared.minibatches
    batch = MinibatchReader(prepared.source.partitions).read(minibatch)
    by_hand = padded_by_hand(last, label)
    if data_format == "NWC":
        by_hand = steps_before_features(by_hand)
    assert found.compute_score(batch) == pytest.approx(
        found.compute_score(by_hand), rel=1e-6
    )


def steps_before_features(batch):
    labels = batch.labels
    return DataSet(
        batch.features.transpose(0, 2, 1),
        labels.transpose(0, 2, 1) if labels.ndim == 3 else labels,
        batch.features_mask,
        batch.labels_mask,
    )


def padded_by_hand(last, label):
    mask = np.arange(3) < np.array(LENGTHS)[:, None]
    if last is Output:
        return DataSet(PADDED, np.eye(3)[[0, 2, 1]], mask)
    labels = np.zeros((3, 3, 3))
    labels_mask = mask.copy()
    if label == "tags":
        for row, classes in enumerate([[0], [1, 2, 0], [2, 1]]):
            labels[row, classes, range(len(classes))] = 1
    else:
        labels_mask = np.arange(3) == np.array(LENGTHS)[:, None] - 1
        labels[range(3), [0, 2, 1], np.array(LENGTHS) - 1] = 1
    return DataSet(PADDED, labels, mask, labels_mask)


def test_training_learns_from_them(path):
    found = network()
    before = found.compute_score(load(found, path))
    found.fit(path, epochs=20, batch_size=2, options=SourceOptions(align="end"))
    assert found.compute_score(load(found, path)) < before


def load(network, path):
    (partition,) = opened_for(network, path, align="end").partitions
    return partition.load()


def test_lengths_that_differ_between_files_are_refused_where_they_must_be_equal(
    tmp_path,
):
    for name, one in (("a", STEPS[0]), ("b", STEPS[1])):
        columns = {"features": [one], "label": [0]}
        write_parquet(tmp_path / f"{name}.parquet", columns)
    options = SourceOptions(align="EQUAL_LENGTH")
    with pytest.raises(ShapeError, match=r"b\.parquet: features of an example must ha"):
        prepare(network(), str(tmp_path / "*.parquet"), options, batch_size=2)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([[[1.0, 2.0]], None], r"must hold a value in every row, row 1 is null"),
        ([[[1.0, 2.0]], []], r"series of at least one step, row 1 has none"),
        ([[[1.0]], [[1.0], [1.0, 2.0]]], r"row 0, step 0 has 1, row 1, step 1 has 2"),
        ([[[1.0]], [[1.0], None]], r"row 1, step 1 is null"),
        ([[[1.0]], [[1.0], [None]]], r"element 0 of row 1, step 1 is null"),
        ([[[1.0]], [[1.0], [float("nan")]]], r"got nan in row 1, step 1"),
    ],
)
def test_bad_steps_are_refused_with_their_place(tmp_path, steps, message):
    path = write_parquet(tmp_path / "x.parquet", {"features": steps})
    with pytest.raises(DataError, match=message):
        load_one(path, align="start", require_labels=False)


def test_bad_labels_are_refused_with_their_place(path):
    with pytest.raises(DataError, match="got 2 in row 1, step 1"):
        load_one(path, align="start", label="tags", n_classes=2)


def test_columns_of_different_lengths_are_refused(tmp_path):
    columns = {"x": [[1.0], [2.0]], "y": [[1.0], [2.0, 3.0]]}
    path = write_parquet(tmp_path / "x.parquet", columns)
    with pytest.raises(DataError, match=r"'x' and 'y' .* row 1 has 1 and 2"):
        load_one(path, align="start", features=("x", "y"), require_labels=False)


def test_numbers_are_no_series(path):
    with pytest.raises(ColumnError, match="'number' must hold arrays of time steps"):
        load_one(path, align="start", features="number")


def test_arrays_within_steps_are_refused(tmp_path):
    path = write_parquet(tmp_path / "x.parquet", {"features": [[[[1.0]]]]})
    with pytest.raises(ColumnError, match="a number or an array of numbers a step"):
        load_one(path, align="start", require_labels=False)


def test_files_without_arrays_refuse_it(tmp_path):
    path = write_text(tmp_path / "x.csv", "features,label\n1,0\n")
    with pytest.raises(OptionError, match="for csv files, got align='start'"):
        open_path(path, align="start")


def test_networks_without_series_refuse_it(path):
    conf = MultiLayerConfiguration(
        layers=[Output(n_out=3, loss="mcxent")], input=FeedForward(size=2)
    )
    with pytest.raises(OptionError, match="align is for time series, but no input is"):
        opened_for(MultiLayerNetwork(conf).init(), path, align="start")


def test_series_of_the_other_layout_have_their_features_last(path):
    found = network(data_format="NWC")
    (partition,) = opened_for(found, path, align="end").partitions
    batch = partition.load()
    np.testing.assert_array_equal(batch.features[0], [[0, 0], [0, 0], [1, 2]])
    np.testing.assert_array_equal(batch.features_mask[0], [0, 0, 1])
    np.testing.assert_array_equal(batch.labels[0], [[0] * 3, [0] * 3, [1, 0, 0]])


def test_other_layouts_are_refused():
    with pytest.raises(OptionError, match=r"series_features must be one of .*'NWC'"):
        SourceOptions(align="start", series_features="NHWC")


@pytest.mark.parametrize("align", ["start", "end"])
def test_series_of_the_other_layout_train_across_files(tmp_path, align):
    for number, steps in enumerate(STEPS):
        columns = {"features": [steps], "label": [number]}
        write_parquet(tmp_path / f"{number}.parquet", columns)
    scores = {}
    for data_format in ("NCW", "NWC"):
        found = network(data_format=data_format)
        options = SourceOptions(align=align)
        found.fit(str(tmp_path / "*.parquet"), batch_size=3, epochs=2, options=options)
        scores[data_format] = found.score
    assert scores["NWC"] == pytest.approx(scores["NCW"], rel=1e-5)


def test_features_of_a_step_are_counted(path):
    with pytest.raises(ColumnError, match="must hold 3 numbers an example, got 2"):
        load_one(path, align="start", n_features=3)


@pytest.fixture
def uneven(tmp_path):
    """Short series, and one that would make all of them long."""
    lengths = [2] * 40
    lengths[20] = 100
    columns = {
        "features": [[float(row)] * length for row, length in enumerate(lengths)],
        "label": [row % 3 for row in range(40)],
        "id": range(40),
    }
    return write_parquet(tmp_path / "x.parquet", columns)


def test_a_long_series_pads_few_others(uneven, monkeypatch):
    monkeypatch.setattr("daskdl_bridge.readers.table_examples.BLOCK_BYTES", 400)
    (partition,) = open_path(uneven, align="start", key="id").partitions
    blocks = list(partition.load_blocks())
    assert [(len(b), b.features.shape[2]) for b in blocks] == [
        (20, 2),
        (1, 100),
        (19, 2),
    ]
    assert [key for block in blocks for key in block.keys] == list(range(40))


def test_a_plan_of_such_blocks_has_every_example_once(uneven, monkeypatch):
    monkeypatch.setattr("daskdl_bridge.readers.table_examples.BLOCK_BYTES", 400)
    options = SourceOptions(align="end", key="id")
    prepared = prepare(network(n_in=1), uneven, options, batch_size=16)
    reader = MinibatchReader(prepared.source.partitions)
    read = [reader.read(minibatch) for minibatch in prepared.minibatches]
    assert [key for batch in read for key in batch.keys] == list(range(40))
    assert [batch.features.shape[2] for batch in read] == [2, 100, 2]


def test_rows_of_later_pieces_are_told_as_in_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("daskdl_bridge.readers.table_examples.BLOCK_BYTES", 400)
    columns = {"features": [[1.0], [1.0] * 200, [1.0], [None]]}
    path = write_parquet(tmp_path / "x.parquet", columns)
    with pytest.raises(DataError, match="row 3, step 0 is null"):
        load_one(path, align="start", require_labels=False)


@pytest.mark.parametrize(
    ("column", "pieces"),
    [
        (pa.array([[[1.0] * 9] * n for n in (1, 1, 9)]), [(0, 1), (1, 2), (2, 3)]),
        (pa.array([[1.0] * n for n in (1, 1, 9)]), [(0, 2), (2, 3)]),
        (pa.array([[1.0] * n for n in (9, 9, 9)]), [(0, 3)]),
        (of_vectors([vector([1.0] * 5)] * n for n in (1, 1, 9)), [(0, 2), (2, 3)]),
        (of_vectors([sparse(5)] * n for n in (1, 1, 9)), [(0, 2), (2, 3)]),
        (pa.array([None, None, []], pa.list_(pa.float64())), [(0, 3)]),
        (pa.array([1.0, 2.0]), [(0, 2)]),
    ],
)
def test_rows_are_cut_where_padding_would_more_than_double_them(column, pieces):
    assert cut_to_fit([column], 4, 40) == pieces


def test_inputs_that_are_no_series_stand_beside_those_that_are(path):
    batch = load_one(
        path,
        features={"steps": "features", "static": "number"},
        label={"each": "tags", "whole": "label"},
        n_classes=(3, 3),
        align="end",
        series_features=(True, False),
        series_labels=(True, False),
    )
    assert [array.shape for array in batch.features] == [(3, 2, 3), (3, 1)]
    assert [array.shape for array in batch.labels] == [(3, 3, 3), (3, 3)]
    assert batch.features_masks[1] is None


def test_files_without_rows_hold_no_series(tmp_path):
    column = pa.array([], pa.list_(pa.list_(pa.float64())))
    path = write_parquet(tmp_path / "x.parquet", {"features": column})
    batch = load_one(path, align="start", require_labels=False, n_features=2)
    assert batch.features.shape == (0, 2, 0)
