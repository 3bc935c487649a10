"""Pooling in CUDA C, run on this machine, against NumPy: bit for bit or in rounding."""

import numpy as np
import pytest

from daskdl.arrays.workspace import Workspace
from daskdl.kernels.pooled_conv import (
    pooled_convolution_backward,
    pooled_convolution_forward,
)
from daskdl.kernels.pooled_conv.windows import PooledWindows
from daskdl.kernels.pooling import (
    average_pool_backward,
    average_pool_forward,
    gpu,
    max_pool_backward,
    max_pool_forward,
    sum_pool_backward,
    sum_pool_forward,
)
from daskdl.kernels.window import Window, window_axis
from tests.cuda_on_host import KernelNamespace, on_device
from tests.pretend_cupy import plain
from tests.unit.kernels.numpy_form import by_numpy
from tests.unit.kernels.windows import OTHER_AXES, WINDOWS, make_window

SPECIAL = np.array([np.nan, np.inf, -np.inf, -np.inf, 0.0])
windows = pytest.mark.parametrize("name", [*WINDOWS, *OTHER_AXES])
extents = pytest.mark.parametrize(("batch", "channels"), [(2, 3), (1, 1), (1, 140)])
dtypes = pytest.mark.parametrize("dtype", ["f4", "f8"])
pytestmark = [
    pytest.mark.usefixtures("cuda_on_host"),
    pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning"),
]


def images(rng, window, batch, channels, dtype):
    """Return images in which equal and special values are frequent."""
    x = rng.integers(-3, 3, (batch, *window.sizes, channels)).astype(dtype)
    x.flat[rng.integers(0, x.size, 1 + x.size // 8)] = rng.choice(SPECIAL)
    return x


def run(kernel, arrays, *others, **options):
    """Return what NumPy writes, and what the device writes."""
    written = {k: v for k, v in options.items() if isinstance(v, np.ndarray)}
    rest = {k: v for k, v in options.items() if k not in written}
    by_numpy(kernel, *arrays, *others, **rest, **written)
    on = {k: on_device(np.full_like(v, 77)) for k, v in written.items()}
    lends = Workspace(KernelNamespace)
    others = [lends if isinstance(other, Workspace) else other for other in others]
    kernel(*map(on_device, arrays), *others, **rest, **on)
    return [(plain(on[k]), v) for k, v in written.items()]


@windows
@extents
@dtypes
@pytest.mark.parametrize("mark", ["uint8", "uint32"])
def test_maxima(rng, workspace, name, batch, channels, dtype, mark):
    window = make_window(name)
    x = images(rng, window, batch, channels, dtype)
    shape = (batch, *window.out, channels)
    out, winner = np.empty(shape, dtype), np.empty(shape, mark)
    results = run(max_pool_forward, [x], window, workspace, out=out, winner=winner)
    grad = rng.standard_normal(shape).astype(dtype)
    grad.flat[0] = np.inf
    grad_x = np.empty_like(x)
    results += run(max_pool_backward, [grad, winner], window, workspace, grad_x=grad_x)
    for actual, expected in results:
        np.testing.assert_array_equal(actual, expected)


@windows
@extents
@pytest.mark.parametrize(("dtype", "rtol"), [("f4", 2e-6), ("f8", 1e-14)])
@pytest.mark.parametrize("kind", ["sum", "kernel", "inside"])
def test_means(rng, workspace, name, batch, channels, dtype, rtol, kind):
    window = make_window(name)
    x = rng.standard_normal((batch, *window.sizes, channels)).astype(dtype)
    grad = rng.standard_normal((batch, *window.out, channels)).astype(dtype)
    forward, backward, options = sum_pool_forward, sum_pool_backward, {}
    if kind != "sum":
        forward, backward = average_pool_forward, average_pool_backward
        options = {"include_padding": kind == "kernel"}
    results = run(forward, [x], window, out=np.empty_like(grad), **options)
    results += run(
        backward, [grad], window, workspace, grad_x=np.empty_like(x), **options
    )
    for actual, expected in results:
        np.testing.assert_allclose(actual, expected, rtol=0, atol=10 * rtol)


@pytest.mark.parametrize("rectifies", [False, True])
@dtypes
def test_maxima_of_a_convolution(rng, workspace, rectifies, dtype):
    window = Window(*(window_axis(n, 3, 1, 0, 1, "truncate") for n in (9, 8)))
    pool = Window(*(window_axis(n, 3, 2, 1, 1, "truncate") for n in window.out))
    x = rng.standard_normal((2, 9, 8, 3)).astype(dtype)
    weight = rng.standard_normal((3, 3, 3, 5)).astype(dtype)
    bias = rng.standard_normal(5).astype(dtype)
    places = PooledWindows(window, pool, rectifies)
    out, winner = np.empty((2, 2, *pool.out, 5), dtype)
    results = run(
        pooled_convolution_forward,
        [x, weight, bias],
        places,
        workspace,
        out=out,
        winner=winner,
    )
    grad = rng.standard_normal(out.shape).astype(dtype)

    def backward(grad, x, weight, output, winner, workspace, **written):
        passed = {"output": output, "winner": winner}
        pooled_convolution_backward(
            grad, x, weight, places, workspace, **passed, **written
        )

    written = {"grad_weight": np.empty_like(weight), "grad_bias": np.empty_like(bias)}
    written["grad_x"] = np.empty_like(x)
    results += run(backward, [grad, x, weight, out, winner], workspace, **written)
    for actual, expected in results:
        np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=2e-5)


def test_other_winners_are_left_to_the_library(rng):
    window = make_window("plain")
    x = on_device(images(rng, window, 2, 3, "f4"))
    assert gpu.takes(x, x, window, on_device(np.zeros(3, "uint8")))
    assert not gpu.takes(x, x, window, on_device(np.zeros(3, "int16")))
