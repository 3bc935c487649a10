"""Whatever cannot be trained is refused before anything is."""

import json
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from daskdl import Convolution2D, Convolutional, GlobalPooling, Output
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.normalizers.image import ImagePreProcessingScaler
from daskdl.data.normalizers.min_max import NormalizerMinMaxScaler
from daskdl.data.normalizers.standardize import NormalizerStandardize
from daskdl.data.sources.partition import Source
from daskdl.data.sources.source import SourceOptions, open_source
from daskdl.errors import DataError, OptionError, ShapeError
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.conf.network import MultiLayerConfiguration, configuration_from_dict
from daskdl.nn.fitting.preparation import options_for, prepare
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork


def test_class_labels_become_rows_of_the_networks_width(network, examples):
    prepared = prepare(network, examples(10), batch_size=4)
    assert prepared.facts.labels == ((3,),)


def test_a_label_outside_the_classes_is_refused_with_its_row(network):
    data = DataSet(np.zeros((3, 5), np.float32), np.array([0, 1, 7]))
    with pytest.raises(DataError, match=r"integers from 0 to 2, got 7 in row 2"):
        prepare(network, data, batch_size=2)


def test_a_number_that_is_not_finite_is_refused_with_its_row(network, examples):
    data = examples(6)
    data.features[4, 2] = np.nan
    with pytest.raises(DataError, match="row 4"):
        prepare(network, data, batch_size=2)


def test_the_wrong_width_is_refused(network):
    data = DataSet(np.zeros((3, 4), np.float32), np.array([0, 1, 2]))
    with pytest.raises((DataError, ShapeError), match="4"):
        prepare(network, data, batch_size=2)


def test_examples_that_are_not_minibatches_need_a_batch_size(network, examples):
    with pytest.raises(OptionError, match="batch_size must be given for DataSet"):
        prepare(network, examples(10))


def test_data_sets_in_a_list_keep_their_size(network, examples):
    prepared = prepare(network, [examples(4), examples(7)])
    assert [minibatch.rows for minibatch in prepared.minibatches] == [4, 7]


def test_data_sets_in_a_list_are_cut_anew_when_asked(network, examples):
    prepared = prepare(network, [examples(4), examples(7)], batch_size=5)
    assert [minibatch.rows for minibatch in prepared.minibatches] == [5, 5, 1]


@pytest.mark.parametrize("batch_size", [0, -3, 1.5, "4", True])
def test_an_illegal_batch_size_is_refused(network, examples, batch_size):
    with pytest.raises(OptionError, match="batch_size must be a whole number > 0"):
        prepare(network, examples(10), batch_size=batch_size)


def test_no_example_at_all_is_refused(network):
    empty = DataSet(np.zeros((0, 5), np.float32), np.zeros((0, 3), np.float32))
    with pytest.raises(DataError, match="must hold at least one example"):
        prepare(network, empty, batch_size=4)


def test_a_normalizer_is_fitted_in_the_same_pass(network, examples):
    data = examples(50)
    prepared = prepare(network, data, batch_size=8, normalizer=NormalizerStandardize())
    np.testing.assert_allclose(
        prepared.normalizer.mean, data.features.mean(axis=0), atol=1e-6
    )


def test_a_range_of_features_and_labels_is_fitted_in_the_same_pass(examples):
    data = examples(50)
    output = Output(n_out=1, loss="mse", activation="identity")
    conf = MultiLayerConfiguration(input=FeedForward(size=5), layers=[output])
    network = MultiLayerNetwork(conf)
    scaler = NormalizerMinMaxScaler(fit_label=True)
    prepare(network, data, batch_size=8, normalizer=scaler)
    np.testing.assert_array_equal(scaler.max, data.features.max(axis=0))
    np.testing.assert_array_equal(scaler.label_min, data.labels.min(axis=0))


def test_what_need_not_be_fitted_is_not(network, examples):
    scaler = ImagePreProcessingScaler()
    prepared = prepare(network, examples(50), batch_size=8, normalizer=scaler)
    assert prepared.facts.statistics is None


def test_a_fitted_normalizer_is_left_as_it_is(network, examples):
    normalizer = NormalizerStandardize().fit(examples(20))
    before = normalizer.mean.copy()
    prepare(network, examples(50), batch_size=8, normalizer=normalizer)
    np.testing.assert_array_equal(normalizer.mean, before)


def test_an_opened_source_is_taken_as_it_is(network, examples):
    prepared = prepare(network, examples(9), batch_size=3)
    assert isinstance(prepared.source, Source)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_minibatch_is_dealt_once(network, examples, workers):
    prepared = prepare(network, examples(50), batch_size=7)
    dealt = prepared.epoch(4, workers, shuffled=True, seed=1)
    indices = sorted(minibatch.index for share in dealt for minibatch in share)
    assert indices == list(range(8))


def test_another_epoch_has_another_order(network, examples):
    prepared = prepare(network, examples(90), batch_size=7)
    first, second = (
        [m.index for m in prepared.epoch(e, 1, shuffled=True, seed=1)[0]]
        for e in (0, 1)
    )
    assert first != second


def test_memory_is_dealt_in_turn(network, examples):
    prepared = prepare(network, examples(20), batch_size=5)
    dealt = prepared.epoch(0, 2, shuffled=False, seed=1)
    assert [[m.index for m in share] for share in dealt] == [[0, 2], [1, 3]]


def test_several_inputs_for_a_network_with_one_are_refused(network):
    data = MultiDataSet(
        [np.zeros((2, 5), np.float32)] * 2, [np.zeros((2, 3), np.float32)]
    )
    with pytest.raises((DataError, ShapeError, OptionError), match="2"):
        prepare(network, [data])


def test_shapes_that_do_not_fit_are_told_with_the_source(network):
    data = DataSet(np.zeros((3, 1, 5), np.float32), np.array([0, 1, 2]))
    with pytest.raises(ShapeError, match=r"^DataSet: MultiLayerNetwork layer0 \(Den"):
        prepare(network, data, batch_size=2)


def test_a_mask_for_examples_without_time_is_refused(network, examples):
    data = examples(4)
    data.features_mask = np.ones((4, 1), np.float32)
    with pytest.raises(ShapeError, match="features_mask must be left out"):
        prepare(network, data, batch_size=2)


def test_a_single_class_is_refused_by_the_networks_output():
    conf = MultiLayerConfiguration(
        input=FeedForward(size=5),
        layers=[Output(n_out=1)],
        validate_output_layer=False,
    )
    with pytest.raises(OptionError, match=r"'mcxent' must be at least 2.*, got 1"):
        options_for(MultiLayerNetwork(conf), None, "path")


def test_columns_by_name_need_a_network_with_names(network):
    options = SourceOptions(features={"a": "x"})
    with pytest.raises(OptionError, match="features must be columns, not a mapping"):
        options_for(network, options, "path")


@pytest.fixture
def graph():
    """Two inputs, `left` and `right`, and two outputs, `kind` and `size`."""
    vertices = {
        "join": {"type": "merge", "inputs": ["left", "right"]},
        "kind": {"type": "output", "n_out": 3, "inputs": ["join"]},
        "size": {"type": "output", "n_out": 4, "inputs": ["join"]},
    }
    side = {"type": "feed_forward", "size": 2}
    return ComputationGraph(
        configuration_from_dict(
            {
                "inputs": {"left": side, "right": side},
                "vertices": vertices,
                "outputs": ["kind", "size"],
            }
        )
    )


def test_columns_of_a_graph_come_into_its_order(graph):
    options = SourceOptions(
        features={"right": "b", "left": "a"}, label={"size": "s", "kind": "k"}
    )
    found = options_for(graph, options, "path")
    assert [list(found.features.items()), list(found.label.items())] == [
        [("left", ("a")), ("right", ("b"))],
        [("kind", ("k")), ("size", ("s"))],
    ]


def test_each_output_of_a_graph_has_its_classes(graph):
    found = options_for(graph, SourceOptions(), "path")
    assert found.n_classes == (3, 4)


def test_an_output_that_is_no_class_has_no_classes(graph):
    conf = graph.conf.to_dict()
    conf["vertices"]["size"].update(loss="mse", activation="identity")
    mixed = ComputationGraph(configuration_from_dict(conf))
    assert options_for(mixed, SourceOptions(), "path").n_classes == (3, None)


def test_integer_labels_of_a_graph_become_rows(graph, tmp_path):
    columns = {"x": [[1.0, 2.0]] * 4, "k": [0, 1, 2, 0], "s": [3, 2, 1, 0]}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    prepared = prepare(
        graph,
        str(tmp_path / "x.parquet"),
        SourceOptions(
            features={"left": "x", "right": "x"}, label={"kind": "k", "size": "s"}
        ),
        batch_size=2,
    )
    assert prepared.facts.labels == ((3,), (4,))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"features": "x"}, "features must map each input to its columns"),
        ({"features": {"left": "x"}}, "columns of every input, got none for 'right'"),
        (
            {"features": {"left": "x", "rigth": "x"}},
            "got 'rigth'. Did you mean 'right'",
        ),
    ],
)
def test_names_that_are_not_the_graphs_are_refused(graph, columns, message):
    with pytest.raises(OptionError, match=message):
        options_for(graph, SourceOptions(**columns), "path")


def test_images_of_a_size_left_open_are_as_large_as_they_come(rng):
    network = MultiLayerNetwork(
        MultiLayerConfiguration(
            input=Convolutional(channels=2),
            layers=[
                Convolution2D(n_out=3, kernel_size=(2, 2)),
                GlobalPooling(),
                Output(n_out=2),
            ],
        )
    )
    images = DataSet(rng.standard_normal((6, 2, 5, 4)), np.eye(2)[[0, 1, 0, 1, 0, 1]])
    assert prepare(network, images, batch_size=3).source.partitions[0].rows == 6


def label_of_spark(kind, names):
    """Return a schema as Spark writes it beside Parquet's own."""
    attribute = {"ml_attr": {"type": kind, "name": "label", "vals": names}}
    fields = [
        {"name": "features", "metadata": {}},
        {"name": "label", "metadata": attribute},
    ]
    row = json.dumps({"type": "struct", "fields": fields})
    return {"org.apache.spark.sql.parquet.row.metadata": row}


@pytest.mark.parametrize(
    ("kind", "stored", "taken"),
    [
        ("nominal", ["cat", "dog", "emu"], ("cat", "dog", "emu")),
        ("binary", ["cat", "dog", "emu"], ("cat", "dog", "emu")),
        ("nominal", ["cat", "dog"], None),
        ("nominal", ["cat", "cat", "emu"], None),
        ("nominal", [1, 2, 3], None),
        ("nominal", None, None),
        ("numeric", ["cat", "dog", "emu"], None),
    ],
)
def test_names_that_spark_left_name_the_classes(network, tmp_path, kind, stored, taken):
    columns = {"features": [[1.0] * 5, [2.0] * 5], "label": [0.0, 2.0]}
    table = pa.table(columns).replace_schema_metadata(label_of_spark(kind, stored))
    pq.write_table(table, tmp_path / "x.parquet")
    prepare(network, str(tmp_path / "x.parquet"), batch_size=2)
    assert network.class_names == taken


def indexed(path, names):
    columns = {"features": [[1.0] * 5, [2.0] * 5], "label": [0.0, 2.0]}
    metadata = label_of_spark("nominal", names)
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), path)
    return str(path)


def test_two_numberings_of_the_same_classes_are_refused(network, tmp_path):
    """What a StringIndexer leaves that was fitted once for each split."""
    one = indexed(tmp_path / "one.parquet", ["cat", "dog", "emu"])
    other = indexed(tmp_path / "other.parquet", ["dog", "cat", "emu"])
    with pytest.raises(DataError, match=r"other.parquet: class 0 must be 'cat', as in"):
        prepare(network, [one, other], batch_size=2)
    assert network.class_names is None
    prepare(network, one, batch_size=2)
    with pytest.raises(DataError, match="class 'dog' must have the number 1, as in"):
        prepare(network, other, batch_size=2)


def test_names_of_classes_do_not_travel_with_partitions(tmp_path):
    source = open_source(indexed(tmp_path / "x.parquet", ["cat", "dog", "emu"]))
    (partition,) = source.partitions
    assert partition.class_names == source.class_names == ("cat", "dog", "emu")
    travelled = pickle.loads(pickle.dumps(partition))
    assert travelled.class_names is None
    assert travelled.load().num_examples == 2


@pytest.mark.parametrize("text", ["", "{", "[]", '{"fields": 3}', '{"fields": [{}]}'])
def test_what_spark_left_may_be_anything(network, tmp_path, text):
    columns = {"features": [[1.0] * 5], "label": [0.0]}
    extra = {"org.apache.spark.sql.parquet.row.metadata": text}
    table = pa.table(columns).replace_schema_metadata(extra)
    pq.write_table(table, tmp_path / "x.parquet")
    prepare(network, str(tmp_path / "x.parquet"), batch_size=2)
    assert network.class_names is None


def test_names_of_data_sets_name_the_classes(network, examples):
    data = examples(6)
    data.label_names = ("cat", "dog", "emu")
    prepare(network, data, batch_size=2)
    assert network.class_names == ("cat", "dog", "emu")


def test_names_that_the_network_has_stay(network, examples):
    network.class_names = ["x", "y", "z"]
    data = examples(6)
    data.label_names = ("cat", "dog", "emu")
    prepare(network, data, batch_size=2)
    assert network.class_names == ("x", "y", "z")


def test_a_source_without_partitions_holds_no_example(network):
    with pytest.raises(DataError, match="none: must hold at least one example, got"):
        prepare(network, Source("none", ()), batch_size=2)
