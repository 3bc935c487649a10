"""Each option of layers that older releases wrote otherwise."""

import warnings

import pytest

from daskdl.errors import FormatError
from tests.unit.dl4j.network.old_configurations import dense, first, imported, output

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


def test_a_distribution_that_is_none_is_refused():
    vae = {"VariationalAutoencoder": {**VAE, "outputDistribution": 3}}
    with pytest.raises(FormatError, match="outputDistribution: must be an object, got"):
        imported(vae, output())
