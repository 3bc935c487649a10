import numpy as np
import pytest

from daskdl.kernels.pooling import (
    average_pool_backward,
    average_pool_forward,
    max_pool_backward,
    max_pool_forward,
    pnorm_pool_backward,
    pnorm_pool_forward,
    sum_pool_backward,
    sum_pool_forward,
)
from daskdl.kernels.window import Window, window_axis
from tests.gradients import check_gradient
from tests.unit.kernels.naive import pool
from tests.unit.kernels.windows import OTHER_AXES, WINDOWS, make_window

NAMES = [*WINDOWS, *OTHER_AXES]


def distinct(rng, window, *, batch=2, channels=3):
    """Return images without equal values, so that a small step changes no winner."""
    shape = (batch, *window.sizes, channels)
    return rng.permutation(np.arange(np.prod(shape)) / 10.0 - 5).reshape(shape)


def buffers(x, window):
    shape = (len(x), *window.out, x.shape[-1])
    return np.full(shape, np.nan), np.full(shape, 99, np.uint8)


@pytest.mark.parametrize("name", NAMES)
def test_maximum_of_the_cells_inside(rng, workspace, name):
    window = make_window(name)
    x = distinct(rng, window) - 100  # all negative: padding with 0 would win
    out, winner = buffers(x, window)
    max_pool_forward(x, window, workspace, out=out, winner=winner)
    expected = pool(x, window, lambda values: values.max(axis=0))
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", NAMES)
def test_average_of_the_cells_inside(rng, name):
    window = make_window(name)
    x = distinct(rng, window)
    out, _ = buffers(x, window)
    average_pool_forward(x, window, include_padding=False, out=out)
    expected = pool(x, window, lambda values: values.mean(axis=0))
    np.testing.assert_allclose(out, expected, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_average_over_all_cells_of_the_kernel(rng, name):
    window = make_window(name)
    x = distinct(rng, window)
    out, _ = buffers(x, window)
    average_pool_forward(x, window, include_padding=True, out=out)
    expected = pool(x, window, lambda values: values.sum(axis=0) / window.n_cells)
    np.testing.assert_allclose(out, expected, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_gradient_of_the_maximum(rng, workspace, name):
    window = make_window(name)
    x = distinct(rng, window)
    out, winner = buffers(x, window)
    target = rng.standard_normal(out.shape)

    def loss_and_grad(vector):
        images = vector.reshape(x.shape)
        max_pool_forward(images, window, workspace, out=out, winner=winner)
        grad_x = np.full(x.shape, np.nan)
        max_pool_backward(target, winner, window, workspace, grad_x=grad_x)
        return float((out * target).sum()), grad_x.ravel()

    check_gradient(loss_and_grad, x.ravel())


@pytest.mark.parametrize("include_padding", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_gradient_of_the_average(rng, workspace, name, include_padding):
    window = make_window(name)
    x = distinct(rng, window)
    out, _ = buffers(x, window)
    target = rng.standard_normal(out.shape)

    def loss_and_grad(vector):
        images = vector.reshape(x.shape)
        average_pool_forward(images, window, include_padding=include_padding, out=out)
        grad_x = np.full(x.shape, np.nan)
        average_pool_backward(
            target, window, workspace, include_padding=include_padding, grad_x=grad_x
        )
        return float((out * target).sum()), grad_x.ravel()

    check_gradient(loss_and_grad, x.ravel())


@pytest.mark.parametrize("name", NAMES)
def test_sum_of_the_cells_inside(rng, name):
    window = make_window(name)
    x = distinct(rng, window)
    out, _ = buffers(x, window)
    sum_pool_forward(x, window, out=out)
    expected = pool(x, window, lambda values: values.sum(axis=0))
    np.testing.assert_allclose(out, expected, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_gradient_of_the_sum(rng, workspace, name):
    window = make_window(name)
    x = distinct(rng, window)
    out, _ = buffers(x, window)
    target = rng.standard_normal(out.shape)
    grad_x = sum_pool_backward(
        target, window, workspace, grad_x=np.full(x.shape, np.nan)
    )
    change = rng.standard_normal(x.shape)
    # A sum is linear: its gradient is the same everywhere.
    expected = (sum_pool_forward(change, window, out=out) * target).sum()
    np.testing.assert_allclose((grad_x * change).sum(), expected)


@pytest.mark.parametrize("exponent", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_norm_of_the_cells_inside(rng, workspace, name, exponent):
    window = make_window(name)
    x = distinct(rng, window)
    out, _ = buffers(x, window)
    pnorm_pool_forward(x, window, exponent, workspace, out=out)
    expected = pool(
        x, window, lambda values: np.linalg.norm(values, ord=exponent, axis=0)
    )
    np.testing.assert_allclose(out, expected, rtol=1e-12)


@pytest.mark.parametrize("exponent", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_gradient_of_the_norm(rng, workspace, name, exponent):
    window = make_window(name)
    x = distinct(rng, window) + 0.03
    out, _ = buffers(x, window)
    target = rng.standard_normal(out.shape)

    def loss_and_grad(vector):
        cells = vector.reshape(x.shape)
        pnorm_pool_forward(cells, window, exponent, workspace, out=out)
        grad_x = pnorm_pool_backward(
            target,
            cells,
            out,
            window,
            exponent,
            workspace,
            eps=1e-8,
            grad_x=np.full(x.shape, np.nan),
        )
        return float((out * target).sum()), grad_x.ravel()

    check_gradient(loss_and_grad, x.ravel())


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_norm_of_zeros_has_gradient_zero(workspace, dtype):
    """DL4J divides 0 by 0 there, and trains on with NaN."""
    window = make_window("plain")
    x = np.zeros((1, 5, 6, 1), dtype)
    out = np.empty((1, *window.out, 1), dtype)
    pnorm_pool_forward(x, window, 10, workspace, out=out)
    grad_x = pnorm_pool_backward(
        np.ones_like(out),
        x,
        out,
        window,
        10,
        workspace,
        eps=1e-8,
        grad_x=np.full_like(x, np.nan),
    )
    np.testing.assert_array_equal(grad_x, 0)


def test_the_first_of_equal_values_gets_the_gradient(workspace):
    window = Window(*(window_axis(4, 2, 2, 0, 1, "truncate") for _ in range(2)))
    x = np.ones((1, 4, 4, 1))
    out, winner = buffers(x, window)
    max_pool_forward(x, window, workspace, out=out, winner=winner)
    grad_x = np.full(x.shape, np.nan)
    max_pool_backward(np.ones(out.shape), winner, window, workspace, grad_x=grad_x)
    expected = [[1, 0, 1, 0], [0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]
    np.testing.assert_array_equal(grad_x[0, :, :, 0], expected)


def test_nan_is_not_lost(workspace):
    window = Window(*(window_axis(2, 2, 2, 0, 1, "truncate") for _ in range(2)))
    x = np.array([1.0, np.nan, 3.0, 2.0]).reshape(1, 2, 2, 1)
    out, winner = buffers(x, window)
    max_pool_forward(x, window, workspace, out=out, winner=winner)
    assert np.isnan(out).all()


def test_an_average_in_the_padding_is_zero():
    window = Window(*(window_axis(1, 1, 2, 2, 1, "truncate") for _ in range(2)))
    x = np.full((1, 1, 1, 1), 7.0)
    out, _ = buffers(x, window)
    average_pool_forward(x, window, include_padding=False, out=out)
    np.testing.assert_array_equal(out[0, :, :, 0], [[0, 0, 0], [0, 7, 0], [0, 0, 0]])
