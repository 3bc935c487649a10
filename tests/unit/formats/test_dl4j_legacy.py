"""Files of older releases: the real ones, and each old option by itself."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from daskdl import ComputationGraph, MultiLayerNetwork
from daskdl.errors import FormatError
from daskdl.formats.dl4j import model_zip
from daskdl.formats.dl4j.export_network import export_configuration
from daskdl.formats.dl4j.import_network import import_configuration
from daskdl.formats.dl4j.legacy import modernized
from daskdl.formats.dl4j.parameters import to_dl4j
from daskdl.formats.dl4j.text import configuration_from_text
from daskdl.nn.conf.input_type import Recurrent

FILES = Path(__file__).parents[2] / "data" / "dl4j_legacy"
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


def dense(**options):
    return {"dense": {"nin": 3, "nout": 2, "weightInit": "XAVIER", **options}}


def output(**options):
    options = {"nin": 2, "nout": 2, "weightInit": "XAVIER", **options}
    return {"output": {"lossFunction": "MSE", "activationFunction": "tanh", **options}}


def configuration(*layers, **others):
    confs = [{"layer": layer, **others} for layer in layers]
    return {"confs": confs, "backprop": True, "pretrain": False}


def imported(*layers, **others):
    conf, _ = import_configuration(configuration(*layers, **others), "file")
    return conf


def first(**options):
    return imported(dense(**options), output()).layers[0]


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


ACTIVATIONS = {
    "Cube": "cube",
    "ELU": "elu",
    "HardSigmoid": "hardsigmoid",
    "HardTanh": "hardtanh",
    "Identity": "identity",
    "LReLU": "leakyrelu",
    "RationalTanh": "rationaltanh",
    "RectifiedTanh": "rectifiedtanh",
    "SELU": "selu",
    "SWISH": "swish",
    "ReLU": "relu",
    "RReLU": "rrelu",
    "Sigmoid": "sigmoid",
    "Softmax": "softmax",
    "SoftPlus": "softplus",
    "SoftSign": "softsign",
    "TanH": "tanh",
}


@pytest.mark.parametrize(("wrapper", "name"), ACTIVATIONS.items())
def test_an_activation_in_a_wrapper_and_as_a_name(wrapper, name):
    assert first(activationFn={wrapper: {}}).activation == name
    assert first(activationFunction=name.upper()).activation == name


def test_an_activation_keeps_its_options():
    activation = first(activationFn={"LReLU": {"alpha": 0.3}}).activation
    assert activation.model_dump() == {"type": "leakyrelu", "alpha": 0.3}


LOSSES = {
    "BinaryXENT": "xent",
    "CosineProximity": "cosine_proximity",
    "Hinge": "hinge",
    "KLD": "kl_divergence",
    "MAE": "mae",
    "L1": "l1",
    "MAPE": "mape",
    "MCXENT": "mcxent",
    "MSE": "mse",
    "L2": "l2",
    "MSLE": "msle",
    "NegativeLogLikelihood": "negativeloglikelihood",
    "Poisson": "poisson",
    "SquaredHinge": "squared_hinge",
    "FMeasure": "fmeasure",
}


@pytest.mark.parametrize(("wrapper", "name"), LOSSES.items())
def test_a_loss_in_a_wrapper(wrapper, name):
    function = {wrapper: {"configProperties": False, "numOutputs": -1}}
    activation = "sigmoid" if name == "fmeasure" else "softmax"
    layer = output(lossFn=function, activationFunction=activation)
    assert imported(dense(), layer).layers[1].loss == name


@pytest.mark.parametrize(
    ("old", "name"),
    [
        ("MSE", "mse"),
        ("XENT", "xent"),
        ("MCXENT", "mcxent"),
        ("NEGATIVELOGLIKELIHOOD", "negativeloglikelihood"),
        ("SQUARED_LOSS", "l2"),
        ("RECONSTRUCTION_CROSSENTROPY", "kl_divergence"),
    ],
)
def test_a_loss_as_a_name(old, name):
    layer = output(lossFunction=old, activationFunction="softmax")
    assert imported(dense(), layer).layers[1].loss == name


NUMBERS = {
    "learningRate": 0.1,
    "momentum": 0.2,
    "rho": 0.3,
    "epsilon": 0.4,
    "rmsDecay": 0.5,
    "adamMeanDecay": 0.6,
    "adamVarDecay": 0.7,
}
MOMENTS = {"learning_rate": 0.1, "beta1": 0.6, "beta2": 0.7, "epsilon": 0.4}
UPDATERS = {
    "SGD": {"type": "sgd", "learning_rate": 0.1},
    "ADAM": {"type": "adam", **MOMENTS},
    "ADAMAX": {"type": "adamax", **MOMENTS},
    "NADAM": {"type": "nadam", **MOMENTS},
    "ADADELTA": {"type": "adadelta", "rho": 0.3, "epsilon": 0.4},
    "NESTEROVS": {"type": "nesterovs", "learning_rate": 0.1, "momentum": 0.2},
    "ADAGRAD": {"type": "adagrad", "learning_rate": 0.1, "epsilon": 0.4},
    "RMSPROP": {"type": "rmsprop", "learning_rate": 0.1, "decay": 0.5, "epsilon": 0.4},
    "NONE": {"type": "noop"},
}


@pytest.mark.parametrize(("name", "expected"), UPDATERS.items())
def test_an_updater_as_a_name(name, expected):
    assert first(updater=name, **NUMBERS).updater.model_dump() == expected


@pytest.mark.parametrize("nothing", ["NaN", float("nan"), None])
def test_numbers_of_an_updater_that_stand_for_nothing(nothing):
    layer = first(updater="ADAM", **dict.fromkeys(NUMBERS, nothing))
    assert layer.updater == type(layer.updater)()


def test_another_rate_for_biases_is_an_updater_of_theirs():
    """DL4J since 0.9 leaves it out."""
    layer = first(updater="SGD", learningRate=0.1, biasLearningRate=0.2)
    assert layer.updater.learning_rate == 0.1
    assert layer.bias_updater.learning_rate == 0.2


def test_the_same_rate_for_biases_needs_no_updater_of_theirs():
    layer = first(updater="SGD", learningRate=0.1, biasLearningRate=0.1)
    assert layer.bias_updater is None


@pytest.mark.parametrize("name", ["iupdater", "iUpdater"])
def test_an_updater_as_an_object_goes_before_an_old_name(name):
    adam = {"@class": "org.nd4j.linalg.learning.config.Adam", "learningRate": 0.3}
    layer = first(updater="SGD", learningRate=0.1, **{name: adam})
    assert (layer.updater.type, layer.updater.learning_rate) == ("adam", 0.3)


@pytest.mark.parametrize("bias", [("l1Bias", "l2Bias"), ("biasL1", "biasL2")])
def test_penalties_as_numbers(bias):
    layer = first(l1=0.1, l2=0.2, **dict(zip(bias, (0.3, 0.4), strict=True)))
    assert (layer.l1, layer.l1_bias, layer.l2, layer.l2_bias) == (0.1, 0.3, 0, 0)
    assert layer.weight_decay.model_dump() == {
        "coefficient": 0.2,
        "apply_learning_rate": False,
    }
    assert layer.weight_decay_bias.coefficient == 0.4


@pytest.mark.parametrize("nothing", [0.0, "NaN", None])
def test_dropout_that_stands_for_nothing(nothing):
    assert first(dropOut=nothing).dropout is None


@pytest.mark.parametrize(
    ("has_drop_connect", "option", "expected"),
    [
        (False, "dropout", {"type": "dropout", "keep_probability": 0.7}),
        (
            True,
            "weight_noise",
            {
                "type": "drop_connect",
                "weight_retain_probability": 0.7,
                "apply_to_biases": False,
            },
        ),
    ],
)
def test_dropout_as_a_number(has_drop_connect, option, expected):
    layers = dense(dropOut=0.7), output()
    layer = imported(*layers, useDropConnect=has_drop_connect).layers[0]
    assert getattr(layer, option).model_dump() == expected


def test_drop_connect_that_keeps_nothing_is_none():
    """DL4J's loader keeps no weight at all: what such a layer computes is its bias."""
    layer = imported(dense(dropOut=0.0), output(), useDropConnect=True).layers[0]
    assert layer.weight_noise is None


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        ("RELU", "relu"),
        ("XAVIER_UNIFORM", "xavier_uniform"),
        ("ZERO", {"type": "constant", "value": 0.0}),
        ("VAR_SCALING_NORMAL_FAN_IN", "var_scaling_normal_fan_in"),
    ],
)
def test_initial_weights_as_a_name(old, expected):
    found = first(weightInit=old).weight_init
    assert (found if isinstance(found, str) else found.model_dump()) == expected


@pytest.mark.parametrize(
    ("dist", "expected"),
    [
        (
            {"gaussian": {"mean": 1.0, "std": 2.0}},
            {"type": "gaussian", "mean": 1.0, "std": 2.0},
        ),
        (
            {"uniform": {"lower": 1.0, "upper": 2.0}},
            {"type": "uniform", "lower": 1.0, "upper": 2.0},
        ),
        (
            {
                "type": "org.deeplearning4j.nn.conf.distribution.NormalDistribution",
                "mean": 1.0,
                "std": 2.0,
            },
            {"type": "normal", "mean": 1.0, "std": 2.0},
        ),
        (
            {"binomial": {"numberOfTrials": 3, "probabilityOfSuccess": 0.5}},
            {"type": "binomial", "number_of_trials": 3, "probability_of_success": 0.5},
        ),
    ],
)
def test_a_distribution_of_initial_weights(dist, expected):
    layer = first(weightInit="DISTRIBUTION", dist=dist)
    assert layer.weight_init.distribution.model_dump() == expected


@pytest.mark.parametrize(
    "options", [{"weightInit": "VI"}, {"weightInit": "DISTRIBUTION", "dist": None}]
)
def test_forgotten_initial_weights_are_warned_of(options):
    with pytest.warns(UserWarning, match="weightInit: .* is no initialisation that"):
        layer = first(**options)
    assert layer.weight_init is None


def test_a_policy_of_the_learning_rate_is_warned_of():
    with pytest.warns(UserWarning, match="followed the policy 'Step', which is not"):
        imported(dense(), output(), learningRatePolicy="Step")


def test_no_policy_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        imported(dense(), output(), learningRatePolicy="None")


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


VAE = {"nin": 3, "nout": 2, "weightInit": "XAVIER", "activationFunction": "tanh"}
VAE |= {"encoderLayerSizes": [4], "decoderLayerSizes": [4]}


@pytest.mark.parametrize(
    "names",
    [
        {
            "pzxActivationFunction": "softsign",
            "outputDistribution": {"Gaussian": {"activationFn": "identity"}},
        },
        {
            "pzxActivationFn": {"SoftSign": {}},
            "outputDistribution": {"Gaussian": {"activationFn": {"Identity": {}}}},
        },
    ],
)
def test_a_variational_autoencoder(names):
    layers = {"VariationalAutoencoder": {**VAE, **names}}, output()
    vae = imported(*layers).layers[0]
    assert vae.pzx_activation == "softsign"
    assert vae.reconstruction_distribution.model_dump() == {
        "type": "gaussian",
        "activation": "identity",
    }


def test_distributions_of_an_autoencoder_in_parts():
    bernoulli = {"Bernoulli": {"activationFn": {"Sigmoid": {}}}}
    loss = {"LossWrapper": {"activationFn": {"TanH": {}}, "lossFunction": {"MSE": {}}}}
    parts = {
        "distributionSizes": [1, 2],
        "reconstructionDistributions": [bernoulli, loss],
    }
    options = {**VAE, "outputDistribution": {"Composite": parts}}
    vae = imported({"VariationalAutoencoder": options}, output()).layers[0]
    kinds = [part.type for part in vae.reconstruction_distribution.distributions]
    assert kinds == ["bernoulli", "loss_wrapper"]


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
    ("options", "message"),
    [
        ({"updater": "CUSTOM"}, r"layer\.updater: must be one of SGD, .*'CUSTOM'"),
        ({"l2": "much"}, r"layer\.l2: must be a number, got 'much'"),
        ({"l1": True}, r"layer\.l1: must be a number, got True"),
        ({"dropOut": []}, r"layer\.dropOut: must be a number, got \[\]"),
        (
            {"activationFunction": "maxout"},
            r"layer\.activationFunction: must name an activation .* got 'maxout'",
        ),
        ({"activationFn": {"Own": {}}}, "layer.*an activation that .* got 'Own'"),
    ],
)
def test_an_old_option_that_is_wrong(options, message):
    with pytest.raises(FormatError, match=rf"^file: confs\[0\]\.{message}"):
        first(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"lossFunction": "RMSE_XENT"},
            "must name a loss that DL4J has, got 'RMSE_XENT'",
        ),
        ({"lossFn": {"Own": {}}}, "must be a loss that DL4J has, got 'Own'"),
    ],
)
def test_an_old_loss_that_is_unknown(options, message):
    with pytest.raises(FormatError, match=message):
        imported(dense(), output(**options))


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
