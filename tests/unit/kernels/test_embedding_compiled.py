"""Compiled look-ups of rows against NumPy."""

import numpy as np
import pytest

from daskdl.kernels.embedding import (
    embedding_backward,
    embedding_forward,
    embedding_sums,
    row_numbers,
)
from tests.memory import peak_bytes
from tests.unit.kernels.numpy_form import by_numpy

dtypes = pytest.mark.parametrize("dtype", ["f4", "f8"])
# rows, n_in, n_out
shapes = pytest.mark.parametrize(
    "shape", [(1, 1, 1), (7, 3, 5), (40, 11, 33), (0, 4, 2), (3, 4, 0)]
)


def drawn(rng, shape, dtype):
    """Return indices, weights and a gradient in the output, some of it not finite."""
    rows, n_in, n_out = shape
    weight = rng.standard_normal((n_in, n_out)).astype(dtype)
    grad = rng.standard_normal((rows, n_out)).astype(dtype)
    grad[:1, :1], weight[:1, 1:2] = np.nan, np.inf
    return rng.integers(0, n_in, rows), weight, grad


@dtypes
@shapes
def test_rows_are_those_of_numpy(rng, shape, dtype):
    indices, weight, grad = drawn(rng, shape, dtype)
    expected = by_numpy(embedding_forward, indices, weight, out=np.empty_like(grad))
    out = embedding_forward(indices, weight, out=np.full_like(grad, 7))
    np.testing.assert_array_equal(out, expected)


@dtypes
@shapes
def test_sums_are_those_of_numpy_to_the_last_bit(rng, shape, dtype):
    indices, weight, grad = drawn(rng, shape, dtype)
    expected, found = np.full((2, *weight.shape), 7, dtype)
    by_numpy(embedding_backward, grad, indices, grad_weight=expected)
    embedding_backward(grad, indices, grad_weight=found)
    np.testing.assert_array_equal(found, expected)


@dtypes
@pytest.mark.parametrize("steps", [1, 3, 4, 10])
def test_sums_of_steps_are_those_of_numpy_to_the_last_bit(rng, steps, dtype):
    indices, weight, grad = drawn(rng, (7, 5, 9), dtype)
    indices = rng.integers(0, 5, (7, steps))
    how = indices, weight, steps
    expected = by_numpy(embedding_sums, *how, out=np.empty_like(grad))
    out = embedding_sums(*how, out=np.full_like(grad, 7))
    np.testing.assert_array_equal(out, expected)
    expected, found = np.full((2, *weight.shape), 7, dtype)
    by_numpy(embedding_backward, grad, indices, grad_weight=expected)
    embedding_backward(grad, indices, grad_weight=found)
    np.testing.assert_array_equal(found, expected)


@dtypes
@pytest.mark.parametrize("size", [0, 1, 9])
def test_numbers_of_rows_are_those_of_numpy(rng, size, dtype):
    x = rng.integers(0, 5, size).astype(dtype)
    out = np.full(size, -7)
    assert row_numbers(x, 5, out=out) == -1
    np.testing.assert_array_equal(out, x)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@dtypes
@pytest.mark.parametrize("number", [-1, -0.5, 5, 2.5, np.nan, np.inf, -np.inf, 1e30])
def test_the_first_number_that_is_none_is_that_of_numpy(number, dtype):
    x = np.array([1, 4, number, 0, number], dtype)
    assert by_numpy(row_numbers, x, 5, out=np.empty(5, np.intp)) == 2
    assert row_numbers(x, 5, out=np.empty(5, np.intp)) == 2


def test_nothing_of_size_is_allocated(rng):
    indices, weight, grad = drawn(rng, (3000, 50, 40), "f4")
    x, out, grad_weight = indices.astype("f4"), grad.copy(), weight.copy()

    def step():
        row_numbers(x, 50, out=indices)
        embedding_forward(indices, weight, out=out)
        embedding_backward(grad, indices, grad_weight=grad_weight)

    assert peak_bytes(step) < 4000
