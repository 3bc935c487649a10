"""What single layers promise beyond the contract that all share."""

import numpy as np
import pytest

import daskdl as conf
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.conf.input_type import ConvolutionalFlat, FeedForward, Recurrent
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.layers.layer import Layer
from tests.unit.layers.cases import CASES, Alone
from tests.unit.layers.drawn import mask_behind
from tests.unit.layers.single import Single


def test_dense_flattens_images_channel_by_channel(rng):
    """DL4J's order (channels, height, width), so that its weights fit."""
    alone = Alone("dense on images")
    x = alone.x(rng)
    weight, bias = alone.layer.run.params["W"], alone.layer.run.params["b"]
    rows = np.stack([image.transpose(2, 0, 1).ravel() for image in x])
    np.testing.assert_allclose(alone.forward(x), np.tanh(rows @ weight + bias))


def test_dense_works_at_each_time_step(rng):
    alone = Alone("dense on series")
    x = alone.x(rng)
    weight = alone.layer.run.params["W"]
    expected = np.tanh(np.einsum("bti,io->bto", x, weight))
    np.testing.assert_allclose(alone.forward(x), expected)


def test_dense_gives_zero_at_masked_steps(rng):
    alone = Alone("dense on series, masked")
    output = alone.forward(alone.x(rng))
    np.testing.assert_array_equal(output[alone.mask() == 0], 0)


def test_dense_takes_a_mask_of_examples(rng):
    alone = Alone("dense")
    mask = np.array([[1], [0], [1.0]])
    output = alone.layer.forward(alone.x(rng), training=False, mask=mask)
    np.testing.assert_array_equal(output[1], 0)


def test_dense_refuses_a_mask_of_another_size(rng):
    alone = Alone("dense on series")
    with pytest.raises(ShapeError, match=r"'me': the mask must have 12 entries"):
        alone.layer.forward(alone.x(rng), training=False, mask=np.ones((3, 5)))


@pytest.mark.parametrize("name", ["lstm", "dense on series", "dropout of nothing"])
def test_the_mask_goes_on(name):
    mask = np.ones((3, 4))
    assert mask_behind(Alone(name).layer, mask) is mask


def test_global_pooling_uses_the_mask_up():
    mask = np.ones((3, 4))
    assert mask_behind(Alone("global pooling").layer, mask) is None


def test_global_pooling_of_images_hands_a_mask_of_examples_on():
    mask = np.ones((3, 1))
    layer = Alone("global pooling of images").layer
    assert mask_behind(layer, mask) is mask


def test_global_pooling_refuses_a_mask_of_other_steps(rng):
    alone = Alone("global pooling")
    with pytest.raises(ShapeError, match=r"'me': the mask must have shape \(3, 4\)"):
        alone.layer.forward(alone.x(rng), training=False, mask=np.ones((3, 1)))


def test_dropped_numbers_are_zero_and_the_others_are_scaled(rng):
    alone = Alone("dropout")
    x = alone.x(rng, batch=200)
    output = alone.forward(x)
    assert set(np.unique(np.round(output / x, 12))) == {0.0, 2.0}


def test_the_share_that_is_kept_is_the_probability(rng):
    alone = Alone("dropout")
    output = alone.forward(alone.x(rng, batch=2000))
    assert (output != 0).mean() == pytest.approx(0.5, abs=0.02)


def test_dropout_changes_nothing_in_inference(rng):
    alone = Alone("dropout")
    x = alone.x(rng)
    np.testing.assert_array_equal(alone.forward(x, training=False), x)


def test_dropout_of_a_layer_is_on_its_input(rng):
    alone = Alone("dense, dropout")
    x = alone.x(rng)
    kept = np.random.default_rng(11).random(x.shape, dtype=np.float32) < 0.6
    expected = np.tanh(x * kept / 0.6 @ alone.layer.run.params["W"])
    np.testing.assert_allclose(alone.forward(x), expected)


def test_only_the_forget_gate_of_a_fresh_lstm_has_a_bias():
    bias = Alone("lstm").layer.run.params["b"]
    np.testing.assert_array_equal(bias, [0, 0, 1, 1, 0, 0, 0, 0])


def initial_std(layer_conf, input_type, name="W"):
    shapes = layer_conf.parameter_shapes(input_type)
    layer = Layer(layer_conf, input_type, "me", Workspace())
    params = {key: np.zeros(shape) for key, shape in shapes.items()}
    layer.bind(params, {})
    layer.initialize(np.random.default_rng(5))
    return params[name].std()


RESOLVED = {"weight_init": "xavier", "bias_init": 0.5, "activation": "tanh"}


def test_dense_weights_have_xaviers_spread():
    dense = conf.Dense(n_out=200, **RESOLVED)
    std = initial_std(dense, FeedForward(size=300))
    assert std == pytest.approx(np.sqrt(2 / 500), rel=0.02)


def test_convolution_weights_have_fans_of_the_kernel_and_the_stride():
    convolution = conf.Convolution2D(
        n_out=64, kernel_size=(3, 5), stride=(2, 1), **RESOLVED
    )
    images = CASES["convolution"].input_type.replaced(channels=32)
    std = initial_std(convolution, images)
    fans = 15 * 32 + 15 * 64 / 2
    assert std == pytest.approx(np.sqrt(2 / fans), rel=0.02)


@pytest.mark.parametrize("name", ["W", "RW"])
def test_lstm_weights_have_dl4js_fans(name):
    """n_out in and n_in + n_out out, for both."""
    lstm = conf.LSTM(n_in=100, n_out=60, weight_init="xavier", bias_init=0.0)
    std = initial_std(lstm, Recurrent(size=100), name)
    assert std == pytest.approx(np.sqrt(2 / (60 + 160)), rel=0.02)


def test_biases_begin_at_what_the_configuration_says():
    layer_conf = conf.Dense(n_out=3, **RESOLVED)
    layer = Layer(layer_conf, FeedForward(size=2), "me", Workspace())
    params = {"W": np.zeros((2, 3)), "b": np.zeros(3)}
    layer.bind(params, {})
    layer.initialize(np.random.default_rng(5))
    np.testing.assert_array_equal(params["b"], 0.5)


def test_flattened_images_have_become_images():
    convolution = conf.Convolution2D(n_out=2, kernel_size=2, **RESOLVED)
    rows = ConvolutionalFlat(height=6, width=5, channels=2)
    layer = Layer(convolution, rows, "me", Workspace())
    assert layer.output_type.shape == (5, 4, 2)


def test_an_option_that_is_left_open_is_refused():
    with pytest.raises(OptionError, match="Dense 'me': activation must be given"):
        Layer(conf.Dense(n_out=3), FeedForward(size=2), "me", Workspace())


def test_a_configuration_of_an_unknown_layer_is_refused():
    class Strange(LayerConf):
        type: str = "strange"

    with pytest.raises(OptionError, match="of 'me' must be of a known layer, got Str"):
        Layer(Strange(), FeedForward(size=2), "me", Workspace())


@pytest.mark.parametrize(("own", "expected"), [(None, 1.5), (0.5, 0.5)])
def test_fresh_gains_of_layer_normalization_are_told(own, expected):
    dense = conf.Dense(n_out=2, has_layer_norm=True, gain_init=own)
    params = Single(dense, FeedForward(size=3), gain_init=1.5).layer.run.params
    np.testing.assert_array_equal(params["g"], expected)
