"""Everything that multiplies windows by weights, over one table of windows."""

import math
from functools import partial

import numpy as np
import pytest

from daskdl.kernels import columns, depthwise
from daskdl.kernels.conv import convolution_backward, convolution_forward
from daskdl.kernels.deconv import deconvolution_backward, deconvolution_forward
from daskdl.kernels.depthwise import depthwise_backward, depthwise_forward
from daskdl.kernels.locally_connected import (
    locally_connected_backward,
    locally_connected_forward,
)
from daskdl.kernels.window import Window, window_axis
from tests.gradients import check_gradient
from tests.unit.kernels.naive import (
    connect_locally,
    convolve,
    convolve_depthwise,
    deconvolve,
    split,
)
from tests.unit.kernels.windows import WINDOWS, make_window

# sizes, kernel, stride, padding, dilation, mode
OTHER_WINDOWS = {
    "series": ((7,), (3,), (2,), (1,), (1,), "truncate"),
    "series, same": ((6,), (2,), (1,), (0,), (3,), "same"),
    "volume": ((3, 4, 3), (2, 2, 1), (1, 2, 1), (0, 0, 0), (1, 1, 1), "truncate"),
    "volume, padding": (
        (3, 2, 3),
        (2, 2, 2),
        (1, 1, 2),
        (1, 0, 1),
        (1, 1, 1),
        "strict",
    ),
    "volume, same": ((3, 4, 3), (2, 3, 2), (2, 2, 1), (0, 0, 0), (1, 1, 2), "same"),
}
EVERY_WINDOW = [*WINDOWS, *OTHER_WINDOWS]
N_IN, N_OUT, MULTIPLIER = 2, 3, 2


def window_named(name):
    if name in WINDOWS:
        return make_window(name)
    sizes, kernel, stride, padding, dilation, mode = OTHER_WINDOWS[name]
    axes = zip(sizes, kernel, stride, padding, dilation, strict=True)
    return Window(*(window_axis(*axis, mode) for axis in axes))


class Convolution:
    forward, backward = (
        staticmethod(convolution_forward),
        staticmethod(convolution_backward),
    )
    naive = staticmethod(convolve)

    def shapes(self, window, batch):
        return (
            (batch, *window.sizes, N_IN),
            (*window.kernel, N_IN, N_OUT),
            (N_OUT,),
            (batch, *window.out, N_OUT),
        )


class Deconvolution:
    forward = staticmethod(deconvolution_forward)
    backward = staticmethod(deconvolution_backward)
    naive = staticmethod(deconvolve)

    def shapes(self, window, batch):
        return (
            (batch, *window.out, N_IN),
            (*window.kernel, N_OUT, N_IN),
            (N_OUT,),
            (batch, *window.sizes, N_OUT),
        )


class Depthwise:
    forward, backward = (
        staticmethod(depthwise_forward),
        staticmethod(depthwise_backward),
    )
    naive = staticmethod(convolve_depthwise)

    def __init__(self, multiplier):
        self.multiplier = multiplier

    def shapes(self, window, batch):
        n_out = N_IN * self.multiplier
        return (
            (batch, *window.sizes, N_IN),
            (*window.kernel, N_IN, self.multiplier),
            (n_out,),
            (batch, *window.out, n_out),
        )


class LocallyConnected:
    def __init__(self, *, by_column):
        self.forward = partial(locally_connected_forward, by_column=by_column)
        self.backward = partial(locally_connected_backward, by_column=by_column)
        self.naive = partial(connect_locally, by_column=by_column)

    def shapes(self, window, batch):
        n_windows = math.prod(window.out)
        return (
            (batch, *window.sizes, N_IN),
            (n_windows, N_IN, *window.kernel, N_OUT),
            (N_OUT,),
            (batch, n_windows, N_OUT),
        )


KERNELS = {
    "convolution": Convolution(),
    "deconvolution": Deconvolution(),
    "depthwise": Depthwise(2),
    "depthwise, multiplier 1": Depthwise(1),
    "locally connected": LocallyConnected(by_column=False),
    "locally connected, by column": LocallyConnected(by_column=True),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
every_window = pytest.mark.parametrize("name", EVERY_WINDOW)


def drawn(rng, kernel, window, batch=3):
    """Return x, weight, bias and an array like the output."""
    return [rng.standard_normal(shape) for shape in kernel.shapes(window, batch)]


def backward(kernel, window, workspace, parts, grad_out):
    x, weight, bias = parts
    grads = [np.full(part.shape, np.nan) for part in (x, weight, bias)]
    kernel.backward(
        grad_out,
        x,
        weight,
        window,
        workspace,
        grad_x=grads[0],
        grad_weight=grads[1],
        grad_bias=grads[2],
    )
    return np.concatenate([grad.ravel() for grad in grads])


@every_kernel
@every_window
def test_forward_is_the_sum_over_windows(rng, workspace, kernel, name):
    window = window_named(name)
    x, weight, bias, out = drawn(rng, kernel, window)
    kernel.forward(x, weight, bias, window, workspace, out=out)
    expected = kernel.naive(x, weight, bias, window)
    np.testing.assert_allclose(out, expected.reshape(out.shape), atol=1e-12)


@every_kernel
@every_window
def test_no_bias_adds_nothing(rng, workspace, kernel, name):
    window = window_named(name)
    x, weight, bias, out = drawn(rng, kernel, window)
    kernel.forward(x, weight, None, window, workspace, out=out)
    expected = kernel.naive(x, weight, 0 * bias, window)
    np.testing.assert_allclose(out, expected.reshape(out.shape), atol=1e-12)


@every_kernel
@every_window
def test_gradients_are_central_differences(rng, workspace, kernel, name):
    window = window_named(name)
    *parts, target = drawn(rng, kernel, window, batch=2)
    shapes = [part.shape for part in parts]

    def loss(vector):
        out = np.empty(target.shape)
        kernel.forward(*split(vector, shapes), window, workspace, out=out)
        return float((out * target).sum())

    def loss_and_grad(vector):
        grad = backward(kernel, window, workspace, split(vector, shapes), target)
        return loss(vector), grad

    start = np.concatenate([part.ravel() for part in parts])
    check_gradient(loss_and_grad, start, loss=loss)


@every_kernel
@pytest.mark.parametrize("n_bytes", [1, 300, 2000])
@pytest.mark.parametrize("name", EVERY_WINDOW)
def test_small_blocks_give_what_one_block_gives(
    rng, workspace, monkeypatch, kernel, name, n_bytes
):
    window = window_named(name)
    *parts, target = drawn(rng, kernel, window, batch=5)
    out, in_blocks = np.empty_like(target), np.empty_like(target)
    kernel.forward(*parts, window, workspace, out=out)
    grads = backward(kernel, window, workspace, parts, target)
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", "numpy")
    monkeypatch.setattr(columns, "COLUMNS_BYTES", n_bytes)
    monkeypatch.setattr(depthwise, "BLOCK_BYTES", n_bytes)
    kernel.forward(*parts, window, workspace, out=in_blocks)
    np.testing.assert_allclose(in_blocks, out, rtol=1e-12, atol=1e-12)
    grads_in_blocks = backward(kernel, window, workspace, parts, target)
    np.testing.assert_allclose(grads_in_blocks, grads, rtol=1e-12, atol=1e-12)


@every_kernel
def test_no_gradient_of_the_input_where_nobody_reads_it(rng, workspace, kernel):
    window = window_named("padding")
    x, weight, bias, target = drawn(rng, kernel, window)
    grads = [np.full(part.shape, np.nan) for part in (weight, bias)]
    grad_x = kernel.backward(
        target,
        x,
        weight,
        window,
        workspace,
        grad_x=None,
        grad_weight=grads[0],
        grad_bias=grads[1],
    )
    assert grad_x is None
    assert np.isfinite(grads[0]).all()


@every_kernel
def test_float32_is_multiplied_as_float32(rng, workspace, kernel):
    window = window_named("same")
    parts = [part.astype("f4") for part in drawn(rng, kernel, window)]
    *given, out = parts
    kernel.forward(*given, window, workspace, out=out)
    expected = kernel.naive(*given, window).reshape(out.shape)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n_images", [50, 1])
def test_rows_of_windows_are_bounded(rng, workspace, monkeypatch, n_images):
    kernel, window = KERNELS["convolution"], window_named("plain")
    *parts, out = drawn(rng, kernel, window, batch=n_images)
    monkeypatch.setattr(columns, "COLUMNS_BYTES", 512)
    kernel.forward(*parts, window, workspace, out=out)
    assert workspace.nbytes <= 512


def test_images_that_are_views_give_the_same(rng, workspace):
    kernel, window = KERNELS["convolution"], window_named("plain")
    x, weight, bias, out = drawn(rng, kernel, window)
    view = np.ascontiguousarray(x.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1)
    kernel.forward(view, weight, bias, window, workspace, out=out)
    np.testing.assert_allclose(out, convolve(x, weight, bias, window), atol=1e-12)
