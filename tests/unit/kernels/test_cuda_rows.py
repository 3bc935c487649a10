"""Activations, losses and global pooling in CUDA C, run on this machine."""

import numpy as np
import pytest

from daskdl.arrays.workspace import Workspace
from daskdl.kernels import activation
from daskdl.kernels.cross_entropy import cross_entropy_rows, softmax_gradient
from daskdl.kernels.global_pooling import (
    global_max_backward,
    global_max_forward,
    global_sum_backward,
    global_sum_forward,
)
from daskdl.kernels.shortcut import add_relu
from daskdl.kernels.sums import sum_over_positions
from tests.cuda_on_host import KernelNamespace, on_device
from tests.pretend_cupy import plain
from tests.unit.kernels.numpy_form import by_numpy

SHAPES = [(1, 1), (1, 7), (64, 20), (33, 255), (2, 1257), (3, 5, 6)]
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])
shapes = pytest.mark.parametrize("shape", SHAPES)
dtypes = pytest.mark.parametrize(("dtype", "rtol"), [("f4", 2e-6), ("f8", 1e-14)])
pytestmark = [
    pytest.mark.usefixtures("cuda_on_host"),
    pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning"),
]


def drawn(rng, shape, dtype):
    x = rng.standard_normal(shape).astype(dtype)
    if x.size > 40:
        x.flat[rng.integers(0, x.size, len(SPECIAL))] = SPECIAL
    return x


def close(actual, expected, rtol):
    np.testing.assert_allclose(plain(actual), expected, rtol=rtol, atol=rtol)


ELEMENTWISE = [
    (activation.relu_backward, ()),
    (activation.sigmoid_backward, ()),
    (activation.tanh_backward, ()),
    (add_relu, ()),
    *((activation.leaky_relu_backward, (alpha,)) for alpha in (-2.0, 0.01, 1.5)),
]


@shapes
@dtypes
@pytest.mark.parametrize(("function", "alpha"), ELEMENTWISE)
def test_gradients_of_activations(rng, shape, dtype, rtol, function, alpha):
    grad, other = drawn(rng, shape, dtype), drawn(rng, shape, dtype)
    expected = by_numpy(function, grad, other, *alpha, out=np.empty_like(grad))
    a, b, out = on_device(grad), on_device(other), on_device(np.empty_like(grad))
    close(function(a, b, *alpha, out=out), expected, rtol)
    if function is not add_relu:
        close(function(a, b, *alpha, out=a), expected, rtol)


@shapes
@dtypes
@pytest.mark.parametrize("alpha", [-2.0, 0.0, 0.01, 1.0, 1.5])
def test_the_leaky_rectifier(rng, shape, dtype, rtol, alpha):
    x = drawn(rng, shape, dtype)
    expected = by_numpy(activation.leaky_relu, x, alpha, out=np.empty_like(x))
    given = on_device(x)
    close(activation.leaky_relu(given, alpha, out=given), expected, rtol)


@shapes
@dtypes
@pytest.mark.parametrize("is_special", [False, True])
def test_the_softmax(rng, shape, dtype, rtol, is_special):
    x = 3 * rng.standard_normal(shape).astype(dtype)
    if is_special:
        x.flat[x.size // 2], x.flat[0] = np.nan, -np.inf
    expected = by_numpy(activation.softmax, x, out=np.empty_like(x))
    given = on_device(x)
    close(activation.softmax(given, out=given), expected, 5 * rtol)
    grad = rng.standard_normal(shape).astype(dtype)
    back = by_numpy(activation.softmax_backward, grad, expected, out=np.empty_like(x))
    grad = on_device(grad)
    close(activation.softmax_backward(grad, given, out=grad), back, 20 * rtol)


@shapes
@dtypes
@pytest.mark.parametrize("of_classes", [False, True])
def test_the_cross_entropy(rng, shape, dtype, rtol, of_classes):
    shape = (shape[0], shape[-1])
    labels, output = rng.random((2, *shape)).astype(dtype)
    if of_classes:
        labels = (labels == labels.max(axis=-1, keepdims=True)).astype(dtype)
    output.flat[0], output.flat[-1] = 0, np.nan
    clips = (1e-5, 1 - 1e-5)
    expected = by_numpy(cross_entropy_rows, labels, output, *clips)
    given = on_device(labels), on_device(output)
    np.testing.assert_allclose(
        plain(cross_entropy_rows(*given, *clips)), expected, rtol=20 * rtol
    )
    expected = by_numpy(softmax_gradient, labels, output, out=np.empty_like(output))
    close(softmax_gradient(*given, out=given[1]), expected, 400 * rtol)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 49, 33), (2, 300, 5), (2, 7, 70)])
@dtypes
def test_global_maxima(rng, shape, dtype, rtol):
    x = rng.integers(-3, 3, shape).astype(dtype)
    if x.size > 40:
        x.flat[rng.integers(0, x.size, 5)] = np.nan
    made = np.empty((shape[0], shape[2]), dtype)
    winner = np.empty(made.shape, np.intp)
    by_numpy(global_max_forward, x, None, Workspace(), out=made, winner=winner)
    out, won = on_device(np.empty_like(made)), on_device(np.empty_like(winner))
    global_max_forward(
        on_device(x), None, Workspace(KernelNamespace), out=out, winner=won
    )
    np.testing.assert_array_equal(plain(out), made)
    np.testing.assert_array_equal(plain(won), winner)
    grad = rng.standard_normal(made.shape).astype(dtype)
    expected = by_numpy(
        global_max_backward, grad, winner, None, grad_x=np.empty_like(x)
    )
    grad_x = on_device(np.empty_like(x))
    global_max_backward(on_device(grad), won, None, grad_x=grad_x)
    np.testing.assert_array_equal(plain(grad_x), expected)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 49, 33), (2, 300, 5), (2, 7, 70)])
@dtypes
@pytest.mark.parametrize("kind", ["sum", "avg"])
def test_global_means(rng, shape, dtype, rtol, kind):
    x = rng.standard_normal(shape).astype(dtype)
    made = np.empty((shape[0], shape[2]), dtype)
    by_numpy(global_sum_forward, x, kind, 2, None, Workspace(), out=made)
    given, lent = on_device(x), Workspace(KernelNamespace)
    out = on_device(np.empty_like(made))
    global_sum_forward(given, kind, 2, None, lent, out=out)
    close(out, made, 30 * rtol)
    grad = rng.standard_normal(made.shape).astype(dtype)
    passed = (x, made, kind, 2, None, Workspace())
    grad_x = np.empty_like(x)
    by_numpy(global_sum_backward, grad, *passed, grad_x=grad_x)
    passed, grad = (given, out, kind, 2, None, lent), on_device(grad)
    back = global_sum_backward(grad, *passed, grad_x=on_device(grad_x * 0))
    close(back, grad_x, rtol)


@shapes
@dtypes
def test_sums_over_positions(rng, shape, dtype, rtol):
    grad = rng.standard_normal(shape).astype(dtype)
    out = on_device(np.empty(shape[-1], dtype))
    sum_over_positions(on_device(grad), Workspace(KernelNamespace), out=out)
    close(out, grad.reshape(-1, shape[-1]).sum(axis=0), 20 * rtol)
