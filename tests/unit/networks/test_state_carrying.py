"""Updater state goes with its parameter where another dialect deals otherwise."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.dialects import EXACT
from tests.dialects import DL4J

IMAGES = dl.Convolutional(height=6, width=6, channels=2)
TWO_UPDATERS = {"updater": "adam", "bias_updater": {"type": "nesterovs"}}


def network(*layers, input_type=IMAGES, **options):
    conf = dl.MultiLayerConfiguration(
        input=input_type,
        layers=[*layers, dl.Output(n_out=3)],
        dtype="float64",
        **{**TWO_UPDATERS, **options},
    )
    return dl.MultiLayerNetwork(conf)


def parts(net):
    """Return each state vector, shape (n_parts, n_params), NaN for none."""
    indices = net.plan.state_indices()
    return np.where(indices < 0, np.nan, net.updater_state[indices])


@pytest.mark.parametrize("names", [(EXACT, DL4J), (DL4J, EXACT)])
def test_separable_convolutions_keep_what_has_the_same_updater(names):
    """In DL4J the first numbers are a share of the weights, though biases lie there."""
    layer = dl.SeparableConvolution2D(n_out=4, kernel_size=3)
    net = network(layer, dl.GlobalPooling(), dialect=names[0])
    net.updater_state[...] = np.arange(1, net.updater_state.size + 1)
    other, _ = net.with_dialect(names[1])
    before, after = parts(net), parts(other)
    (bias,) = [slot for slot in net.layout if slot.name == "0_b"]
    changed = np.zeros(net.n_params, bool)
    n_conv = net.layout["2_W"].offset
    changed[: bias.size] = changed[n_conv - bias.size : n_conv] = True
    np.testing.assert_array_equal(after[:, ~changed], before[:, ~changed])
    # What begins with another updater begins as that begins.
    assert np.nansum(after[:, changed]) == 0


def test_layers_behind_a_frozen_one_keep_theirs():
    layer = dl.FrozenWithBackprop(layer=dl.Dense(n_out=3))
    net = network(layer, input_type=dl.FeedForward(size=4), dialect=DL4J)
    net.updater_state[...] = np.arange(net.updater_state.size)
    other, _ = net.with_dialect(EXACT)
    assert other.updater_state.size < net.updater_state.size
    start = net.layout["1_W"].offset
    np.testing.assert_array_equal(parts(other)[:, start:], parts(net)[:, start:])


def test_a_clone_needs_no_known_size():
    conf = dl.MultiLayerConfiguration(
        input=dl.FeedForward(size=None), layers=[dl.Activation(activation="relu")]
    )
    assert dl.MultiLayerNetwork(conf).clone().n_params == 0


def test_a_clone_has_all_of_it():
    net = network(dl.GlobalPooling())
    net.updater_state[...] = np.arange(net.updater_state.size)
    np.testing.assert_array_equal(net.clone().updater_state, net.updater_state)


@pytest.mark.filterwarnings("ignore::daskdl.errors.DialectWarning")
@pytest.mark.parametrize(
    "layer",
    [
        dl.FrozenWithBackprop(layer=dl.Dense(n_out=3)),
        dl.AutoEncoder(n_out=3),
        dl.Dense(n_out=3),
    ],
    ids=lambda layer: layer.type,
)
def test_a_file_of_dl4j_brings_it_back(layer, tmp_path):
    net = network(layer, input_type=dl.FeedForward(size=4))
    net.updater_state[...] = np.arange(net.updater_state.size)
    net.save(str(tmp_path / "network.zip"))
    back, _ = dl.load(str(tmp_path / "network.zip")).with_dialect(EXACT)
    before, after = parts(net), parts(back)
    n = sum(slot.size for slot in net.layout if slot.name != "0_vb")
    kept = np.r_[: net.layout["0_b"].stop, net.layout["1_W"].offset : net.n_params]
    assert kept.size == n
    np.testing.assert_array_equal(after[:, kept], before[:, kept])
