"""Compiled pooling against NumPy: bit for bit, or to rounding."""

import numpy as np
import pytest

from daskdl.kernels.pooling import (
    average_pool_backward,
    average_pool_forward,
    max_pool_backward,
    max_pool_forward,
    sum_pool_backward,
    sum_pool_forward,
)
from daskdl.kernels.pooling.coverage import coverage
from daskdl.kernels.window import Window, window_axis
from tests.memory import peak_bytes
from tests.unit.kernels.naive import coverage as naive_coverage
from tests.unit.kernels.numpy_form import by_numpy
from tests.unit.kernels.windows import OTHER_AXES, WINDOWS, make_window


def pairs(*sizes):
    return Window(*(window_axis(size, 2, 2, 0, 1, "truncate") for size in sizes))


TABLE = {name: make_window(name) for name in [*WINDOWS, *OTHER_AXES]}
TABLE |= {
    "pairs": pairs(4, 6),
    "pairs, odd": pairs(5, 7),
    "one pair": pairs(2, 2),
    "none": pairs(1, 4),
    "pairs of steps": pairs(6),
}
# Batch and channels.
EXTENTS = [(2, 3), (1, 1), (3, 20), (0, 4), (1, 17)]
SPECIAL = np.array([np.nan, np.inf, -np.inf, -np.inf, 0.0])

windows = pytest.mark.parametrize("window", TABLE.values(), ids=TABLE.keys())
extents = pytest.mark.parametrize(("batch", "channels"), EXTENTS)
dtypes = pytest.mark.parametrize("dtype", ["f4", "f8"])
# NumPy multiplies infinite gradients by 0, and so do the compiled kernels.
meets_nan = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")


def images(rng, window, batch, channels, dtype):
    """Return images in which equal and special values are frequent."""
    shape = (batch, *window.sizes, channels)
    x = rng.integers(-3, 3, shape).astype(dtype)
    if x.size:
        x.flat[rng.integers(0, x.size, 1 + x.size // 4)] = rng.choice(SPECIAL)
        x.flat[rng.integers(0, x.size, 3)] = np.nan
    return x


def outputs(rng, window, batch, channels, dtype):
    return rng.standard_normal((batch, *window.out, channels)).astype(dtype)


@dtypes
@extents
@windows
def test_maximum_and_winner_are_those_of_numpy(
    rng, workspace, window, batch, channels, dtype
):
    x = images(rng, window, batch, channels, dtype)
    out, expected = np.full((2, batch, *window.out, channels), 7, dtype)
    winner, expected_winner = np.full((2, *out.shape), 99, np.uint8)
    max_pool_forward(x, window, workspace, out=out, winner=winner)
    written = {"out": expected, "winner": expected_winner}
    by_numpy(max_pool_forward, x, window, workspace, **written)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(winner, expected_winner)


@meets_nan
@dtypes
@extents
@windows
def test_gradient_of_the_maximum_is_that_of_numpy(
    rng, workspace, window, batch, channels, dtype
):
    grad = outputs(rng, window, batch, channels, dtype)
    if grad.size:
        grad.flat[:2] = np.inf, np.nan
    winner = rng.integers(0, window.n_cells, grad.shape).astype(np.uint8)
    sizes = window.sizes
    grad_x, expected = np.full((2, batch, *sizes, channels), np.nan, dtype)
    max_pool_backward(grad, winner, window, workspace, grad_x=grad_x)
    by_numpy(max_pool_backward, grad, winner, window, workspace, grad_x=expected)
    tolerance = 8 * np.finfo(dtype).eps
    np.testing.assert_allclose(grad_x, expected, rtol=tolerance, atol=tolerance)


def test_more_cells_than_a_byte_counts(rng, workspace):
    window = Window(window_axis(400, 300, 100, 0, 1, "truncate"))
    x = rng.permutation(np.arange(800.0)).reshape(1, 400, 2)
    out, winner = np.empty((1, 2, 2)), np.empty((1, 2, 2), np.uint32)
    max_pool_forward(x, window, workspace, out=out, winner=winner)
    np.testing.assert_array_equal(winner[0, 0], x[0, :300].argmax(axis=0))


@meets_nan
@pytest.mark.parametrize("include_padding", [True, False])
@dtypes
@extents
@windows
def test_average_is_that_of_numpy(rng, window, batch, channels, dtype, include_padding):
    x = images(rng, window, batch, channels, dtype)
    out, expected = np.full((2, batch, *window.out, channels), np.nan, dtype)
    average_pool_forward(x, window, include_padding=include_padding, out=out)
    options = {"include_padding": include_padding, "out": expected}
    by_numpy(average_pool_forward, x, window, **options)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("include_padding", [True, False])
@dtypes
@extents
@windows
def test_gradient_of_the_average_is_that_of_numpy(
    rng, workspace, window, batch, channels, dtype, include_padding
):
    grad = outputs(rng, window, batch, channels, dtype)
    sizes = window.sizes
    grad_x, expected = np.full((2, batch, *sizes, channels), np.nan, dtype)
    average_pool_backward(
        grad, window, workspace, include_padding=include_padding, grad_x=grad_x
    )
    options = {"include_padding": include_padding, "grad_x": expected}
    by_numpy(average_pool_backward, grad, window, workspace, **options)
    tolerance = 8 * np.finfo(dtype).eps
    np.testing.assert_allclose(grad_x, expected, rtol=tolerance, atol=tolerance)


@dtypes
@windows
def test_sum_and_its_gradient_are_those_of_numpy(rng, workspace, window, dtype):
    x = rng.standard_normal((2, *window.sizes, 3)).astype(dtype)
    grad = outputs(rng, window, 2, 3, dtype)
    grad_x, expected = np.full((2, *x.shape), np.nan, dtype)
    sum_pool_backward(grad, window, workspace, grad_x=grad_x)
    by_numpy(sum_pool_backward, grad, window, workspace, grad_x=expected)
    tolerance = 8 * np.finfo(dtype).eps
    np.testing.assert_allclose(grad_x, expected, rtol=tolerance, atol=tolerance)
    sums = sum_pool_forward(x, window, out=np.empty_like(grad))
    expected_sums = by_numpy(sum_pool_forward, x, window, out=np.empty_like(grad))
    np.testing.assert_array_equal(sums, expected_sums)


@windows
def test_the_table_has_every_meeting_once(window):
    stride = window.axes[-1].stride
    met = [
        (cell, place + stride * k, at + k)
        for cell, place, at, count in coverage(window).tolist()
        for k in range(count)
    ]
    kernel, size = ([getattr(a, n) for a in window.axes] for n in ("kernel", "size"))
    expected = [
        (
            np.ravel_multi_index(cell, kernel),
            np.ravel_multi_index(place, size),
            np.ravel_multi_index(at, window.out),
        )
        for at, cell, place in naive_coverage(window)
    ]
    assert sorted(met) == sorted(expected)


@pytest.mark.parametrize("name", ["pairs", "same"])
def test_nothing_is_allocated_once_it_runs(rng, workspace, name):
    window = TABLE[name]
    x = rng.random((20, *window.sizes, 16))
    out = np.empty((20, *window.out, 16))
    winner, grad_x = np.empty(out.shape, np.uint8), np.empty_like(x)

    def iterate():
        max_pool_forward(x, window, workspace, out=out, winner=winner)
        max_pool_backward(out, winner, window, workspace, grad_x=grad_x)
        average_pool_forward(x, window, include_padding=False, out=out)
        average_pool_backward(
            out, window, workspace, include_padding=False, grad_x=grad_x
        )

    # Views of the arrays, none of their numbers.
    assert peak_bytes(iterate) < 4096
