import numpy as np
import pytest

from daskdl.kernels import activation
from daskdl.kernels.activation import relu_backward
from tests.memory import peak_bytes
from tests.unit.kernels.numpy_form import by_numpy

SHAPES = [(0, 3), (1, 1), (1, 7), (3, 1), (5, 3), (64, 20), (33, 255), (2, 257), (9, 0)]
DTYPES = ["f4", "f8"]
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])


def drawn(rng, shape, dtype, *, special=False):
    x = rng.standard_normal(shape).astype(dtype)
    if special and x.size:
        x.flat[rng.integers(0, x.size, len(SPECIAL))] = SPECIAL
    return x


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_gradient_of_the_rectifier_is_that_of_numpy(
    rng, shape, dtype, special, in_place
):
    grad = drawn(rng, shape, dtype, special=special)
    output = np.maximum(drawn(rng, shape, dtype), 0)
    expected = by_numpy(relu_backward, grad, output, out=np.empty_like(grad))
    out = grad if in_place else np.full_like(grad, np.nan)
    np.testing.assert_array_equal(relu_backward(grad, output, out=out), expected)


def test_columns_of_a_larger_array_are_done_too(rng):
    """What compiled kernels do not take goes to NumPy."""
    grad, output = rng.standard_normal((2, 6, 3))
    out = np.zeros((6, 5))
    relu_backward(grad, output, out=out[:, 1:4])
    np.testing.assert_array_equal(out[:, 1:4], np.where(output > 0, grad, 0))


# Called as (first, second, out=out); the alphas are slopes of leaky rectifiers.
ELEMENTWISE = {
    "leaky_relu": (-2.0, 0.01, 1.0, 1.5),
    "leaky_relu_backward": (-2.0, 0.01, 1.0, 1.5),
    "sigmoid_backward": (),
    "tanh_backward": (),
}
CALLS = [(name, alpha) for name, all_ in ELEMENTWISE.items() for alpha in all_ or [()]]


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*SHAPES, (2, 3, 5)])
@pytest.mark.parametrize(("name", "alpha"), CALLS)
def test_elementwise_functions_are_those_of_numpy(
    rng, name, alpha, shape, dtype, special, in_place
):
    first = drawn(rng, shape, dtype, special=special)
    second = drawn(rng, shape, dtype)
    given = () if name == "leaky_relu" else (second,)
    given += () if alpha == () else (alpha,)
    expected = by_numpy(
        getattr(activation, name), first, *given, out=np.empty_like(first)
    )
    out = first if in_place else np.full_like(first, np.nan)
    getattr(activation, name)(first, *given, out=out)
    np.testing.assert_array_equal(out, expected)


SOFTMAX_SHAPES = [(1, 1), (3, 1), (5, 3), (1600, 77), (128, 10), (2, 3, 16), (4, 257)]


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize(("dtype", "rtol"), [("f4", 1e-6), ("f8", 1e-14)])
@pytest.mark.parametrize("shape", [*SOFTMAX_SHAPES, (0, 3)])
def test_softmax_is_that_of_numpy(rng, shape, dtype, rtol, in_place):
    x = 10 * drawn(rng, shape, dtype)
    expected = by_numpy(activation.softmax, x, out=np.empty_like(x))
    out = activation.softmax(x, out=x if in_place else np.empty_like(x))
    np.testing.assert_allclose(out, expected, rtol=rtol, atol=rtol)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("column", range(7))
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
def test_softmax_of_what_is_not_finite_is_that_of_numpy(rng, column, value):
    x = drawn(rng, (3, 7), "f4")
    x[1, column] = value
    expected = by_numpy(activation.softmax, x, out=np.empty_like(x))
    np.testing.assert_allclose(
        activation.softmax(x, out=np.empty_like(x)), expected, rtol=1e-6
    )


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize(("dtype", "rtol"), [("f4", 1e-5), ("f8", 1e-13)])
@pytest.mark.parametrize("shape", SOFTMAX_SHAPES)
def test_gradient_of_the_softmax_is_that_of_numpy(rng, shape, dtype, rtol, in_place):
    grad = drawn(rng, shape, dtype)
    output = by_numpy(
        activation.softmax, drawn(rng, shape, dtype), out=np.empty(shape, dtype)
    )
    expected = by_numpy(
        activation.softmax_backward, grad, output, out=np.empty_like(grad)
    )
    out = grad if in_place else np.empty_like(grad)
    activation.softmax_backward(grad, output, out=out)
    np.testing.assert_allclose(out, expected, rtol=rtol, atol=rtol)


def test_nothing_is_allocated_once_it_runs(rng):
    x, y = rng.standard_normal((2, 500, 40))
    out = np.empty_like(x)

    def iterate():
        relu_backward(x, y, out=out)
        activation.leaky_relu(x, 0.1, out=out)
        activation.softmax(x, out=out)
        activation.softmax_backward(x, y, out=out)
        activation.tanh_backward(x, y, out=out)

    assert peak_bytes(iterate) < x.nbytes / 16
