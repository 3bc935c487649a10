"""The compiled rectifier with a learned slope against NumPy."""

import numpy as np
import pytest

from daskdl.kernels.prelu import prelu_backward, prelu_forward
from tests.memory import peak_bytes
from tests.unit.kernels.numpy_form import by_numpy

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])
dtypes = pytest.mark.parametrize("dtype", ["f4", "f8"])
# Of x, then of the slopes.
shapes = pytest.mark.parametrize(
    ("shape", "of_slope"),
    [
        ((5, 7), (7,)),
        ((5, 7), (1,)),
        ((3, 5, 4, 6), (1, 1, 6)),
        ((3, 5, 4, 6), (5, 4, 6)),
        ((3, 5, 4, 6), (5, 1, 1)),
        ((3, 5, 4, 6), (1, 4, 1)),
        ((3, 5, 4, 6), (1, 1, 1)),
        ((3, 50, 4, 600), (1, 1, 600)),
        ((200, 9, 3), (1, 3)),
        ((0, 3), (3,)),
        ((2, 1, 1), (1, 1)),
    ],
)
# NumPy multiplies what it does not keep.
meets_nan = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")


def drawn(rng, shape, of_slope, dtype):
    x, grad = rng.standard_normal((2, *shape)).astype(dtype)
    return x, grad, rng.standard_normal(of_slope).astype(dtype)


@meets_nan
@dtypes
@shapes
def test_output_is_that_of_numpy(rng, workspace, shape, of_slope, dtype):
    x, _, slope = drawn(rng, shape, of_slope, dtype)
    slope.flat[0] = 0
    if x.size > 5:
        x.flat[rng.integers(0, x.size, len(SPECIAL))] = SPECIAL
    out, expected = np.full((2, *shape), 7.0, dtype)
    assert prelu_forward(x, slope, workspace, out=out) is out
    by_numpy(prelu_forward, x, slope, workspace, out=expected)
    np.testing.assert_array_equal(out, expected)


@meets_nan
@dtypes
@shapes
def test_gradient_in_the_input_is_that_of_numpy(rng, workspace, shape, of_slope, dtype):
    x, grad, slope = drawn(rng, shape, of_slope, dtype)
    if x.size > 5:
        x.flat[rng.integers(0, x.size, len(SPECIAL))] = SPECIAL
        grad.flat[rng.integers(0, x.size, len(SPECIAL))] = SPECIAL
    of_slopes, of_numpy = np.full((2, *of_slope), np.nan, dtype)
    grad_x, expected = np.full((2, *shape), 7.0, dtype)
    prelu_backward(grad, x, slope, workspace, grad_slope=of_slopes, grad_x=grad_x)
    written = {"grad_slope": of_numpy, "grad_x": expected}
    by_numpy(prelu_backward, grad, x, slope, workspace, **written)
    np.testing.assert_array_equal(grad_x, expected)


@dtypes
@shapes
def test_gradient_in_the_slopes_is_that_of_numpy(
    rng, workspace, shape, of_slope, dtype
):
    x, grad, slope = drawn(rng, shape, of_slope, dtype)
    found, expected = np.full((2, *of_slope), np.nan, dtype)
    grad_x = np.empty_like(x)
    prelu_backward(grad, x, slope, workspace, grad_slope=found, grad_x=grad_x)
    written = {"grad_slope": expected, "grad_x": grad_x}
    by_numpy(prelu_backward, grad, x, slope, workspace, **written)
    scale = abs(expected).max()
    tolerance = scale * (1e-12 if dtype == "f8" else 1e-5)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@meets_nan
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_a_slope_learns_what_is_not_finite(rng, workspace, special):
    x, grad, slope = drawn(rng, (4, 3, 5), (1, 5), "f4")
    x[2, 1, 3], grad[2, 1, 3] = special, 1
    found, expected = np.empty_like(slope), np.empty_like(slope)
    grad_x = np.empty_like(x)
    prelu_backward(grad, x, slope, workspace, grad_slope=found, grad_x=grad_x)
    written = {"grad_slope": expected, "grad_x": grad_x}
    by_numpy(prelu_backward, grad, x, slope, workspace, **written)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_nothing_is_allocated_once_it_runs(rng, workspace):
    x, grad, slope = drawn(rng, (20, 30, 40, 8), (1, 1, 8), "f4")
    out, grad_x, grad_slope = np.empty_like(x), np.empty_like(x), np.empty_like(slope)

    def iterate():
        prelu_forward(x, slope, workspace, out=out)
        prelu_backward(grad, x, slope, workspace, grad_slope=grad_slope, grad_x=grad_x)

    # Views of the arrays, none of their numbers.
    assert peak_bytes(iterate) < 8192
