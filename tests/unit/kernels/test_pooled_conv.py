"""A convolution joined with its pooling, against the two one after the other."""

import numpy as np
import pytest

from daskdl.arrays.workspace import Workspace
from daskdl.kernels.conv import convolution_backward, convolution_forward
from daskdl.kernels.pooled_conv import (
    pooled_convolution_backward,
    pooled_convolution_forward,
)
from daskdl.kernels.pooled_conv.windows import PooledWindows
from daskdl.kernels.pooling import max_pool_backward, max_pool_forward
from daskdl.kernels.window import Window, window_axis

# Images (height, width, n_in), kernel, n_out, convolution mode, pooling cells.
CASES = {
    "lenet": ((12, 12, 3), (5, 5), 20, "truncate", 2),
    "left over": ((9, 11, 2), (3, 2), 17, "truncate", 2),
    "two apart": ((12, 12, 20), (5, 5), 50, "truncate", 2),
    "padded, two apart": ((10, 9, 12), (3, 3), 18, "same", 2),
    "padded": ((8, 8, 3), (3, 3), 4, "same", 2),
    "threes": ((9, 9, 1), (1, 1), 33, "truncate", 3),
    "one window": ((6, 6, 2), (3, 3), 5, "truncate", 4),
}
TOLERANCE = {"float32": 2e-6, "float64": 1e-12}


class Joined:
    """One case with its arrays."""

    def __init__(self, rng, name, dtype):
        image, kernel, n_out, mode, cells = CASES[name]
        sizes = image[:2]
        self.window = Window(
            *(
                window_axis(n, k, 1, 0, 1, mode)
                for n, k in zip(sizes, kernel, strict=True)
            )
        )
        self.pool = Window(
            *(window_axis(n, cells, cells, 0, 1, "truncate") for n in self.window.out)
        )

        def draw(*shape):
            return rng.standard_normal(shape).astype(dtype)

        self.x = draw(3, *image)
        self.weight = draw(*kernel, image[2], n_out)
        self.bias = draw(n_out)
        self.outputs = np.empty((3, *self.window.out, n_out), dtype)
        self.out = np.empty((3, *self.pool.out, n_out), dtype)
        self.winner = np.empty_like(self.out)
        self.grad = draw(*self.out.shape)
        self.workspace = Workspace()

    def windows(self, rectifies):
        return PooledWindows(self.window, self.pool, rectifies)

    def forward(self, *, rectifies=False):
        return pooled_convolution_forward(
            self.x, self.weight, self.bias, self.windows(rectifies), self.workspace,
            out=self.out, winner=self.winner,
        )  # fmt: skip

    def backward(self, *, rectifies=False, grad_x=None):
        grads = np.empty_like(self.weight), np.empty_like(self.bias)
        pooled_convolution_backward(
            self.grad, self.x, self.weight, self.windows(rectifies), self.workspace,
            output=self.out, winner=self.winner,
            grad_weight=grads[0], grad_bias=grads[1], grad_x=grad_x,
        )  # fmt: skip
        return grads

    def expected(self, *, rectifies):
        """Return output and gradients of the parts."""
        winner = np.empty(self.out.shape, np.uint8)
        out, outputs, workspace = np.empty_like(self.out), self.outputs, Workspace()
        convolution_forward(
            self.x, self.weight, self.bias, self.window, workspace, out=outputs
        )
        max_pool_forward(outputs, self.pool, workspace, out=out, winner=winner)
        if rectifies:
            np.maximum(out, 0, out=out)
        grad = self.grad * (out > 0) if rectifies else self.grad
        grads = tuple(map(np.empty_like, (self.weight, self.bias, self.x)))
        max_pool_backward(grad, winner, self.pool, workspace, grad_x=outputs)
        convolution_backward(
            outputs, self.x, self.weight, self.window, workspace,
            grad_weight=grads[0], grad_bias=grads[1], grad_x=grads[2],
        )  # fmt: skip
        return out, *grads


@pytest.fixture(params=["numba", "numpy"])
def kernels(request, monkeypatch):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", request.param)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("rectifies", [False, True])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", CASES)
def test_joined_is_one_after_the_other(rng, name, dtype, rectifies):
    case = Joined(rng, name, dtype)
    grad_x = np.full_like(case.x, np.nan)
    out = case.forward(rectifies=rectifies).copy()
    grads = case.backward(rectifies=rectifies, grad_x=grad_x)
    expected = case.expected(rectifies=rectifies)
    for value, right in zip((out, *grads, grad_x), expected, strict=True):
        scale = np.abs(right).max()
        np.testing.assert_allclose(value, right, rtol=0, atol=TOLERANCE[dtype] * scale)


@pytest.mark.usefixtures("kernels")
def test_without_bias_nothing_is_added(rng):
    case = Joined(rng, "padded", "float64")
    case.bias = None
    out = case.forward().copy()
    case.bias = np.zeros(case.out.shape[-1])
    np.testing.assert_array_equal(case.forward(), out)


@pytest.mark.usefixtures("kernels")
def test_the_first_of_equals_wins(rng):
    case = Joined(rng, "threes", "float64")
    case.weight[...] = 0
    case.forward()
    np.testing.assert_array_equal(case.winner, 0)


@pytest.mark.usefixtures("kernels")
def test_a_window_with_nan_is_nan(rng):
    case = Joined(rng, "lenet", "float64")
    case.x[1, 4, 4] = np.nan
    assert np.isnan(case.forward()[1, 1, 1]).all()
    assert np.isfinite(case.out[[0, 2]]).all()


@pytest.mark.usefixtures("kernels")
def test_gradients_without_that_of_the_input(rng):
    case = Joined(rng, "lenet", "float64")
    case.forward()
    alone = case.backward()
    beside = case.backward(grad_x=np.empty_like(case.x))
    for value, right in zip(alone, beside, strict=True):
        np.testing.assert_array_equal(value, right)
