import numpy as np
import pytest

from daskdl.kernels.activation import bias_relu, reference, relu_backward

SHAPES = [(0, 3), (1, 1), (1, 7), (3, 1), (5, 3), (64, 20), (33, 255), (2, 257), (9, 0)]
DTYPES = ["f4", "f8"]
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])


def drawn(rng, shape, dtype, *, special=False):
    x = rng.standard_normal(shape).astype(dtype)
    if special and x.size:
        x.flat[rng.integers(0, x.size, len(SPECIAL))] = SPECIAL
    return x


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_bias_and_rectifier_are_those_of_the_twin(rng, shape, dtype, special):
    x = drawn(rng, shape, dtype, special=special)
    bias = drawn(rng, shape[1:], dtype)
    expected = reference.bias_relu(x.copy(), bias)
    np.testing.assert_array_equal(bias_relu(x, bias), expected)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_gradient_of_the_rectifier_is_that_of_the_twin(
    rng, shape, dtype, special, in_place
):
    grad = drawn(rng, shape, dtype, special=special)
    output = np.maximum(drawn(rng, shape, dtype), 0)
    expected = reference.relu_backward(grad, output, np.empty_like(grad), None)
    out = grad if in_place else np.full_like(grad, np.nan)
    np.testing.assert_array_equal(relu_backward(grad, output, out=out), expected)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize(("dtype", "rtol"), [("f4", 1e-5), ("f8", 1e-12)])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_of_the_gradient_are_those_of_the_twin(rng, shape, dtype, rtol, in_place):
    grad = drawn(rng, shape, dtype)
    output = np.maximum(drawn(rng, shape, dtype), 0)
    sums, expected = np.full((2, shape[1]), np.nan, dtype)
    reference.relu_backward(grad, output, np.empty_like(grad), expected)
    out = grad if in_place else np.empty_like(grad)
    relu_backward(grad, output, out=out, grad_bias=sums)
    np.testing.assert_allclose(sums, expected, rtol=rtol, atol=rtol * shape[0])


def test_a_gradient_is_written_with_its_sums(rng):
    grad, output = rng.standard_normal((2, 6, 3))
    expected = np.where(output > 0, grad, 0)
    out, sums = np.empty_like(grad), np.empty(3)
    relu_backward(grad, output, out=out, grad_bias=sums)
    np.testing.assert_array_equal(out, expected)


def test_columns_of_a_larger_array_are_done_too(rng):
    """What compiled kernels do not take goes to the twin."""
    grad, output = rng.standard_normal((2, 6, 3))
    out = np.zeros((6, 5))
    relu_backward(grad, output, out=out[:, 1:4])
    np.testing.assert_array_equal(out[:, 1:4], np.where(output > 0, grad, 0))
