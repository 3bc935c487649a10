import numpy as np
import pytest

from daskdl.errors import OptionError
from daskdl.nn.activations import ACTIVATIONS, activation_function
from tests.gradients import check_gradient
from tests.unit.layers import golden

# DL4J rounds constants of these to float32, also in float64.
TOLERANCE = dict.fromkeys(["gelu", "hardsigmoid", "leakyrelu", "rationaltanh"], 1e-7)


def test_there_is_a_golden_file_of_every_activation():
    assert golden.names("activation") == sorted(ACTIVATIONS)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_forward_is_dl4js(name):
    case = golden.load("activation", name)
    output = ACTIVATIONS[name].forward(case["x"])
    tolerance = TOLERANCE.get(name, 1e-9)
    np.testing.assert_allclose(output, case["forward_training"], atol=tolerance)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_backward_is_dl4js_also_at_kinks(name):
    case = golden.load("activation", name)
    function = ACTIVATIONS[name]
    output = function.forward(case["x"])
    grad = function.backward(case["eps"], case["x"], output)
    tolerance = TOLERANCE.get(name, 1e-9)
    np.testing.assert_allclose(grad, case["backprop"], atol=tolerance)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_backward_is_the_derivative(rng, name):
    function = ACTIVATIONS[name]
    target = rng.standard_normal((7, 5))

    def loss_and_grad(vector):
        preout = vector.reshape(7, 5)
        output = function.forward(preout)
        grad = function.backward(target, preout, output)
        return float((output * target).sum()), grad.ravel()

    check_gradient(loss_and_grad, 2 * rng.standard_normal(35))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_out_may_be_what_is_read_least(rng, name):
    """Forward in place where the gradient does not read the pre-activations."""
    function = ACTIVATIONS[name]
    preout, grad = rng.standard_normal((2, 4, 3))
    output = function.forward(preout)
    expected = function.backward(grad, preout, output)
    in_place = preout.copy()
    if not function.reads_preout:
        function.forward(in_place, out=in_place)
        np.testing.assert_array_equal(in_place, output)
    result = function.backward(grad, in_place, output, out=grad)
    np.testing.assert_allclose(result, expected, rtol=1e-14)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_float32_stays_float32(rng, name):
    function = ACTIVATIONS[name]
    preout = rng.standard_normal((4, 3)).astype("f4")
    output = function.forward(preout)
    grad = function.backward(preout, preout, output)
    assert (output.dtype, grad.dtype) == (np.float32, np.float32)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", sorted(set(ACTIVATIONS) - {"cube"}))
def test_huge_values_neither_overflow_nor_give_nan(name, dtype):
    preout = np.array([[-1e30, -800.0, -90.0, 0.0, 90.0, 800.0, 1e30]], dtype)
    function = ACTIVATIONS[name]
    output = function.forward(preout)
    grad = function.backward(np.ones_like(preout), preout, output)
    assert np.isfinite([output, grad]).all()


def test_the_sigmoid_keeps_its_digits_far_from_zero():
    output = ACTIVATIONS["sigmoid"].forward(np.array([-40.0]))
    assert output[0] == pytest.approx(np.exp(-40), rel=1e-12)


def test_an_unknown_name_is_refused():
    with pytest.raises(OptionError, match="activation_function: name must be one of"):
        activation_function("relu7")
