"""Layer by layer: what comes out, which parameters there are, what is refused."""

import numpy as np
import pytest

from daskdl import (
    LSTM,
    Activation,
    BatchNormalization,
    Convolution2D,
    Dense,
    Dropout,
    GlobalPooling,
    Output,
    RnnOutput,
    Subsampling,
)
from daskdl.errors import OptionError
from daskdl.nn.conf.input_type import (
    Convolutional,
    ConvolutionalFlat,
    FeedForward,
    Recurrent,
)
from daskdl.nn.conf.updaters import Adam
from daskdl.nn.layers.windows import output_length

ROWS = FeedForward(size=6)
SERIES = Recurrent(size=3, data_format="NWC")
IMAGES = Convolutional(height=8, width=7, channels=2)

FITTING = [
    (Dense(n_out=4), ROWS, FeedForward(size=4), {"W": (6, 4), "b": (4,)}),
    (Dense(n_out=4, has_bias=False), ROWS, FeedForward(size=4), {"W": (6, 4)}),
    (Dense(n_out=4), IMAGES, FeedForward(size=4), {"W": (112, 4), "b": (4,)}),
    (
        Dense(n_out=4),
        SERIES,
        Recurrent(size=4, data_format="NWC"),
        {"W": (3, 4), "b": (4,)},
    ),
    (Output(n_out=4), ROWS, FeedForward(size=4), {"W": (6, 4), "b": (4,)}),
    (
        RnnOutput(n_out=4),
        SERIES,
        Recurrent(size=4, data_format="NWC"),
        {"W": (3, 4), "b": (4,)},
    ),
    (
        LSTM(n_out=4),
        SERIES,
        Recurrent(size=4, data_format="NWC"),
        {"W": (3, 16), "RW": (4, 16), "b": (16,)},
    ),
    (
        Convolution2D(n_out=5, kernel_size=3),
        IMAGES,
        Convolutional(height=6, width=5, channels=5),
        {"W": (3, 3, 2, 5), "b": (5,)},
    ),
    (
        Convolution2D(n_out=5, kernel_size=3, convolution_mode="same", stride=2),
        IMAGES,
        Convolutional(height=4, width=4, channels=5),
        {"W": (3, 3, 2, 5), "b": (5,)},
    ),
    (Subsampling(), IMAGES, Convolutional(height=4, width=3, channels=2), {}),
    (
        BatchNormalization(),
        IMAGES,
        IMAGES,
        {"gamma": (2,), "beta": (2,), "mean": (2,), "log10stdev": (2,)},
    ),
    (
        BatchNormalization(lock_gamma_beta=True, use_log_std=False),
        ROWS,
        ROWS,
        {"mean": (6,), "var": (6,)},
    ),
    (Dropout(keep_probability=0.5), SERIES, SERIES, {}),
    (Activation(activation="relu"), IMAGES, IMAGES, {}),
    (GlobalPooling(), SERIES, FeedForward(size=3), {}),
    (GlobalPooling(pooling_type="avg"), IMAGES, FeedForward(size=2), {}),
]


@pytest.mark.parametrize(("layer", "input_type", "output_type", "shapes"), FITTING)
def test_a_layer_knows_what_comes_out(layer, input_type, output_type, shapes):
    assert layer.output_type(input_type) == output_type


@pytest.mark.parametrize(("layer", "input_type", "output_type", "shapes"), FITTING)
def test_a_layer_knows_its_parameters(layer, input_type, output_type, shapes):
    found = layer.parameter_shapes(input_type)
    assert list(found.items()) == list(shapes.items())


@pytest.mark.parametrize(
    ("layer", "input_type", "message"),
    [
        (Output(n_out=2), SERIES, "Use RnnOutput for one output per time step, or put"),
        (RnnOutput(n_out=2), ROWS, r"needs time series .*, got FeedForward"),
        (LSTM(n_out=2), IMAGES, r"LSTM needs time series .*, got Convolutional"),
        (Convolution2D(n_out=2), ROWS, r"Convolution2D needs images .*, got FeedF"),
        (Subsampling(), SERIES, r"Subsampling needs images .*, got Recurrent"),
        (GlobalPooling(), ROWS, "GlobalPooling needs time series, images or volumes"),
        (Dense(n_out=2, n_in=5), ROWS, r"n_in: must be 6, .*rows of 6.*, got 5"),
        (
            Convolution2D(n_out=2, kernel_size=(3, 9)),
            IMAGES,
            r"kernel_size: must fit into the input of \(8, 7\).*got \(3, 9\)",
        ),
        (
            Convolution2D(n_out=2, kernel_size=4, dilation=3),
            IMAGES,
            r"kernel_size: must fit into .* dilation \(3, 3\), got \(4, 4\)",
        ),
        (
            Convolution2D(n_out=2, kernel_size=3, stride=2, convolution_mode="strict"),
            IMAGES,
            r"stride: must divide what the kernel \(3, 3\) leaves .*got \(2, 2\)",
        ),
    ],
)
def test_a_layer_refuses_what_it_cannot_take(layer, input_type, message):
    with pytest.raises(OptionError, match=message):
        layer.output_type(input_type)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Dense, "Dense.n_out: must be given"),
        (lambda: Dense(n_out=0), "Dense.n_out: must be greater than 0, got 0"),
        (lambda: Dense(n_out=2.5), "Dense.n_out: must be a whole number, got 2.5"),
        (lambda: Dense(n_out="8"), "Dense.n_out: must be a whole number, got '8'"),
        (lambda: Dense(n_out=True), "Dense.n_out: must be a number, got True"),
        (lambda: Dense(n_out=2, l2=-1), "Dense.l2: must be greater than or equal to 0"),
        (lambda: Dense(n_out=2, l2=float("nan")), "Dense.l2: must be"),
        (lambda: Dense(n_out=2, n_ot=3), "is not a known key. Did you mean 'n_out'"),
        (lambda: Dense(n_out=2, activation="reul"), "activation: .*mean 'relu'"),
        (lambda: Dense(n_out=2, weight_init="xaver"), "Did you mean 'xavier'"),
        (lambda: Dense(n_out=2, updater="adm"), r"updater.type: .*mean 'adam'"),
        (
            lambda: Dense(n_out=2, updater=3),
            "updater: must be a mapping with a known `type`, got 3",
        ),
        (lambda: Dense(n_out=2, keep_probability=0), "must be greater than 0, got 0"),
        (lambda: Dropout(keep_probability=1.5), "must be less than or equal to 1"),
        (lambda: Adam(beta1=1), "Adam.beta1: must be less than 1, got 1"),
        (lambda: Output(n_out=2, loss="mcxnt"), "loss: .*mean 'mcxent'"),
        (lambda: Subsampling(pooling_type="mean"), "must be one of 'max', 'avg'"),
        (
            lambda: Convolution2D(n_out=2, kernel_size=[3, 0]),
            r"Convolution2D.kernel_size\[1\]: must be greater than 0, got 0",
        ),
        (
            lambda: Convolution2D(n_out=2, kernel_size=[3, 3, 3]),
            "kernel_size: must have at most 2 items",
        ),
        (lambda: Recurrent(size=3, data_format="NCHW"), "must be one of 'NCW', 'NWC'"),
        (lambda: ConvolutionalFlat(height=2, width=2), "channels: must be given"),
    ],
)
def test_options_that_cannot_be_are_refused_at_once(make, message):
    with pytest.raises(OptionError, match=message):
        make()


def test_one_number_stands_for_both_directions():
    assert Convolution2D(n_out=2, kernel_size=3).kernel_size == (3, 3)


def test_names_are_matched_without_case_and_underscores():
    layer = Dense(n_out=2, weight_init="XAVIER_UNIFORM", activation="ReLU")
    assert (layer.weight_init, layer.activation) == ("xavier_uniform", "relu")


def test_text_is_no_number():
    with pytest.raises(OptionError, match="learning_rate: must be a number, got '1e-3"):
        Adam(learning_rate="1e-3")


def test_numbers_of_numpy_are_numbers():
    assert Dense(n_out=np.int64(3), l2=np.float32(0.5)).n_out == 3


def test_replaced_checks_like_a_new_one():
    with pytest.raises(OptionError, match="must be greater than 0, got -1"):
        Dense(n_out=2).replaced(n_out=-1)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((7, 3, 1, 0, 1, "truncate"), 5),
        ((7, 3, 2, 0, 1, "truncate"), 3),
        ((8, 3, 2, 0, 1, "truncate"), 3),
        ((7, 3, 2, 1, 1, "strict"), 4),
        ((7, 3, 1, 0, 2, "truncate"), 3),
        ((7, 3, 2, 0, 1, "same"), 4),
        ((8, 5, 3, 9, 1, "same"), 3),
    ],
)
def test_output_length_follows_dl4j(arguments, expected):
    assert output_length(*arguments) == expected
