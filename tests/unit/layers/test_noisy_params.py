"""Noise on weights: whom it reaches, and how long."""

import numpy as np
import pytest

from daskdl import Dense
from daskdl.arrays.random import IterationStream
from daskdl.errors import OptionError
from daskdl.nn.conf.input_type import FeedForward
from tests.dialects import in_dl4j
from tests.gradients import check_gradient
from tests.unit.layers.single import Single

ROWS = FeedForward(size=50)
CONNECT = {"type": "drop_connect", "weight_retain_probability": 0.7}
ADD = {"type": "weight_noise", "distribution": {"type": "normal", "std": 0.1}}


def dense(noise, **options):
    conf = Dense(n_out=40, activation="identity", weight_noise=noise, **options)
    return Single(conf, ROWS, bias_init=0.5)


@pytest.fixture
def x(rng):
    return rng.standard_normal((3, 50))


def noisy(single, x, *, seed=1, iteration=0):
    """Run forward in training, and return the weights that it used."""
    numbers = np.random.default_rng(seed)
    single.forward(x, rng=IterationStream(numbers, iteration, 0))
    return single.layer.run.params


def test_dropped_weights_are_zero_and_others_as_they_were(x):
    single = dense(CONNECT)
    true = single.layer.run.params["W"]
    weight = noisy(single, x)["W"]
    assert set(np.unique(weight / true)) == {0.0, 1.0}


def test_the_probability_is_that_of_keeping_a_weight(x):
    weight = noisy(dense(CONNECT), x)["W"]
    np.testing.assert_allclose((weight != 0).mean(), 0.7, atol=0.05)


def test_biases_keep_without_being_asked_for(x):
    assert (noisy(dense(CONNECT), x)["b"] == 0.5).all()


@pytest.mark.parametrize(
    "noise", [{**CONNECT, "apply_to_biases": True}, {**ADD, "apply_to_bias": True}]
)
def test_biases_change_if_asked_for(x, noise):
    assert (noisy(dense(noise), x)["b"] != 0.5).any()


def test_noise_is_added(x):
    single = dense(ADD)
    true = single.layer.run.params["W"]
    difference = noisy(single, x)["W"] - true
    np.testing.assert_allclose(
        [difference.mean(), difference.std()], [0, 0.1], atol=0.01
    )


def test_or_multiplied(x):
    single = dense({**ADD, "additive": False})
    true = single.layer.run.params["W"]
    np.testing.assert_allclose((noisy(single, x)["W"] / true).std(), 0.1, atol=0.01)


def test_the_gain_of_layer_normalization_has_no_noise(x):
    single = dense(ADD, has_layer_norm=True)
    assert (noisy(single, x)["g"] == 1).all()


def test_the_output_is_that_of_the_noisy_weights(x):
    single = dense(ADD)
    output = single.forward(x, rng=np.random.default_rng(1))
    expected = x @ single.layer.run.params["W"] + 0.5
    np.testing.assert_allclose(output, expected)


def test_so_is_the_gradient_in_the_input(x, rng):
    single = dense(CONNECT)
    grad_out = rng.standard_normal((3, 40))
    weight = noisy(single, x)["W"]
    np.testing.assert_allclose(single.layer.backward(grad_out), grad_out @ weight.T)


EVERYWHERE = [
    {**CONNECT, "apply_to_biases": True},
    {**ADD, "apply_to_bias": True},
    {**ADD, "additive": False, "apply_to_bias": True},
]


@pytest.mark.parametrize("noise", EVERYWHERE)
def test_gradients_are_derivatives_in_the_true_weights(rng, noise):
    single = Single(
        Dense(n_out=3, activation="tanh", weight_noise=noise),
        FeedForward(size=4),
        bias_init=0.5,
    )
    x, target = rng.standard_normal((3, 4)), rng.standard_normal((3, 3))

    def loss_and_grad(vector):
        single.params[...] = vector
        output = single.forward(x, rng=np.random.default_rng(1))
        single.layer.backward(target)
        return float((output * target).sum()), single.gradients

    check_gradient(loss_and_grad, single.params.copy())


def test_the_gradient_of_dropped_weights_is_taken_as_if_they_were_there_in_dl4j(x, rng):
    conf = in_dl4j(Dense(n_out=40, activation="identity", weight_noise=CONNECT))
    single = Single(conf, ROWS, bias_init=0.5)
    grad_out = rng.standard_normal((3, 40))
    noisy(single, x)
    single.layer.backward(grad_out)
    np.testing.assert_allclose(single.layer.run.gradients["W"], x.T @ grad_out)


def test_the_parameters_themselves_stay(x):
    single = dense({**ADD, "apply_to_bias": True})
    before = single.params.copy()
    noisy(single, x)
    np.testing.assert_array_equal(single.params, before)


def test_each_iteration_draws_anew(x):
    single = dense(ADD)
    first = noisy(single, x)["W"].copy()
    assert (noisy(single, x, seed=2)["W"] != first).any()


def test_noise_is_not_added_to_noise(x):
    single = dense(ADD)
    noisy(single, x, seed=2)
    again = noisy(single, x)["W"]
    np.testing.assert_array_equal(again, noisy(dense(ADD), x)["W"])


@pytest.mark.parametrize("noise", [{**CONNECT, "apply_to_biases": True}, ADD])
def test_inference_has_none(x, noise):
    """Not even on biases, which DL4J goes on to noise."""
    single = dense(noise)
    noisy(single, x)
    output = single.forward(x, training=False)
    weight, bias = single.layout.views(single.params).values()
    np.testing.assert_allclose(output, x @ weight + bias)


def test_a_schedule_tells_the_probability_of_the_iteration(x):
    schedule = {"type": "map", "values": {0: 1.0, 3: 0.2}}
    single = dense({**CONNECT, "weight_retain_probability": schedule})
    shares = [(noisy(single, x, iteration=i)["W"] != 0).mean() for i in (0, 3)]
    np.testing.assert_allclose(shares, [1, 0.2], atol=0.05)


def test_a_schedule_that_gives_no_probability_is_refused(x):
    schedule = {"type": "fixed", "value": 2.0}
    single = dense({**CONNECT, "weight_retain_probability": schedule})
    with pytest.raises(OptionError, match=r"Weight noise of 'me': .* at most 1, got 2"):
        noisy(single, x)


def test_training_needs_random_numbers(x):
    with pytest.raises(OptionError, match="Weight noise of 'me': training needs a"):
        dense(ADD).forward(x)
