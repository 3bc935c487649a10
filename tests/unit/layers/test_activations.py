import math
from functools import partial
from typing import get_args

import numpy as np
import pytest

from daskdl.dialects import EXACT, quirks_of
from daskdl.errors import OptionError
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import (
    Gelu,
    LeakyRelu,
    Relu,
    RRelu,
    ThresholdedRelu,
)
from daskdl.nn.conf.names import ActivationLiteral
from tests.dialects import DL4J
from tests.gradients import check_gradient
from tests.memory import peak_bytes
from tests.unit.layers import golden

NAMES = get_args(ActivationLiteral)
WITH_OPTIONS = {
    **golden.WITH_OPTIONS,
    "leakyrelu_2": LeakyRelu(alpha=2),
    "leakyrelu_-1": LeakyRelu(alpha=-1),
    "leakyrelu_0": LeakyRelu(alpha=0),
    "thresholdedrelu_-1": ThresholdedRelu(theta=-1),
    "relu_max0": Relu(max=0),
}
ALL = {**{name: name for name in NAMES}, **WITH_OPTIONS}


DIALECTS = [EXACT, DL4J]


@pytest.fixture(params=ALL)
def name(request):
    return request.param


@pytest.fixture(params=DIALECTS)
def function(request, name):
    return activation_function(ALL[name], quirks_of(request.param))


def test_there_is_a_golden_file_of_every_activation():
    assert set(golden.names("activation")) == {*NAMES, *golden.WITH_OPTIONS}


@pytest.mark.parametrize("name", golden.names("activation"))
def test_forward_is_dl4js(name):
    case = golden.load("activation", name)
    output = golden.activation_of(name).forward(case["x"])
    np.testing.assert_allclose(output, case["forward_inference"], rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", golden.names("activation"))
def test_backward_is_dl4js_also_at_kinks(name):
    case = golden.load("activation", name)
    function = golden.activation_of(name)
    grad = function.backward(case["eps"], case["x"], function.forward(case["x"]))
    np.testing.assert_allclose(grad, case["backprop"], rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", golden.names("activation"))
def test_float32_is_dl4js(name):
    case = golden.load("activation", name)
    function = golden.activation_of(name)
    x, grad_output = case["x"].astype("f4"), case["eps"].astype("f4")
    output = function.forward(x)
    grad = function.backward(grad_output, x, output)
    # Of the grid, 0.1 and -1e-3 are not numbers of float32; cubes reach 512.
    expected = case["forward_inference"], case["backprop"]
    np.testing.assert_allclose(output, expected[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(grad, expected[1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("is_training", [False, True])
def test_backward_is_the_derivative(rng, name, is_training):
    function = activation_function(ALL[name])
    target = rng.standard_normal((7, 5))

    def loss_and_grad(vector):
        preout = vector.reshape(7, 5)
        drawn = np.random.default_rng(4) if is_training else None
        output = function.forward(preout, rng=drawn)
        grad = function.backward(target, preout, output)
        return float((output * target).sum()), grad.ravel()

    check_gradient(loss_and_grad, 2 * rng.standard_normal(35))


def test_out_may_be_what_is_read_least(rng, function):
    """Forward in place where the gradient does not read the pre-activations."""
    preout, grad = rng.standard_normal((2, 4, 3))
    output = function.forward(preout)
    expected = function.backward(grad, preout, output)
    in_place = preout.copy()
    if not function.reads_preout:
        function.forward(in_place, out=in_place)
        np.testing.assert_array_equal(in_place, output)
    result = function.backward(grad, in_place, output, out=grad)
    np.testing.assert_allclose(result, expected, rtol=1e-14)


def test_out_may_be_another_view_of_the_gradient(rng, function):
    """A gate of an LSTM is a slice of an array, taken anew each time."""
    preout, grad = rng.standard_normal((2, 4, 3))
    output = function.forward(preout)
    expected = function.backward(grad.copy(), preout, output)
    function.backward(grad[:], preout, output, out=grad[:])
    np.testing.assert_allclose(grad, expected, rtol=1e-14)


@pytest.mark.parametrize("name", ["relu", "sigmoid", "softmax", "tanh"])
def test_the_usual_gradients_need_no_room_beside_out(rng, name):
    function = activation_function(name)
    preout, grad = rng.standard_normal((2, 512, 256))
    output, out = function.forward(preout), np.empty_like(grad)
    backward = partial(function.backward, grad, preout, output, out=out)
    assert peak_bytes(backward) < out.nbytes / 8


def test_nothing_but_out_is_written(rng, function):
    preout, grad = rng.standard_normal((2, 4, 3))
    output = function.forward(preout)
    before = preout.copy(), grad.copy(), output.copy()
    function.backward(grad, preout, output)
    np.testing.assert_equal((preout, grad, output), before)


def test_float32_stays_float32(rng, function):
    preout = rng.standard_normal((4, 3)).astype("f4")
    output = function.forward(preout)
    drawn = function.forward(preout, rng=rng)
    grad = function.backward(preout, preout, output)
    assert {output.dtype, drawn.dtype, grad.dtype} == {np.dtype("f4")}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", sorted(set(ALL) - {"cube"}))
def test_huge_values_neither_overflow_nor_give_nan(function, dtype):
    preout = np.array([[-1e30, -800.0, -90.0, 0.0, 90.0, 800.0, 1e30]], dtype)
    output = function.forward(preout)
    grad = function.backward(np.ones_like(preout), preout, output)
    assert np.isfinite([output, grad]).all()


def test_the_sigmoid_keeps_its_digits_far_from_zero():
    output = activation_function("sigmoid").forward(np.array([-40.0]))
    assert output[0] == pytest.approx(np.exp(-40), rel=1e-12)


def test_only_rrelu_draws_random_numbers():
    drawing = {name for name in NAMES if activation_function(name).draws_random_numbers}
    assert drawing == {"rrelu"}


def test_others_leave_the_generator_alone(rng):
    before = rng.bit_generator.state
    activation_function("relu").forward(np.ones((2, 3)), rng=rng)
    assert rng.bit_generator.state == before


class TestRRelu:
    PREOUT = np.linspace(-2, 2, 4001).reshape(1, -1)

    def slopes(self, rng):
        drawn = activation_function(RRelu(l=0.2, u=0.4)).forward(self.PREOUT, rng=rng)
        below = self.PREOUT < 0
        return drawn[below] / self.PREOUT[below], drawn[~below]

    def test_slopes_lie_between_the_bounds(self, rng):
        slopes, _ = self.slopes(rng)
        assert slopes.min() >= 0.2 - 1e-12
        assert slopes.max() <= 0.4 + 1e-12

    def test_slopes_are_drawn_for_each_number(self, rng):
        slopes, _ = self.slopes(rng)
        assert slopes.std() == pytest.approx(0.2 / np.sqrt(12), rel=0.05)

    def test_what_is_not_negative_stays(self, rng):
        _, kept = self.slopes(rng)
        np.testing.assert_array_equal(kept, self.PREOUT[self.PREOUT >= 0])

    def test_the_same_seed_draws_the_same(self):
        function = activation_function("rrelu")
        first, second = (
            function.forward(self.PREOUT, rng=np.random.default_rng(5))
            for _ in range(2)
        )
        np.testing.assert_array_equal(first, second)

    def test_inference_multiplies_by_the_mean_slope(self):
        output = activation_function(RRelu(l=0.2, u=0.4)).forward(self.PREOUT)
        expected = np.where(self.PREOUT < 0, 0.3 * self.PREOUT, self.PREOUT)
        np.testing.assert_allclose(output, expected)


def test_the_precise_gelu_is_near_to_x_times_the_normal_distribution():
    x = np.linspace(-5, 5, 101)
    normal = np.array([(1 + math.erf(value / math.sqrt(2))) / 2 for value in x])
    output = activation_function(Gelu(precise=True)).forward(x)
    np.testing.assert_allclose(output, x * normal, atol=5e-4)


def test_an_option_at_its_default_is_the_plain_function():
    assert activation_function(Relu()) is activation_function("relu")


def test_functions_are_made_once():
    conf = LeakyRelu(alpha=0.2)
    assert activation_function(conf) is activation_function(LeakyRelu(alpha=0.2))


def test_dl4js_spelling_is_known():
    assert activation_function("LEAKYRELU") is activation_function("leaky_relu")


def test_an_unknown_name_is_refused():
    with pytest.raises(
        OptionError,
        match=r"activation_function: must be a known name, got 'relu7'.*'relu'",
    ):
        activation_function("relu7")
