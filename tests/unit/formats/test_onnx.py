"""Networks written as ONNX give the same outputs in another program's runtime."""

from typing import get_args

import numpy as np
import pytest

from daskdl.errors import FormatError, MissingExtraError, OutputExistsError
from daskdl.formats.onnx import model as onnx_model
from daskdl.formats.onnx.model import export_onnx, to_model
from daskdl.formats.onnx.network import network_graph
from daskdl.formats.onnx.table import WRITERS
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent
from daskdl.nn.conf.names import ActivationLiteral
from daskdl.nn.multilayer import MultiLayerNetwork
from tests.dialects import DL4J
from tests.unit.formats import onnx_cases as cases
from tests.unit.formats import onnx_graphs as graphs

onnx = pytest.importorskip("onnx", reason="needs onnx")
runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

# What is left of the order in which float32 sums are taken.
TOLERANCE = 1e-5
OPTIONS = [
    {"type": "elu", "alpha": 0.5},
    {"type": "gelu", "precise": True},
    {"type": "leakyrelu", "alpha": 0.3},
    {"type": "leakyrelu", "alpha": 1.5},
    {"type": "relu", "max": 1.0},
    {"type": "relu", "negative_slope": 0.1, "threshold": 0.5, "max": 2.0},
    {"type": "rrelu", "l": 0.5, "u": 0.7},
    {"type": "thresholdedrelu", "theta": 0.3},
]


def example(input_type, rng, n_examples):
    """Return features; the numbers of an embedding are whole."""
    shape = [7 if size is None else size for size in input_type.border_shape]
    return rng.standard_normal((n_examples, *shape)).astype(np.float32)


def shaken(network, rng):
    """Let running statistics, biases and gains be no round numbers."""
    network.params[...] += 0.1 * rng.standard_normal(network.n_params)
    for slot in network.layout:
        if slot.name.endswith("_var"):
            view = network.params[slot.offset : slot.stop]
            view[...] = np.abs(view) + 0.1
    return network


def run(network, features):
    content = to_model(network).SerializeToString()
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    names = [port.name for port in session.get_inputs()]
    return session.run(None, dict(zip(names, features, strict=True)))


def deviation(network, rng, *, n_examples=3, numbers=False):
    features = [example(kind, rng, n_examples) for kind in network.input_types]
    if numbers:
        features = [rng.integers(0, 9, x.shape).astype(np.float32) for x in features]
    expected = network.output(features)
    expected = expected if isinstance(expected, list) else [expected]
    pairs = zip(run(network, features), expected, strict=True)
    found = []
    for got, wanted in pairs:
        assert got.shape == wanted.shape
        found.append(float(np.abs(got - wanted).max()))
    return max(found)


@pytest.mark.parametrize("name", cases.LAYERS)
def test_layers_give_what_they_give_here(name, rng):
    network = shaken(cases.layer_network(name), rng)
    numbers = "embedding" in name
    assert deviation(network, rng, numbers=numbers) < TOLERANCE


@pytest.mark.parametrize("name", [name for name in cases.LAYERS if "softmax" in name])
def test_softmax_is_along_the_last_axis_in_dl4j(name, rng):
    conf = cases.layer_network(name).conf.replaced(dialect=DL4J)
    assert deviation(shaken(MultiLayerNetwork(conf), rng), rng) < TOLERANCE


@pytest.mark.parametrize("name", graphs.VERTICES)
def test_vertices_give_what_they_give_here(name, rng):
    assert deviation(shaken(graphs.vertex_network(name), rng), rng) < TOLERANCE


@pytest.mark.parametrize("make", [graphs.siamese, graphs.two_outputs])
def test_graphs_give_what_they_give_here(make, rng):
    assert deviation(shaken(make(), rng), rng) < TOLERANCE


@pytest.mark.parametrize(
    "make", [graphs.mlp, graphs.lenet, graphs.small_resnet, graphs.lstm_classifier]
)
def test_whole_networks_give_what_they_give_here(make, rng):
    network = shaken(make(), rng)
    assert deviation(network, rng, n_examples=4) < TOLERANCE


@pytest.mark.parametrize("activation", [*get_args(ActivationLiteral), *OPTIONS])
def test_activations_give_what_they_give_here(activation, rng):
    network = cases.sequence(
        FeedForward(size=50), {"type": "loss", "activation": activation, "loss": "mse"}
    )
    assert deviation(network, rng) < TOLERANCE


@pytest.mark.parametrize("activation", ["rrelu", {"type": "gelu", "precise": True}])
def test_so_do_those_of_dl4j(activation, rng):
    network = cases.sequence(
        FeedForward(size=50), {"type": "loss", "activation": activation, "loss": "mse"}
    )
    other = type(network)(network.conf.replaced(dialect=DL4J))
    assert deviation(other, rng) < TOLERANCE
    x = rng.standard_normal((3, 50)).astype("f4")
    assert np.abs(other.output(x) - network.output(x)).max() > 0.01


def test_rows_of_equal_numbers_are_normalized_to_zero(rng):
    network = cases.layer_network("dense with norm")
    zeros = np.zeros((2, 6), np.float32)
    (got,) = run(network, [zeros])
    np.testing.assert_allclose(got, network.output(zeros), atol=TOLERANCE)


@pytest.mark.parametrize("n_examples", [1, 5])
def test_batch_and_time_are_open(rng, n_examples):
    network = graphs.lstm_classifier()
    model = to_model(network)
    shape = model.graph.input[0].type.tensor_type.shape.dim
    assert [dim.dim_param or dim.dim_value for dim in shape] == ["batch", 6, "time"]
    assert deviation(network, rng, n_examples=n_examples) < TOLERANCE


def test_series_of_different_inputs_may_differ_in_length(rng):
    network = graphs.encoder_decoder()
    features = [
        rng.standard_normal((3, 4, steps)).astype(np.float32) for steps in (5, 7)
    ]
    (got,) = run(network, features)
    np.testing.assert_allclose(got, network.output(features), atol=TOLERANCE)


def test_names_are_those_of_the_graph():
    model = to_model(graphs.two_outputs())
    assert [port.name for port in model.graph.input] == ["a", "b"]
    assert [port.name for port in model.graph.output] == ["y", "x"]


def test_a_sequence_has_an_input_and_an_output():
    model = to_model(graphs.mlp())
    assert [port.name for port in model.graph.input] == ["input"]
    assert [port.name for port in model.graph.output] == ["output"]


def test_operators_are_called_after_their_layers():
    network = cases.sequence(
        FeedForward(size=3), {"type": "dense", "n_out": 2, "name": "hidden"}, cases.OUT
    )
    first = to_model(network).graph.node[0]
    assert (first.op_type, first.name.partition("/")[0]) == ("Gemm", "hidden")


def test_every_kind_that_is_covered_is_tried():
    """A row of the table without a network above is a row that nobody tested."""
    networks = [
        *map(cases.layer_network, cases.LAYERS),
        *map(graphs.vertex_network, graphs.VERTICES),
        graphs.siamese(),
    ]
    tried = set()
    for network in networks:
        for node in network.nodes:
            tried |= kinds(node.conf)
    covered = {*WRITERS.layers, *WRITERS.vertices, *WRITERS.preprocessors}
    assert covered - tried == set()


def kinds(conf):
    found = {type(conf)}
    for option in ("layer", "vertex", "preprocessor"):
        held = getattr(conf, option, None)
        found |= kinds(held) if held is not None else set()
    for held in getattr(conf, "preprocessors", ()):
        found |= kinds(held)
    return found


def test_kinds_without_a_form_are_refused_by_name(tmp_path):
    network = cases.sequence(
        FeedForward(size=6),
        {
            "type": "variational_autoencoder",
            "n_out": 3,
            "encoder_layer_sizes": [4],
            "decoder_layer_sizes": [4],
            "name": "code",
        },
        cases.OUT,
    )
    with pytest.raises(
        FormatError, match=r"must be of a kind that ONNX covers, got 'c"
    ):
        export_onnx(network, tmp_path / "net.onnx")
    assert list(tmp_path.iterdir()) == []


def test_kinds_inside_of_wrappers_are_refused_by_name():
    network = cases.sequence(
        Recurrent(size=4),
        {"type": "mask_zero", "layer": cases.LSTM, "name": "padded"},
        cases.SERIES_OUT,
    )
    with pytest.raises(FormatError, match=r"got 'padded \(MaskZero\)'"):
        network_graph(network)


def test_vertices_without_a_form_are_refused_by_name():
    reshape = {"type": "reshape", "new_shape": [-1, 6], "inputs": "a"}
    network = cases.graph({"a": cases.ROWS}, {"v": reshape, "out": graphs.END}, "out")
    with pytest.raises(FormatError, match=r"got 'v \(ReshapeVertex\)'"):
        network_graph(network)


def test_preprocessors_without_a_form_are_refused_by_name():
    reshape = {"type": "reshape", "target_shape": [6]}
    network = cases.sequence(
        FeedForward(size=6), {**cases.DENSE, "preprocessor": reshape}, cases.OUT
    )
    with pytest.raises(FormatError, match="ONNX: Reshape 'layer0': must be of a kind"):
        network_graph(network)


@pytest.mark.parametrize(
    ("input_type", "layer", "message"),
    [
        (
            cases.SERIES,
            {**cases.LSTM, "gate_activation": "cube"},
            "ONNX: LSTM 'layer0': gate_activation must be one .* got 'cube'",
        ),
        (
            cases.SERIES,
            {
                "type": "simple_rnn",
                "n_out": 4,
                "activation": {"type": "relu", "max": 1},
            },
            "SimpleRnn 'layer0': activation must be one .* got 'relu'",
        ),
        (
            cases.SERIES,
            {"type": "simple_rnn", "n_out": 4, "has_layer_norm": True},
            "SimpleRnn 'layer0': has_layer_norm must be False, got True",
        ),
        (
            cases.IMAGES,
            {**cases.POOLING, "pooling_type": "avg", "dilation": 2},
            r"Subsampling 'layer0': dilation must be 1 .*, got \(2, 2\)",
        ),
        (
            Convolutional(channels=3),
            {**cases.POOLING, "kernel_size": 1, "convolution_mode": "same"},
            r"stride must be 1, or at most the kernel .* open .* got \(2, 2\) for",
        ),
        (
            Convolutional(channels=3),
            {**cases.CONV, "convolution_mode": "same", "stride": 2, "dilation": 2},
            r"Convolution2D 'layer0': stride must be 1, or .* with dilation \(2, 2\)",
        ),
    ],
)
def test_options_without_a_form_are_refused_by_name(input_type, layer, message):
    ends = [cases.SERIES_OUT] if input_type is cases.SERIES else [cases.POOL, cases.OUT]
    with pytest.raises(FormatError, match=message):
        network_graph(cases.sequence(input_type, layer, *ends))


def test_files_are_whole_models(tmp_path, rng):
    network = graphs.mlp()
    export_onnx(network, tmp_path / "net.onnx")
    onnx.checker.check_model(onnx.load(tmp_path / "net.onnx"), full_check=True)
    with pytest.raises(OutputExistsError, match="must not exist yet"):
        export_onnx(network, tmp_path / "net.onnx")
    export_onnx(network, tmp_path / "net.onnx", overwrite=True)


def test_what_no_file_can_hold_is_refused(monkeypatch):
    monkeypatch.setattr(onnx_model, "_MOST_BYTES", 1000)
    with pytest.raises(FormatError, match="must take at most 1000 bytes in one file"):
        to_model(graphs.mlp())


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'daskdl\[onnx\]'"):
        to_model(graphs.mlp())
