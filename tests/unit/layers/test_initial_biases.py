"""Biases begin at `bias_init`, in every layer that has biases without a meaning."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import OptionError
from daskdl.nn.conf.defaults import NetworkConf
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent
from tests.dialects import in_dl4j
from tests.unit.layers.drawn import built

SERIES = Recurrent(size=3, time_steps=6)
IMAGES = Convolutional(height=6, width=5, channels=2)
ZERO_IN_DL4J = {
    "variational autoencoder": (
        dl.VariationalAutoencoder(n_out=2),
        FeedForward(size=3),
    ),
    "recurrent attention": (dl.RecurrentAttention(n_out=2), SERIES),
    "locally connected 1d": (dl.LocallyConnected1D(n_out=2), SERIES),
    "locally connected 2d": (dl.LocallyConnected2D(n_out=2), IMAGES),
    "capsule": (dl.Capsule(capsules=3, capsule_dimensions=2, has_bias=True), SERIES),
    "primary capsules": (
        dl.PrimaryCapsules(capsule_dimensions=2, kernel_size=3),
        IMAGES,
    ),
}


def biases(conf, input_type, **network):
    """Return all biases of a layer, without what repeats."""
    layer = built(conf, input_type, **network)
    roles = {item.name: item.role for item in layer.conf.parameters(input_type)}
    found = [layer.run.params[name] for name, role in roles.items() if role == "bias"]
    return np.unique(np.concatenate([bias.ravel() for bias in found])).tolist()


@pytest.mark.parametrize("name", ZERO_IN_DL4J)
def test_they_begin_where_the_network_says(name):
    assert biases(*ZERO_IN_DL4J[name], bias_init=0.7) == [0.7]


@pytest.mark.parametrize("name", ZERO_IN_DL4J)
def test_or_the_layer_itself(name):
    conf, input_type = ZERO_IN_DL4J[name]
    assert biases(conf.replaced(bias_init=0.3), input_type, bias_init=0.7) == [0.3]


@pytest.mark.parametrize("name", ZERO_IN_DL4J)
def test_in_dl4j_they_begin_at_zero(name):
    conf, input_type = ZERO_IN_DL4J[name]
    assert biases(in_dl4j(conf), input_type, bias_init=0.7) == [0.0]


def test_in_dl4j_a_bias_of_its_own_counts_where_layers_are_locally_connected():
    conf = in_dl4j(dl.LocallyConnected1D(n_out=2, bias_init=0.3))
    assert biases(conf, SERIES) == [0.3]


def test_in_dl4j_recurrent_attention_refuses_one():
    conf = in_dl4j(dl.RecurrentAttention(n_out=2, bias_init=1.0))
    with pytest.raises(OptionError, match="bias_init: must be left out: biases of Re"):
        conf.filled(NetworkConf().defaults(), SERIES, "me")
