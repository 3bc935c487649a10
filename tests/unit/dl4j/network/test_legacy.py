"""Files of older releases: the real ones, and each old option by itself."""

import json
from pathlib import Path

import numpy as np
import pytest

from daskdl import ComputationGraph, MultiLayerNetwork
from daskdl.dl4j.network import model_zip
from daskdl.dl4j.network.export_network import export_configuration
from daskdl.dl4j.network.import_network import import_configuration
from daskdl.dl4j.network.legacy import modernized
from daskdl.dl4j.network.parameters import to_dl4j
from daskdl.dl4j.network.text import configuration_from_text
from daskdl.errors import FormatError
from daskdl.nn.conf.input_type import Recurrent
from tests.unit.dl4j.network.old_configurations import (
    configuration,
    dense,
    imported,
    output,
)

FILES = Path(__file__).parents[3] / "data" / "dl4j_legacy"
LAYERS = "org.deeplearning4j.nn.conf.layers."
REGRESSION = "_ModelSerializer_Regression_"
OLD = sorted(path.name for path in FILES.glob("0*.zip"))


def load(name):
    return model_zip.load(FILES / name)


@pytest.mark.parametrize("name", OLD)
def test_parameters_and_state_come_in_the_order_of_the_file(name):
    """Whoever saved these models numbered both from 1 on."""
    network = load(name)
    state = network.updater_state[model_zip.state_order(network)]
    np.testing.assert_array_equal(
        to_dl4j(network, network.params), np.arange(1, network.n_params + 1)
    )
    np.testing.assert_array_equal(state, np.arange(1, state.size + 1))


@pytest.mark.parametrize("name", OLD)
def test_saved_again_it_is_a_model_of_today(name, tmp_path):
    network = load(name)
    model_zip.save(network, tmp_path / "new.zip")
    again = model_zip.load(tmp_path / "new.zip")
    assert export_configuration(again) == export_configuration(network)
    np.testing.assert_array_equal(again.params, network.params)
    np.testing.assert_array_equal(again.updater_state, network.updater_state)


@pytest.mark.parametrize("release", ["050", "080"])
def test_a_perceptron_of_release(release):
    dense, output = load(f"{release}{REGRESSION}MLP_1.zip").conf.layers
    nesterovs = {"type": "nesterovs", "learning_rate": 0.15, "momentum": 0.9}
    assert (dense.n_in, dense.n_out, dense.activation) == (3, 4, "relu")
    assert (output.n_out, output.activation, output.loss) == (5, "softmax", "mcxent")
    assert dense.updater.model_dump() == nesterovs
    assert output.updater == dense.updater
    assert dense.bias_updater is None
    assert dense.weight_init == "xavier"
    assert (dense.l1, dense.l2, dense.weight_decay) == (0, 0, 0)
    assert dense.dropout is None


@pytest.mark.parametrize("release", ["060", "080"])
def test_options_of_training_of_release(release):
    conf = load(f"{release}{REGRESSION}MLP_2.zip").conf
    dense, output = conf.layers
    decay = {"coefficient": 0.2, "apply_learning_rate": False}
    assert dense.activation == "leakyrelu"
    assert output.loss == "mse"
    assert conf.optimization_algo == "conjugate_gradient"
    assert dense.updater.model_dump() == {
        "type": "rmsprop",
        "learning_rate": 0.15,
        "decay": 0.96,
        "epsilon": 1e-8,
    }
    assert dense.dropout.model_dump() == {"type": "dropout", "keep_probability": 0.6}
    assert (dense.l1, dense.l2) == (0.1, 0)
    assert dense.weight_decay.model_dump() == decay
    assert (dense.l1_bias, dense.weight_decay_bias) == (0, 0)
    assert dense.weight_init.distribution.model_dump() == {
        "type": "normal",
        "mean": 0.1,
        "std": 1.2,
    }
    assert dense.gradient_normalization == "clip_elementwise_absolute_value"
    assert dense.gradient_normalization_threshold == 1.5


@pytest.mark.parametrize("release", ["071", "080"])
def test_recurrent_networks_and_graphs_of_release(release):
    layers = load(f"{release}{REGRESSION}LSTM_1.zip")
    graph = load(f"{release}{REGRESSION}CG_LSTM_1.zip")
    kinds = ["graves_lstm", "graves_bidirectional_lstm", "rnn_output"]
    assert isinstance(layers, MultiLayerNetwork)
    assert isinstance(graph, ComputationGraph)
    assert [layer.type for layer in layers.conf.layers] == kinds
    assert [vertex.type for vertex in graph.conf.vertices.values()] == kinds
    assert layers.conf.input == Recurrent(size=3)
    assert layers.conf.layers[1].activation == "softsign"
    assert layers.conf.layers[0].gate_activation == "sigmoid"
    x = np.ones((2, 3, 4), "f4")
    np.testing.assert_array_equal(layers.output(x), graph.output(x))


WRAPPERS = {
    "autoEncoder": "AutoEncoder",
    "convolution": "ConvolutionLayer",
    "convolution1d": "Convolution1DLayer",
    "gravesLSTM": "GravesLSTM",
    "LSTM": "LSTM",
    "gravesBidirectionalLSTM": "GravesBidirectionalLSTM",
    "output": "OutputLayer",
    "CenterLossOutputLayer": "CenterLossOutputLayer",
    "rnnoutput": "RnnOutputLayer",
    "loss": "LossLayer",
    "dense": "DenseLayer",
    "subsampling": "SubsamplingLayer",
    "subsampling1d": "Subsampling1DLayer",
    "batchNormalization": "BatchNormalization",
    "localResponseNormalization": "LocalResponseNormalization",
    "embedding": "EmbeddingLayer",
    "activation": "ActivationLayer",
    "VariationalAutoencoder": "variational.VariationalAutoencoder",
    "dropout": "DropoutLayer",
    "GlobalPooling": "GlobalPoolingLayer",
    "zeroPadding": "ZeroPaddingLayer",
    "zeroPadding1d": "ZeroPadding1DLayer",
    "FrozenLayer": "misc.FrozenLayer",
    "Upsampling2D": "Upsampling2D",
    "Yolo2OutputLayer": "objdetect.Yolo2OutputLayer",
    "RnnLossLayer": "RnnLossLayer",
    "CnnLossLayer": "CnnLossLayer",
    "Bidirectional": "recurrent.Bidirectional",
    "SimpleRnn": "recurrent.SimpleRnn",
    "ElementWiseMult": "misc.ElementWiseMultiplicationLayer",
    "MaskLayer": "util.MaskLayer",
    "MaskZeroLayer": "util.MaskZeroLayer",
    "Cropping1D": "convolutional.Cropping1D",
    "Cropping2D": "convolutional.Cropping2D",
}


@pytest.mark.parametrize(("wrapper", "name"), WRAPPERS.items())
def test_a_layer_in_a_wrapper(wrapper, name):
    data = modernized(configuration({wrapper: {"layerName": "x"}}), "file")
    expected = {"layerName": "x", "@class": LAYERS + name}
    assert data["confs"][0]["layer"] == expected


def test_what_is_modern_stays_as_it_is():
    layer = {"@class": f"{LAYERS}DenseLayer", "regularization": [], "nin": 3}
    data = {"confs": [{"layer": layer, "seed": 1}], "inputPreProcessors": {}}
    assert modernized(data, "file") == data


def test_the_file_is_not_changed():
    data = configuration(dense(l2=0.1, dropOut=0.5), output())
    text = json.dumps(data)
    modernized(data, "file")
    assert json.dumps(data) == text


def test_layers_within_layers():
    old = {"LSTM": {"nin": 3, "nout": 2, "weightInit": "RELU", "l2": 0.1}}
    both = {"Bidirectional": {"fwd": old, "bwd": old, "mode": "ADD"}}
    end = {"rnnoutput": output()["output"]}
    layer = imported(both, end).layers[0]
    assert (layer.mode, layer.layer.type) == ("add", "lstm")
    assert layer.layer.weight_decay.coefficient == 0.1
    assert layer.layer.weight_init == "relu"


def normalization(*names):
    frozen = {"FrozenLayer": {"layer": {"batchNormalization": {"nin": 2, "nout": 2}}}}
    data = configuration(dense(), frozen, output())
    data["confs"][1]["variables"] = ["gamma", "beta", "mean", *names]
    conf, _ = import_configuration(data, "file")
    return conf.layers[1].layer


def test_frozen_normalization_by_variance_stays_so():
    """DL4J's loader asks only layers that are not frozen, and reads a logarithm."""
    assert normalization("var").use_log_std is False
    assert normalization("log10stdev").use_log_std is True


def test_images_of_releases_without_modes_or_formats():
    window = {"kernelSize": [2, 2], "stride": [1, 1], "padding": [0, 0]}
    layers = [
        {"convolution": {"nin": 1, "nout": 2, "weightInit": "RELU", **window}},
        {"Upsampling2D": {"size": 2}},
        {"subsampling": {"poolingType": "AVG", "weightInit": "RELU", **window}},
        output(nin=98),
    ]
    data = configuration(*layers)
    sizes = {"inputHeight": 7, "inputWidth": 7, "numChannels": 2}
    data["inputPreProcessors"] = {"3": {"cnnToFeedForward": sizes}}
    conf, _ = import_configuration(data, "file")
    convolution, upsampling, pooling, _ = conf.layers
    assert convolution.convolution_mode == "truncate"
    assert upsampling.size == (2, 2)
    assert pooling.include_padding is True


def test_series_in_parts_and_preprocessors_of_preprocessors():
    parts = [{"feedForwardToRnn": {}}, {"rnnToFeedForward": {}}]
    data = configuration(dense(), output())
    data["inputPreProcessors"] = {
        "0": {"composableInput": {"inputPreProcessors": parts}}
    }
    preprocessor = modernized(data, "file")["inputPreProcessors"]["0"]
    package = "org.deeplearning4j.nn.conf.preprocessor."
    assert preprocessor["@class"] == "ComposableInputPreProcessor"
    inner = [part["@class"] for part in preprocessor["inputPreProcessors"]]
    assert inner == ["FeedForwardToRnnPreProcessor", "RnnToFeedForwardPreProcessor"]
    conf, _ = import_configuration(data, "file")
    assert conf.layers[0].preprocessor.type == "composable"
    assert package not in str(preprocessor)


def graph(vertices, inputs, **others):
    ends = {"in": [], **inputs}
    return {
        "vertices": vertices,
        "vertexInputs": {name: read for name, read in ends.items() if read},
        "networkInputs": ["in"],
        "networkOutputs": ["out"],
        "defaultConfiguration": {"seed": 5},
        **others,
    }


def layer_vertex(layer, **others):
    return {"LayerVertex": {"layerConf": {"layer": layer}, **others}}


def test_a_graph_of_vertices_in_wrappers():
    old = {"rnnToFeedForward": {}}
    data = graph(
        {
            "a": layer_vertex({"LSTM": dense()["dense"]}),
            "back": {"ReverseTimeSeriesVertex": {"maskArrayInputName": "in"}},
            "sum": {"ElementWiseVertex": {"op": "Add"}},
            "rows": {"PreprocessorVertex": {"preProcessor": old}},
            "out": layer_vertex(output(), preProcessor=None),
        },
        {"a": ["in"], "back": ["a"], "sum": ["a", "back"], "rows": ["sum"]}
        | {"out": ["rows"]},
    )
    conf, _ = import_configuration(data, "file")
    kinds = {name: vertex.type for name, vertex in conf.vertices.items()}
    assert kinds == {
        "a": "lstm",
        "back": "reverse_time_series",
        "sum": "element_wise",
        "rows": "preprocessor",
        "out": "output",
    }
    assert conf.seed == 5


def test_yaml_of_an_old_release():
    text = """---
backprop: true
confs:
- layer: !<dense>
    activationFunction: relu
    nin: 3
    nout: 2
    weightInit: DISTRIBUTION
    dist: !<normal>
      mean: 0.5
      std: 1.0
- layer: !<output>
    activationFn: !<Softmax> {}
    lossFn: !<MCXENT>
      softmaxClipEps: 1.0E-10
    nin: 2
    nout: 2
"""
    dense, output = configuration_from_text(text).layers
    assert (dense.activation, dense.weight_init.distribution.mean) == ("relu", 0.5)
    assert (output.activation, output.loss) == ("softmax", "mcxent")


@pytest.mark.parametrize(
    "data",
    [
        {"confs": None},
        {"confs": [None]},
        {"confs": [{"layer": None}]},
        {"confs": [{"layer": {"dense": None}}]},
        {"confs": [{"layer": {"dense": {}, "output": {}}}]},
        {"vertices": {"a": None}},
        {"vertices": {"a": {"LayerVertex": []}}},
        {"vertices": {"a": {"LayerVertex": {"layerConf": 1}}}},
        {"confs": [], "inputPreProcessors": 3},
        {"confs": [], "inputPreProcessors": {"0": "cnnToRnn"}},
    ],
)
def test_what_is_no_configuration_is_left_to_the_reader(data):
    with pytest.raises(FormatError, match="file: "):
        import_configuration(data, "file")
