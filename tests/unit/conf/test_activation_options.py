"""Activations and losses in a configuration: names, options, what is refused."""

import pytest
from pydantic import Field

from daskdl.errors import OptionError
from daskdl.nn.conf.activations import (
    AnyActivation,
    Elu,
    Gelu,
    LeakyRelu,
    Relu,
    RRelu,
    ThresholdedRelu,
    draws_random_numbers,
)
from daskdl.nn.conf.losses import (
    AnyLoss,
    BinaryCrossEntropy,
    CrossEntropy,
    FMeasure,
    MeanSquaredError,
    MixtureDensity,
)
from daskdl.nn.conf.values import Conf, validated


class Holder(Conf):
    """A layer as far as these options go."""

    activation: AnyActivation | None = None
    loss: AnyLoss = "mcxent"


class Network(Conf):
    layers: tuple[Holder, ...] = Field(default=())


# DL4J's enum, whose names may be written without case and with underscores.
ENUM = [
    "CUBE",
    "ELU",
    "HARDSIGMOID",
    "HARDTANH",
    "IDENTITY",
    "LEAKYRELU",
    "RATIONALTANH",
    "RELU",
    "RELU6",
    "RRELU",
    "SIGMOID",
    "SOFTMAX",
    "SOFTPLUS",
    "SOFTSIGN",
    "TANH",
    "RECTIFIEDTANH",
    "SELU",
    "SWISH",
    "THRESHOLDEDRELU",
    "GELU",
    "MISH",
]
LOSS_ENUM = {
    "MSE": "mse",
    "L1": "l1",
    "XENT": "xent",
    "MCXENT": "mcxent",
    "SPARSE_MCXENT": "sparse_mcxent",
    "SQUARED_LOSS": "mse",
    "RECONSTRUCTION_CROSSENTROPY": "kl_divergence",
    "NEGATIVELOGLIKELIHOOD": "negativeloglikelihood",
    "COSINE_PROXIMITY": "cosine_proximity",
    "HINGE": "hinge",
    "SQUARED_HINGE": "squared_hinge",
    "KL_DIVERGENCE": "kl_divergence",
    "MEAN_ABSOLUTE_ERROR": "mae",
    "L2": "l2",
    "MEAN_ABSOLUTE_PERCENTAGE_ERROR": "mape",
    "MEAN_SQUARED_LOGARITHMIC_ERROR": "msle",
    "POISSON": "poisson",
    "WASSERSTEIN": "wasserstein",
}


@pytest.mark.parametrize("name", ENUM)
def test_names_of_dl4js_activations_are_known(name):
    assert Holder(activation=name).activation == name.lower()


@pytest.mark.parametrize("name", LOSS_ENUM)
def test_names_of_dl4js_losses_are_known(name):
    assert Holder(loss=name).loss == LOSS_ENUM[name]


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [
        ({"type": "elu", "alpha": 0.5}, Elu(alpha=0.5)),
        ({"type": "leaky_relu", "alpha": 0.3}, LeakyRelu(alpha=0.3)),
        ({"type": "LeakyReLU"}, LeakyRelu(alpha=0.01)),
        (
            {"type": "relu", "max": 6, "negative_slope": 0.1, "threshold": 1},
            Relu(max=6.0, negative_slope=0.1, threshold=1.0),
        ),
        ({"type": "thresholded-relu", "theta": 2}, ThresholdedRelu(theta=2.0)),
        ({"type": "rrelu", "l": 0.1, "u": 0.2}, RRelu(l=0.1, u=0.2)),
        ({"type": "gelu", "precise": True}, Gelu(precise=True)),
        ({"type": "Tanh"}, "tanh"),
        (Elu(alpha=2), Elu(alpha=2)),
    ],
)
def test_activations_with_options(mapping, expected):
    assert Holder(activation=mapping).activation == expected


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [
        ({"type": "mse", "weights": [1, 2]}, MeanSquaredError(weights=(1.0, 2.0))),
        ({"type": "squared_loss"}, MeanSquaredError()),
        ({"type": "XENT", "clip_eps": 0.1}, BinaryCrossEntropy(clip_eps=0.1)),
        ({"type": "mcxent", "softmax_clip_eps": 0}, CrossEntropy(softmax_clip_eps=0)),
        ({"type": "fmeasure", "beta": 2}, FMeasure(beta=2.0)),
        ({"type": "hinge"}, "hinge"),
        (
            {"type": "mixture_density", "mixtures": 3, "label_width": 2},
            MixtureDensity(mixtures=3, label_width=2),
        ),
    ],
)
def test_losses_with_options(mapping, expected):
    assert Holder(loss=mapping).loss == expected


@pytest.mark.parametrize(
    "values",
    [
        {"activation": "relu", "loss": "mse"},
        {"activation": {"type": "leakyrelu", "alpha": 0.3}},
        {"activation": {"type": "relu"}},
        {"loss": {"type": "mse", "weights": [1.0, 2.0]}},
        {"loss": {"type": "mixture_density", "mixtures": 3, "label_width": 2}},
    ],
)
def test_what_is_written_is_what_was_read(values):
    dumped = Holder(**values).model_dump(mode="json", exclude_defaults=True)
    assert dumped == values


def test_values_can_be_keys():
    assert len({Elu(alpha=0.5), Elu(alpha=0.5), Elu()}) == 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"activation": "relu7"}, r"activation: must be a known name, .* 'relu'\?"),
        ({"activation": 3}, "activation: must be a name, or a mapping with a .* got 3"),
        ({"activation": {"alpha": 1}}, "activation: must be a name, or a mapping with"),
        (
            {"activation": {"type": "leaky"}},
            r"activation\.type: must be a known name, got 'leaky'. .* 'leakyrelu'\?",
        ),
        (
            {"activation": {"type": "tanh", "alpha": 1}},
            "activation: 'tanh' has no options, got",
        ),
        (
            {"activation": {"type": "elu", "alpa": 1}},
            r"activation\.alpa: is not a known key. Did you mean 'alpha'\?",
        ),
        (
            {"activation": {"type": "elu", "alpha": "much"}},
            r"activation\.alpha: must be",
        ),
        (
            {"activation": {"type": "gelu", "precise": 1}},
            r"activation\.precise: must be true or false, got 1",
        ),
        (
            {"activation": {"type": "rrelu", "l": 0.5}},
            r"activation\.l: must be at most u \(0\.33.*\), got 0\.5",
        ),
        ({"loss": "mcxnt"}, r"loss: must be a known name, .* Did you mean 'mcxent'\?"),
        ({"activation": "linear"}, r"activation: .* Did you mean 'identity'\?"),
        ({"loss": "categorical_crossentropy"}, r"loss: .* Did you mean 'mcxent'\?"),
        (
            {"loss": "sparse_categorical_crossentropy"},
            r"loss: .* Did you mean 'sparse_mcxent'\?",
        ),
        ({"loss": "CrossEntropyLoss"}, r"loss: .* Did you mean 'mcxent'\?"),
        ({"loss": "crossentropy"}, r"loss: .* Did you mean 'mcxent'\?"),
        ({"loss": "binary_crossentropy"}, r"loss: .* Did you mean 'xent'\?"),
        ({"loss": {"type": "BCELoss"}}, r"loss.type: .* Did you mean 'xent'\?"),
        ({"loss": "mean_squared_error"}, r"loss: .* Did you mean 'mse'\?"),
        ({"loss": "L1Loss"}, r"loss: .* Did you mean 'mae'\?"),
        ({"loss": "mixture_density"}, r"loss\.mixtures: must be given"),
        (
            {"loss": {"type": "mse", "weights": []}},
            r"loss\.weights: must have at least",
        ),
        (
            {"loss": {"type": "xent", "clip_eps": 0.7}},
            r"loss\.clip_eps: must be less than or equal to 0\.5, got 0\.7",
        ),
        ({"loss": {"type": "fmeasure", "beta": 0}}, r"loss\.beta: must be greater"),
        (
            {"loss": {"type": "poisson", "weights": [1]}},
            "loss: 'poisson' has no options",
        ),
    ],
)
def test_what_is_refused_says_where_and_why(values, message):
    with pytest.raises(OptionError, match=r"network\.layers\[0\]\." + message):
        validated(Network, {"layers": [values]}, "network")


@pytest.mark.parametrize(
    ("activation", "expected"), [("rrelu", True), (RRelu(), True), ("elu", False)]
)
def test_rrelu_draws_random_numbers(activation, expected):
    assert draws_random_numbers(activation) is expected
