"""A network for every function, initializer and dropout that layers may name."""

from typing import get_args

import daskdl as dl
from daskdl.nn.conf.input_type import FeedForward, Recurrent
from daskdl.nn.conf.names import ActivationLiteral
from tests.dl4j.networks import (
    IMAGES,
    RANDOM,
    ROWS,
    SERIES,
    Trial,
    conv,
    dense,
    global_pool,
    lstm,
    out,
    rnn_out,
    sequence,
    simple,
    trial,
)

_ACTIVATION_OPTIONS = {
    "elu": {"alpha": 0.7},
    "gelu": {"precise": True},
    "leakyrelu": {"alpha": 0.2},
    "relu": {"max": 1.5, "negative_slope": 0.1, "threshold": 0.2},
    "rrelu": {"l": 0.1, "u": 0.4},
    "thresholdedrelu": {"theta": 0.5},
}
# The loss, the activation in front of it, and what its labels are.
_LOSSES = {
    "mcxent": ("softmax", None),
    "negativeloglikelihood": ("softmax", None),
    "sparse_mcxent": ("softmax", "numbers below 3"),
    "xent": ("sigmoid", None),
    "mse": ("identity", None),
    "l2": ("tanh", None),
    "l1": ("identity", None),
    "mae": ("identity", None),
    "mape": ("identity", "positive"),
    "msle": ("softplus", "positive"),
    "kl_divergence": ("softmax", None),
    "cosine_proximity": ("identity", None),
    "hinge": ("tanh", "signs"),
    "squared_hinge": ("tanh", "signs"),
    "poisson": ("softplus", "positive"),
    "wasserstein": ("identity", "signs"),
    "multilabel": ("identity", "one of two"),
}
_INITS = (
    "xavier",
    "xavier_uniform",
    "xavier_fan_in",
    "xavier_legacy",
    "relu",
    "relu_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "uniform",
    "sigmoid_uniform",
    "zero",
    "ones",
    {"type": "constant", "value": 0.3},
    {"type": "var_scaling_normal_fan_in", "scale": 0.5},
    {"type": "var_scaling_normal_fan_out"},
    {"type": "var_scaling_normal_fan_avg"},
    {"type": "var_scaling_uniform_fan_in"},
    {"type": "var_scaling_uniform_fan_out"},
    {"type": "var_scaling_uniform_fan_avg"},
)
_DISTRIBUTIONS = {
    "normal": {"mean": 0.1, "std": 0.2},
    "gaussian": {"mean": 0.1, "std": 0.2},
    "log_normal": {"mean": 0.1, "std": 0.2},
    "truncated_normal": {"mean": 0.1, "std": 0.2},
    "uniform": {"lower": -0.2, "upper": 0.3},
    "constant": {"value": 0.3},
    "orthogonal": {"gain": 0.5},
    "binomial": {"number_of_trials": 3, "probability_of_success": 0.4},
}
_RECONSTRUCTIONS = {
    "gaussian": {"activation": "tanh"},
    "bernoulli": {"activation": "sigmoid"},
    "exponential": {"activation": "identity"},
    "loss_wrapper": {"activation": "tanh", "loss": "mse"},
    "composite": {
        "sizes": [1, 3],
        "distributions": [{"type": "bernoulli"}, {"type": "gaussian"}],
    },
}
_SIZES = {"height": 5, "width": 6, "channels": 3}
_FLATTENING = {"type": "cnn_to_feed_forward", **_SIZES}
_NOISES = {
    "drop connect": {"type": "drop_connect", "weight_retain_probability": 0.7},
    "weight noise": {
        "type": "weight_noise",
        "distribution": {"type": "normal", "std": 0.1},
        "additive": False,
    },
}


def named(value):
    """Return what a name, or a mapping with options, is called."""
    return value if isinstance(value, str) else value["type"]


def activated(activation):
    options = {"not_trained": RANDOM} if named(activation) == "rrelu" else {}
    return trial(ROWS, dense(n_out=5, activation=activation), out(), **options)


def drawn(weight_init):
    return trial(ROWS, dense(n_out=5, weight_init=weight_init), out())


def flattened(preprocessor):
    """A network with a preprocessor that would be there by itself."""
    return trial(IMAGES, conv(3), dense(n_out=4, preprocessor=preprocessor), out())


OPTIONS = {
    **{f"activation {name}": activated(name) for name in get_args(ActivationLiteral)},
    **{
        f"activation {name} with options": activated({"type": name, **options})
        for name, options in _ACTIVATION_OPTIONS.items()
    },
    **{
        f"loss {name}": trial(
            ROWS,
            dense(n_out=5),
            out(loss=name, activation=activation),
            labels={0: labels} if labels else {},
        )
        for name, (activation, labels) in _LOSSES.items()
    },
    "loss fmeasure": trial(
        ROWS, dl.Output(n_out=2, loss={"type": "fmeasure", "beta": 0.5})
    ),
    **{f"weight init {named(init)}": drawn(init) for init in _INITS},
    **{
        f"distribution {name}": drawn(
            {"type": "distribution", "distribution": {"type": name, **options}}
        )
        for name, options in _DISTRIBUTIONS.items()
    },
    **{
        f"reconstruction {name}": trial(
            ROWS,
            dl.VariationalAutoencoder(
                n_out=3,
                encoder_layer_sizes=(4,),
                decoder_layer_sizes=(4,),
                reconstruction_distribution={"type": name, **options},
            ),
            out(),
        )
        for name, options in _RECONSTRUCTIONS.items()
    },
    **{
        name: Trial(
            sequence(ROWS, dense(n_out=5), out(), weight_noise=noise),
            not_trained=RANDOM,
        )
        for name, noise in _NOISES.items()
    },
    "gates": trial(
        SERIES,
        lstm(
            gate_activation="hardsigmoid",
            activation="softsign",
            forget_gate_bias_init=0.5,
            weight_init_recurrent="zero",
        ),
        rnn_out(),
    ),
    "weights of the last output": trial(
        SERIES, simple(weight_init_recurrent="xavier"), rnn_out()
    ),
    "preprocessor of a layer": flattened(_FLATTENING),
    "preprocessors in a row": flattened(
        {"type": "composable", "preprocessors": [_FLATTENING]}
    ),
    "rows as images": trial(
        FeedForward(size=90),
        conv(2, preprocessor={"type": "feed_forward_to_cnn", **_SIZES}),
        out(),
    ),
    "rows as volumes": trial(
        FeedForward(size=90),
        dl.Convolution3D(
            n_out=2,
            kernel_size=(1, 2, 2),
            preprocessor={
                "type": "feed_forward_to_cnn3d",
                **_SIZES,
                "channels": 1,
                "depth": 3,
            },
        ),
        global_pool(),
        out(),
    ),
    "steps as images": trial(
        Recurrent(size=90),
        conv(3, 1, preprocessor={"type": "rnn_to_cnn", **_SIZES}),
        lstm(preprocessor={"type": "cnn_to_rnn", **_SIZES}),
        rnn_out(),
    ),
}
