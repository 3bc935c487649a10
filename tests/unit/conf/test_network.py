"""Whole configurations: inference, refusals with the path of the key, YAML."""

import json
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from daskdl import Dense, MergeVertex, Output, RnnOutput
from daskdl.errors import OptionError
from daskdl.nn.conf.errors import option_error
from daskdl.nn.conf.input_type import FeedForward, Recurrent
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
    NetworkConfiguration,
    configuration_from_dict,
    configuration_from_yaml,
)
from daskdl.nn.conf.updaters import Adam, Sgd

CNN = """
seed: 7
updater: {type: Adam, learning_rate: 1e-2}
l2: 1.0e-4
input: {type: convolutional_flat, height: 8, width: 8, channels: 1}
layers:
- {type: Convolution2D, n_out: 4, kernel_size: 3, activation: ReLU}
- {type: batchNormalization}
- {type: SubsamplingLayer}
- {type: dense, n_out: 16, activation: relu, l2: 0}
- {type: output, n_out: 10}
"""

GRAPH = """
inputs: {a: {type: feed_forward, size: 3}, b: {type: feed_forward, size: 2}}
vertices:
  m: {type: MergeVertex, inputs: [a, b]}
  s: {type: subset, from: 1, to: 3, inputs: m}
  out: {type: output, n_out: 2, inputs: s}
outputs: out
"""

RECURRENT = """
input: {type: recurrent, size: 3}
layers:
- {type: lstm, n_out: 4}
- {type: rnn_output, n_out: 2}
"""


@pytest.mark.parametrize("text", [CNN, GRAPH, RECURRENT])
def test_yaml_out_and_in_is_the_same_configuration(text):
    conf = configuration_from_yaml(text)
    assert configuration_from_yaml(conf.to_yaml()) == conf


@pytest.mark.parametrize("text", [CNN, GRAPH, RECURRENT])
def test_a_full_mapping_survives_json(text):
    conf = configuration_from_yaml(text)
    assert configuration_from_dict(json.loads(json.dumps(conf.to_dict()))) == conf


def test_keywords_and_yaml_make_equal_configurations():
    conf = MultiLayerConfiguration(
        input=Recurrent(size=3),
        layers=[{"type": "LSTM", "n_out": 4}, RnnOutput(n_out=2)],
    )
    assert conf == configuration_from_yaml(RECURRENT)


def test_sizes_are_inferred_through_the_layers():
    nodes = configuration_from_yaml(CNN).nodes()
    assert [node.conf.n_in for node in nodes if hasattr(node.conf, "n_in")] == [
        1,
        36,
        16,
    ]


def test_layers_take_from_the_network_what_they_leave_open():
    conv, _, _, dense, output = [n.conf for n in configuration_from_yaml(CNN).nodes()]
    assert (conv.l2, dense.l2, output.l2) == (1e-4, 0.0, 1e-4)
    assert conv.updater == Adam(learning_rate=0.01)


def test_layers_are_named_by_their_place():
    nodes = configuration_from_yaml(CNN).nodes()
    assert [(node.name, node.key) for node in nodes[:2]] == [
        ("layer0", "0"),
        ("layer1", "1"),
    ]


@pytest.mark.parametrize(
    ("loss", "activation"),
    [
        ("mcxent", "softmax"),
        ("negativeloglikelihood", "softmax"),
        ("xent", "sigmoid"),
        ("mse", "identity"),
    ],
)
def test_an_output_layer_takes_the_activation_of_its_loss(loss, activation):
    conf = MultiLayerConfiguration(
        input=FeedForward(size=2),
        layers=[Output(n_out=2, loss=loss)],
        activation="relu",
    )
    assert conf.nodes()[0].conf.activation == activation


def test_the_defaults_are_those_of_dl4j():
    conf = MultiLayerConfiguration(
        input=FeedForward(size=2), layers=[Dense(n_out=3), Output(n_out=2)]
    )
    dense = conf.nodes()[0].conf
    assert (dense.activation, dense.weight_init, dense.updater) == (
        "sigmoid",
        "xavier",
        Sgd(learning_rate=1e-3),
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kernel_size", "kernal_size", r"network.layers\[0\].kernal_size: is not a kn"),
        (
            "kernel_size: 3",
            "kernel_size: 9",
            r"layers\[0\].kernel_size: must fit",
        ),
        ("dense,", "desne,", r"network.layers\[3\].type: .*'desne'. Did you mean 'den"),
        ("n_out: 10", "n_out: ten", r"network.layers\[4\].n_out: must be a whole numb"),
        ("n_out: 16,", "", r"network.layers\[3\].n_out: must be given"),
        ("seed", "seeed", r"network.seeed: is not a known key. Did you mean 'seed'"),
        ("type: output, ", "", r"network.layers\[4\]: must be a mapping with a known"),
        ("{type: dense,", "{type: output,", r"layers\[3\]: must be the last layer"),
        ("output, n", "rnn_output, n", r"layers\[4\]: RnnOutput needs time series"),
        ("l2: 0}", "n_in: 35}", r"layers\[3\].n_in: must be 36, .*got 35"),
        ("l2: 0}", "name: layer0}", r"layers\[3\].name: must differ from"),
        ("l2: 0}", "inputs: x}", r"layers\[3\].inputs: must be left out"),
        ("seed: 7", "seed: 1.5", "network.seed: must be a whole number"),
        ("seed: 7", "dtype: float16", "dtype: must be one of 'float32', 'float64'"),
        ("height: 8, ", "", "network.input.height: must be given"),
        ("type: Adam", "type: sgd, momentum: 1", r"updater.momentum: is not a known k"),
    ],
)
def test_a_wrong_sequence_is_refused_with_the_path_of_the_key(old, new, message):
    text = CNN.replace(old, new)
    assert text != CNN
    with pytest.raises(OptionError, match=message):
        configuration_from_yaml(text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("inputs: s", "inputs: t", "vertices.out.inputs: must name inputs or vertic"),
        ("[a, b]", "[a]", "network.inputs.b: must be read by some vertex"),
        ("[a, b]", "[a, b, s]", r"vertices: must not form a cycle, got m -> s -> m"),
        ("outputs: out", "outputs: s", r"vertices.out: must be named in outputs"),
        ("outputs: out", "outputs: ot", r"outputs\[0\]: must name .*mean 'out'"),
        ("outputs: out", "outputs: [out, out]", r"outputs\[1\]: must name each vertex"),
        ("to: 3", "to: 9", "vertices.s.to: must be from 1 .* to 4.*, got 9"),
        ("from:", "form:", "vertices.s.form: is not a known key. Did you mean 'from'"),
        ("inputs: s}", "name: o, inputs: s}", "vertices.out.name: must be left out"),
        ("MergeVertex", "ElementWise, op: add", "vertices.m.inputs: must have one sha"),
        (
            "outputs: out",
            "  out2: {type: output, n_out: 2, inputs: s}\noutputs: out",
            "vertices.out2: must be named in outputs",
        ),
        (
            "outputs: out",
            "  x: {type: scale, scale_factor: 2, inputs: s}\noutputs: out",
            "vertices.x: must be read by some vertex",
        ),
        (
            "outputs: out",
            "  a: {type: scale, scale_factor: 2, inputs: s}\noutputs: out",
            "vertices.a: must not have the name of an input",
        ),
        (
            "inputs: m}",
            "}",
            "vertices.s.inputs: must name at least one of",
        ),
    ],
)
def test_a_wrong_graph_is_refused_with_the_path_of_the_key(old, new, message):
    text = GRAPH.replace(old, new)
    assert text != GRAPH
    with pytest.raises(OptionError, match=message):
        configuration_from_yaml(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3", "network: must be a mapping with the key `layers` or the key `vertices`"),
        ("layers: []\ninput: {type: recurrent, size: 3}", "must have at least 1 item"),
        ("layers: 3\ninput: {type: recurrent, size: 3}", "layers: must be a list, got"),
        ("seed: 1\nseed: 2", "line 2, column 1: key 'seed' stands twice"),
        ("layers: [", "network: must be valid YAML, got at line 1"),
        ("a: \x00", "network: must be valid YAML"),
    ],
)
def test_text_that_is_no_network_is_refused(text, message):
    with pytest.raises(OptionError, match=message):
        configuration_from_yaml(text)


def test_several_mistakes_come_at_once_and_are_counted():
    text = CNN + "\n".join(f"wrong{i}: 1" for i in range(8))
    with pytest.raises(OptionError, match=r"(?s)wrong0: .*wrong4: .*and 3 more\."):
        configuration_from_yaml(text)


def test_a_long_value_is_cut_off_in_the_message():
    with pytest.raises(OptionError) as caught:
        configuration_from_dict({"layers": [{"n_out": list(range(1000))}]})
    assert len(str(caught.value)) < 300


def test_yaml_anchors_and_merges_work():
    text = CNN.replace("{type: dense,", "&d {type: dense,").replace(
        "- {type: output, n_out: 10}",
        "- {<<: *d, n_out: 5}\n- {type: output, n_out: 10}",
    )
    nodes = configuration_from_yaml(text).nodes()
    assert (nodes[4].conf.n_out, nodes[4].conf.activation) == (5, "relu")


def test_vertices_come_in_the_order_of_dl4j():
    """Kahn's algorithm, first in first out, successors in the order of definition."""
    conf = ComputationGraphConfiguration(
        inputs={"x": FeedForward(size=2), "y": FeedForward(size=2)},
        vertices={
            "out": Output(n_out=2, inputs=["m"]),
            "m": MergeVertex(inputs=["d2", "d1", "d3"]),
            "d2": Dense(n_out=1, inputs=["y"]),
            "d3": Dense(n_out=1, inputs=["d1"]),
            "d1": Dense(n_out=1, inputs=["x"]),
        },
        outputs=["out"],
    )
    assert [node.name for node in conf.nodes()] == ["d1", "d2", "d3", "m", "out"]


@pytest.mark.parametrize(
    "model", [MultiLayerConfiguration, ComputationGraphConfiguration]
)
def test_there_is_a_json_schema(model):
    properties = model.model_json_schema()["properties"]
    assert "updater" in properties


class _Job(BaseModel):
    model_config = ConfigDict(extra="forbid")

    network: NetworkConfiguration
    epochs: int = 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"layers": [{"type": "dense", "n_ot": 3}]},
            r"job.yaml: network.layers\[0\].n_ot: is not .*Did you mean 'n_out'",
        ),
        ({"layer": []}, "network: must have the key `layers` or the key `vertices`"),
        (
            {"vertices": {"d": {"type": "dense", "l2": -1}}},
            "network.vertices.d.l2: must be greater than or equal to 0",
        ),
    ],
)
def test_errors_of_a_job_file_have_the_path_through_the_network(data, message):
    with pytest.raises(ValidationError) as caught:
        _Job.model_validate({"network": data})
    error = option_error("", caught.value, _Job, source="job.yaml")
    with pytest.raises(OptionError, match=message):
        raise error


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        (Literal[1, 2, 3], "x: must be one of 1, 2, 3, got 9."),
        (Literal[-1], "x: must be one of -1, got 9."),
        (Literal["a", "b or c", 1, None], "x: must be one of 'a', 'b or c', 1, None,"),
        (Literal["a", "b, c"], "x: must be one of 'a', 'b, c', got 9."),
    ],
)
def test_an_error_names_all_that_a_literal_allows(allowed, message):
    model = create_model("_Model", x=(allowed, ...))
    with pytest.raises(ValidationError) as caught:
        model(x=9)
    assert message in str(option_error("", caught.value, model))
