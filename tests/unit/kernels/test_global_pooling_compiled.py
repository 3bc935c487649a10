"""Compiled global pooling against NumPy."""

import numpy as np
import pytest

from daskdl.kernels.global_pooling import (
    global_max_backward,
    global_max_forward,
    global_sum_backward,
    global_sum_forward,
)
from tests.unit.kernels.numpy_form import by_numpy

SHAPES = [(1, 1, 1), (3, 5, 2), (2, 7, 33), (4, 64, 16), (0, 3, 2), (2, 1, 300)]

shapes = pytest.mark.parametrize("shape", SHAPES)
dtypes = pytest.mark.parametrize(("dtype", "rtol"), [("f4", 2e-6), ("f8", 1e-14)])
masks = pytest.mark.parametrize("is_masked", [False, True])


def mask_of(rng, shape, dtype, is_masked):
    """Return a mask that drops all of the first example."""
    if not is_masked:
        return None
    mask = rng.integers(0, 2, shape[:2]).astype(dtype)
    mask[:1] = 0
    return mask


@masks
@dtypes
@shapes
def test_maximum_and_winner_are_those_of_numpy(
    rng, workspace, shape, dtype, rtol, is_masked
):
    x = rng.integers(-3, 3, shape).astype(dtype)
    x[rng.random(shape) < 0.1] = np.nan
    x[rng.random(shape) < 0.1] = -np.inf
    mask = mask_of(rng, shape, dtype, is_masked)
    out, expected = np.full((2, shape[0], shape[2]), 7, dtype)
    winner, expected_winner = np.full((2, *out.shape), 99)
    global_max_forward(x, mask, workspace, out=out, winner=winner)
    written = {"out": expected, "winner": expected_winner}
    by_numpy(global_max_forward, x, mask, workspace, **written)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(winner, expected_winner)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@masks
@dtypes
@shapes
def test_gradient_of_the_maximum_is_that_of_numpy(rng, shape, dtype, rtol, is_masked):
    mask = mask_of(rng, shape, dtype, is_masked)
    grad = rng.standard_normal((shape[0], shape[2])).astype(dtype)
    grad[:1, :1] = np.inf
    winner = rng.integers(0, shape[1], grad.shape)
    grad_x, expected = np.full((2, *shape), np.nan, dtype)
    global_max_backward(grad, winner, mask, grad_x=grad_x)
    by_numpy(global_max_backward, grad, winner, mask, grad_x=expected)
    np.testing.assert_array_equal(grad_x, expected)


@masks
@pytest.mark.parametrize("kind", ["sum", "avg", "pnorm"])
@dtypes
@shapes
def test_sums_and_their_gradients_are_those_of_numpy(
    rng, workspace, shape, dtype, rtol, kind, is_masked
):
    x = rng.standard_normal(shape).astype(dtype)
    mask = mask_of(rng, shape, dtype, is_masked)
    out, expected, grad = np.full((3, shape[0], shape[2]), 0.5, dtype)
    global_sum_forward(x, kind, 2, mask, workspace, out=out)
    by_numpy(global_sum_forward, x, kind, 2, mask, workspace, out=expected)
    np.testing.assert_allclose(out, expected, rtol=rtol, atol=10 * rtol)
    grad_x, expected_x = np.full((2, *shape), np.nan, dtype)
    global_sum_backward(grad, x, out, kind, 2, mask, workspace, grad_x=grad_x)
    given = (grad, x, out, kind, 2, mask, workspace)
    by_numpy(global_sum_backward, *given, grad_x=expected_x)
    np.testing.assert_allclose(grad_x, expected_x, rtol=rtol, atol=rtol)


def test_a_nan_that_a_mask_drops_stays_in_the_sum(rng, workspace):
    x, mask, out = np.ones((1, 3, 2)), np.array([[1.0, 0.0, 1.0]]), np.empty((1, 2))
    x[0, 1, 0] = np.nan
    global_sum_forward(x, "sum", 0, mask, workspace, out=out)
    np.testing.assert_array_equal(out, [[np.nan, 2.0]])
