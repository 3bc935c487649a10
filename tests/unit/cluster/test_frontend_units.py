"""What the front ends refuse, and what they do without a cluster's help."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from daskdl import Evaluation, LossLayer, NormalizerStandardize, OCNNOutput, Output
from daskdl.cluster.frontend import (
    DaskComputationGraph,
    DaskMultiLayer,
    front_end,
)
from daskdl.cluster.masters.options import (
    BlockMomentumTrainingMaster,
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
)
from daskdl.data.dataset import DataSet
from daskdl.errors import DataError, OptionError
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork
from tests.unit.cluster.inline_client import InlineClient
from tests.unit.networks.small import mlp

SEQUENCE = MultiLayerConfiguration(
    layers=[Output(n_out=3, loss="mcxent")], input=FeedForward(size=5)
)
GRAPH = ComputationGraphConfiguration(
    inputs={"in": FeedForward(size=5)},
    vertices={
        "out": {"type": "output", "n_out": 3, "loss": "mcxent", "inputs": ["in"]}
    },
    outputs=["out"],
)


@pytest.fixture
def front():
    return DaskMultiLayer(InlineClient(), SEQUENCE)


@pytest.fixture
def data(rng):
    labels = np.eye(3, dtype=np.float32)[rng.integers(0, 3, 20)]
    return DataSet(rng.normal(size=(20, 5)).astype(np.float32), labels)


def test_a_configuration_is_initialised():
    assert DaskMultiLayer(InlineClient(), SEQUENCE).network.params.any()


def test_a_network_is_taken_as_it_is():
    network = MultiLayerNetwork(SEQUENCE).init()
    assert DaskMultiLayer(InlineClient(), network).network is network


def test_a_sequence_is_no_graph():
    with pytest.raises(OptionError, match="DaskComputationGraph: network must be"):
        DaskComputationGraph(InlineClient(), SEQUENCE)


def test_a_graph_is_no_sequence():
    with pytest.raises(OptionError, match="DaskMultiLayer: network must be a MultiLay"):
        DaskMultiLayer(InlineClient(), GRAPH)


class Rdd:
    """Stands in for what Spark holds."""


@pytest.mark.parametrize(
    ("paths", "got"),
    [
        (Rdd(), "Rdd"),
        ([Rdd()], "list of 'Rdd'"),
        ([], "an empty list"),
        ({"train": 1}, "dict"),
        (b"/data", "bytes"),
        (None, "NoneType"),
    ],
)
def test_what_is_no_path_is_refused_as_paths(front, paths, got):
    with pytest.raises(
        OptionError, match=f"paths must be a path .* got {got}. A DataFrame or an R"
    ):
        front.fit_paths(paths, epochs=1, batch_size=4)


def test_one_path_is_not_a_list_of_letters(front, monkeypatch):
    taken = []
    monkeypatch.setattr(front, "fit", taken.append)
    for paths in ("/data", Path("/data"), ["/data"], iter([Path("/data")])):
        front.fit_paths(paths)
    assert taken == [["/data"]] * 4


def test_the_front_end_fits_the_kind_of_network():
    network = ComputationGraph(GRAPH).init()
    assert isinstance(front_end(InlineClient(), network), DaskComputationGraph)


def test_there_is_no_front_end_for_anything_else():
    with pytest.raises(OptionError, match=r"front_end: network must be .* got str"):
        front_end(InlineClient(), "network")


def test_gradient_sharing_is_what_is_done_unless_told(front):
    assert front._master == SharedTrainingMaster()


@pytest.mark.parametrize("epochs", [0, -1, 1.5])
def test_epochs_must_be_a_count(front, data, epochs):
    with pytest.raises(OptionError, match=r"DaskMultiLayer.*: epochs must be a whole"):
        front.fit(data, epochs=epochs, batch_size=4)


@pytest.mark.parametrize(
    ("option", "wrong", "kind"),
    [
        ("key", 3, "a str, several strs or None"),
        ("output", 5, "a str or None"),
        ("output_format", 1, "a str or None"),
        ("overwrite", "yes", "True or False"),
        ("batch_size", 2.5, "a whole number"),
    ],
)
def test_options_of_predictions_are_of_their_type(front, data, option, wrong, kind):
    said = (
        f"DaskMultiLayer.feed_forward_with_key: {option} must be {kind}, got {wrong!r}"
    )
    with pytest.raises(OptionError, match=re.escape(said)):
        front.feed_forward_with_key(data, **{option: wrong})


def test_data_that_are_no_minibatches_need_a_batch_size(front, data):
    with pytest.raises(OptionError, match="batch_size must be given for"):
        front.fit((data.features, data.labels))


def test_a_batch_size_of_nothing_is_refused(front, data):
    with pytest.raises(OptionError, match="DaskMultiLayer: batch_size must be a whole"):
        front.evaluate(data, batch_size=0)


def test_options_that_no_source_has_are_named(front, data):
    with pytest.raises(OptionError, match=r"got 'fetures'\. Did you mean 'features'"):
        front.evaluate(data, fetures="x")


def test_evaluation_is_that_of_the_network(front, data):
    np.testing.assert_array_equal(
        front.evaluate(data).confusion_matrix,
        front.network.evaluate(data).confusion_matrix,
    )


def test_the_score_is_the_mean_loss_of_an_example(front, data):
    expected = front.network.score_examples(data).mean()
    assert front.score(data) == pytest.approx(expected, rel=1e-5)


def test_pairs_come_back_as_pairs(front, data):
    pairs = [(f"key {row}", data.features[row]) for row in range(20)]
    answered = dict(front.feed_forward_with_key(pairs))
    expected = front.network.output(data.features)
    np.testing.assert_allclose(answered["key 7"], expected[7], rtol=1e-6)


def test_camel_case_names_answer_too(front, data):
    assert front.doEvaluation(data, []) == []


def test_a_batch_size_must_be_whole(front, data):
    with pytest.raises(OptionError, match="fit: batch_size must be a whole number"):
        front.fit((data.features, data.labels), batch_size=2.5)


def test_half_a_minibatch_is_no_averaging_frequency():
    """The count of minibatches would never equal it, and no round would come."""
    with pytest.raises(OptionError, match="averaging_frequency must be a whole number"):
        ParameterAveragingTrainingMaster(averaging_frequency=2.5)


def test_a_network_without_parameters_cannot_share_gradients():
    conf = MultiLayerConfiguration(input=FeedForward(size=2), layers=[LossLayer()])
    front = DaskMultiLayer(InlineClient(), conf, SharedTrainingMaster())
    with pytest.raises(OptionError, match="must have parameters to share gradients"):
        front.fit(DataSet([[1.0, 0.0]], [[1.0, 0.0]]))


@pytest.mark.parametrize(
    ("master", "purpose"),
    [
        (SharedTrainingMaster(), "to share gradients"),
        (BlockMomentumTrainingMaster(), "for an outer momentum"),
        (ParameterAveragingTrainingMaster(overlap=True), "for overlap"),
    ],
)
def test_what_sets_a_parameter_itself_goes_with_plain_averaging_only(master, purpose):
    layers = [OCNNOutput(hidden_size=3)]
    conf = MultiLayerConfiguration(input=FeedForward(size=4), layers=layers)
    front = DaskMultiLayer(InlineClient(), conf, master)
    data = DataSet([[1.0, 2.0, 3.0, 4.0]], [[1.0]])
    with pytest.raises(OptionError, match=f"must learn by updates alone {purpose}"):
        front.fit([data])


@pytest.mark.parametrize("method", ["evaluate", "score"])
def test_data_whose_classes_have_other_numbers_are_refused(front, data, method):
    front.network.class_names = ["cat", "dog", "emu"]
    data.label_names = ("dog", "cat", "emu")
    with pytest.raises(DataError, match="class 'dog' must have the number 1, as in"):
        getattr(front, method)(data)


def test_a_saved_network_is_of_the_format_that_its_ending_says(front, tmp_path):
    front.save(tmp_path / "m.zip")
    assert (tmp_path / "m.zip").read_bytes().startswith(b"PK")
    with pytest.raises(OptionError, match=r"format must be 'dl4j', as the ending of"):
        front.save(tmp_path / "n.zip", format="daskdl")


def test_a_normalizer_that_changes_classes_is_refused(front, data):
    normalizer = NormalizerStandardize(fit_label=True)
    with pytest.raises(OptionError, match=r"fit: normalizer must leave labels of the"):
        front.fit(data, batch_size=2, normalizer=normalizer)
    with pytest.raises(OptionError, match=r"normalizer must leave labels of the loss"):
        DaskMultiLayer(InlineClient(), SEQUENCE, normalizer=normalizer)


def test_a_network_that_was_read_with_one_predicts_still(data):
    network = MultiLayerNetwork(SEQUENCE)
    examples = DataSet(np.eye(5)[:3], np.eye(3))
    network.restore_normalizer(NormalizerStandardize(fit_label=True).fit(examples))
    expected = network.output(examples.features)
    front = DaskMultiLayer(InlineClient(), network)
    np.testing.assert_array_equal(front.network.output(examples.features), expected)
    with pytest.raises(OptionError, match=r"normalizer must leave labels of the loss"):
        front.fit(data, batch_size=2)


@pytest.mark.parametrize(
    ("method", "others"),
    [
        ("fit", ()),
        ("evaluate", ()),
        ("score", ()),
        ("do_evaluation", ([Evaluation()],)),
        ("score_and_evaluate", ([],)),
        ("feed_forward_with_key", ()),
    ],
)
def test_an_unknown_option_is_refused_by_the_method_that_was_called(method, others):
    front = DaskMultiLayer(InlineClient(), mlp())
    data = (np.zeros((3, 4)), np.eye(3))
    with pytest.raises(
        OptionError, match=rf"DaskMultiLayer\.{method}: .* of {method} o"
    ):
        getattr(front, method)(data, *others, average=True)


def test_an_output_format_without_output_is_refused():
    front = DaskMultiLayer(InlineClient(), mlp())
    with pytest.raises(OptionError, match=r"output_format must come with output, got"):
        front.feed_forward_with_key((np.zeros((3, 4)), None), output_format="csv")


def test_keys_that_a_format_has_no_form_for_are_refused_before_work(tmp_path):
    columns = {"id": [b"a"], "x": [[0.0] * 4]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    front = DaskMultiLayer(InlineClient(), mlp())
    with pytest.raises(DataError, match=r"column 'id' must hold no bytes"):
        front.feed_forward_with_key(
            str(tmp_path / "a.parquet"),
            features="x",
            key="id",
            output=str(tmp_path / "out"),
            output_format="csv",
        )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("method", ["fit", "evaluate", "score", "feedForwardWithKey"])
def test_front_ends_take_features_and_labels_as_a_pair(method):
    front = DaskMultiLayer(InlineClient(), mlp())
    with pytest.raises(OptionError, match=r"must come as one argument, a pair"):
        getattr(front, method)(np.zeros((2, 4)), np.eye(2))


def test_options_without_a_name_are_refused_as_such():
    """As in DL4J, where the size of the minibatches comes second."""
    front = DaskMultiLayer(InlineClient(), mlp())
    with pytest.raises(OptionError, match="with data and evaluations, and options by"):
        front.do_evaluation((np.zeros((2, 4)), np.eye(2)), 32, Evaluation())
