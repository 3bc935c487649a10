"""Layers on rows as values: what they refuse, and what needs random numbers."""

import pytest

import daskdl as dl
from daskdl.errors import OptionError
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent

ROWS = FeedForward(size=3)
SERIES = Recurrent(size=3)
IMAGES = Convolutional(height=2, width=2, channels=3)


@pytest.mark.parametrize(
    ("layer", "input_type", "message"),
    [
        (
            dl.ElementWiseMultiplication(),
            IMAGES,
            "ElementWiseMultiplication needs rows or time series, got",
        ),
        (dl.ElementWiseMultiplication(n_out=4), ROWS, "n_out: must be 3, as many as"),
        (dl.ElementWiseMultiplication(n_in=4), ROWS, "n_in: must be 3, what the layer"),
        (dl.RepeatVector(n=2), SERIES, "RepeatVector needs rows, got"),
    ],
)
def test_what_does_not_fit_is_refused(layer, input_type, message):
    with pytest.raises(OptionError, match=message):
        layer.output_type(input_type)


@pytest.mark.parametrize(
    "layer",
    [
        dl.Dense(n_out=2, activation="rrelu"),
        dl.Activation(activation={"type": "rrelu", "l": 0.1, "u": 0.2}),
        dl.LossLayer(loss="mse", activation="rrelu"),
        dl.VariationalAutoencoder(n_out=2, pzx_activation="rrelu"),
        dl.RepeatVector(n=2, keep_probability=0.5),
    ],
)
def test_who_needs_random_numbers(layer):
    assert layer.draws_random_numbers


@pytest.mark.parametrize(
    "layer",
    [
        dl.Dense(n_out=2),
        dl.Activation(activation="relu"),
        dl.LossLayer(),
        dl.VariationalAutoencoder(n_out=2),
        dl.BatchNormalization(),
        dl.Frozen(layer=dl.Dense(n_out=2, keep_probability=0.5)),
        dl.FrozenWithBackprop(layer=dl.Dense(n_out=2, keep_probability=0.5)),
    ],
)
def test_who_needs_none(layer):
    assert not layer.draws_random_numbers


def test_a_layer_without_n_out_takes_as_many_as_come_in():
    filled = dl.ElementWiseMultiplication().filled({}, ROWS, "me")
    assert (filled.n_in, filled.n_out) == (3, 3)


def test_a_repeated_row_is_a_series_of_known_length():
    layer = dl.RepeatVector(n=4, data_format="NWC")
    expected = Recurrent(size=3, time_steps=4, data_format="NWC")
    assert layer.output_type(ROWS) == expected


def test_the_loss_of_an_autoencoder_is_not_one_of_labels():
    layer = dl.AutoEncoder(n_out=2, loss="mse")
    assert layer.labels_type(ROWS) == FeedForward(size=2)
