"""Dropouts and weight noise as values: what is taken, filled in and refused."""

import pytest

import daskdl as dl
from daskdl.errors import OptionError
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.conf.dropouts import (
    AlphaDropout,
    GaussianDropout,
    GaussianNoise,
    PlainDropout,
    SpatialDropout,
)
from daskdl.nn.conf.input_type import Convolutional, FeedForward
from daskdl.nn.conf.weight_noise import DropConnect

ROWS = FeedForward(size=3)
IMAGES = Convolutional(height=3, width=3, channels=2)
NOISE = {"type": "gaussian_noise", "stddev": 0.5}


def filled(layer, input_type=ROWS, **network):
    return layer.filled(NetworkConf(**network).defaults(), input_type, "me")


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [
        ({"type": "dropout", "keep_probability": 0.6}, PlainDropout),
        ({"type": "Alpha Dropout", "keep_probability": 0.6}, AlphaDropout),
        ({"type": "GaussianDropout", "rate": 0.4}, GaussianDropout),
        (NOISE, GaussianNoise),
        ({"type": "spatial_dropout", "keep_probability": 0.6}, SpatialDropout),
    ],
)
def test_every_kind_is_known_by_name(mapping, expected):
    assert isinstance(dl.Dense(n_out=2, dropout=mapping).dropout, expected)


def test_a_schedule_may_stand_for_the_number():
    schedule = {"type": "map", "values": {0: 0.9, 5: 0.5}}
    dropout = dl.Dense(
        n_out=2, dropout={"type": "dropout", "keep_probability": schedule}
    ).dropout
    assert dropout.keep_probability.value_at(7, 0) == 0.5


def test_lambda_has_its_name_in_mappings():
    dropout = AlphaDropout.model_validate({"keep_probability": 0.5, "lambda": 2.0})
    assert dropout.model_dump(by_alias=True)["lambda"] == 2.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"keep_probability": 0.5, "dropout": NOISE},
            r"dropout: must be left out where keep_probability is given, .*got gauss",
        ),
        ({"dropout": 0.5}, "Give plain dropout as keep_probability"),
        ({"dropout": {"type": "dropout"}}, r"dropout\.keep_probability: must be given"),
        (
            {"dropout": {"type": "dropout", "keep_probability": 0}},
            r"dropout\.keep_probability: must be greater than 0",
        ),
        (
            {"dropout": {"type": "gaussian_dropout", "rate": 1.0}},
            r"dropout\.rate: must be less than 1",
        ),
        (
            {"weight_noise": {"type": "drop_connect"}},
            r"weight_noise\.weight_retain_probability: must be given",
        ),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(OptionError, match=message):
        dl.Dense(n_out=2, **options)


def test_a_network_cannot_have_both_either():
    with pytest.raises(OptionError, match="must be left out where keep_probability"):
        NetworkConf(keep_probability=0.5, dropout=NOISE)


def test_plain_dropout_may_be_given_as_a_probability():
    layer = dl.Dense(n_out=2, keep_probability=0.5)
    assert layer.input_dropout == PlainDropout(keep_probability=0.5)


def test_layers_take_over_the_dropout_of_the_network():
    assert filled(dl.Dense(n_out=2), dropout=NOISE).input_dropout.stddev == 0.5


def test_a_layer_with_a_dropout_of_its_own_keeps_it():
    layer = filled(dl.Dense(n_out=2, dropout=NOISE), keep_probability=0.5)
    assert layer.input_dropout.stddev == 0.5


def test_a_layer_that_keeps_everything_drops_nothing():
    layer = filled(dl.Dense(n_out=2, keep_probability=1), dropout=NOISE)
    assert layer.input_dropout is None


def test_the_dropout_of_the_network_is_not_for_every_layer():
    assert filled(dl.Activation(), dropout=NOISE).input_dropout is None
    assert filled(dl.Activation(dropout=NOISE)).input_dropout.stddev == 0.5


def test_a_dropout_layer_takes_over_that_of_the_network():
    assert (
        filled(dl.Dropout(), keep_probability=0.5).input_dropout.keep_probability == 0.5
    )


def test_whole_features_of_rows_cannot_be_dropped():
    spatial = {"type": "spatial_dropout", "keep_probability": 0.5}
    with pytest.raises(OptionError, match="spatial dropout needs time series, images"):
        filled(dl.Dense(n_out=2, dropout=spatial))


def test_those_of_images_can():
    spatial = {"type": "spatial_dropout", "keep_probability": 0.5}
    layer = filled(dl.Dense(n_out=2, dropout=spatial), IMAGES)
    assert layer.draws_random_numbers


def test_layers_take_over_the_weight_noise_of_the_network():
    noise = {"type": "drop_connect", "weight_retain_probability": 0.5}
    layer = filled(dl.Dense(n_out=2), weight_noise=noise)
    assert layer.weight_noise == DropConnect(weight_retain_probability=0.5)


def test_weight_noise_needs_random_numbers():
    noise = {"type": "weight_noise", "distribution": {"type": "normal"}}
    assert dl.Dense(n_out=2, weight_noise=noise).draws_random_numbers


def test_a_random_activation_needs_random_numbers():
    assert dl.Dense(n_out=2, activation="rrelu").draws_random_numbers
