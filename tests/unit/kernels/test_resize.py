import numpy as np
import pytest

from daskdl.arrays.workspace import Workspace
from daskdl.kernels.resize import (
    crop_backward,
    crop_forward,
    pad_backward,
    pad_forward,
    upsample_backward,
    upsample_forward,
)
from tests.memory import peak_bytes
from tests.unit.kernels.numpy_form import by_numpy

SHAPES = {1: (2, 5, 3), 2: (2, 5, 4, 3), 3: (2, 3, 4, 5, 2)}
SIZES = {1: (3,), 2: (2, 3), 3: (1, 2, 3)}
SIDES = {1: ((2, 1),), 2: ((1, 0), (2, 1)), 3: ((1, 1), (0, 2), (3, 1))}
EVERY = pytest.mark.parametrize("n_axes", [1, 2, 3])


def resized(shape, change):
    axes = [change(k, size) for k, size in enumerate(shape[1:-1])]
    return (shape[0], *axes, shape[-1])


@EVERY
def test_upsampling_repeats_each_cell(rng, n_axes):
    x = rng.standard_normal(SHAPES[n_axes])
    expected = x
    for axis, count in enumerate(SIZES[n_axes]):
        expected = expected.repeat(count, axis=axis + 1)
    out = upsample_forward(x, SIZES[n_axes], out=np.full(expected.shape, np.nan))
    np.testing.assert_array_equal(out, expected)


@EVERY
def test_padding_puts_a_value_around(rng, n_axes):
    x = rng.standard_normal(SHAPES[n_axes])
    expected = np.pad(x, ((0, 0), *SIDES[n_axes], (0, 0)), constant_values=7)
    out = np.full(expected.shape, np.nan)
    pad_forward(x, SIDES[n_axes], out=out, value=7.0)
    np.testing.assert_array_equal(out, expected)


@EVERY
def test_cropping_undoes_padding(rng, n_axes):
    x = rng.standard_normal(SHAPES[n_axes])
    padded = np.pad(x, ((0, 0), *SIDES[n_axes], (0, 0)), constant_values=7)
    out = crop_forward(padded, SIDES[n_axes], out=np.full(x.shape, np.nan))
    np.testing.assert_array_equal(out, x)


def summed(grad_out, size, *, grad_x):
    return upsample_backward(grad_out, size, Workspace(), grad_x=grad_x)


def upsampling(n_axes):
    size = SIZES[n_axes]
    shape = resized(SHAPES[n_axes], lambda k, cells: cells * size[k])
    return shape, upsample_forward, summed, size


def padding(n_axes):
    sides = SIDES[n_axes]
    shape = resized(SHAPES[n_axes], lambda k, cells: cells + sum(sides[k]))
    return shape, pad_forward, pad_backward, sides


def cropping(n_axes):
    sides = tuple((before, 0) for before, _ in SIDES[n_axes])
    shape = resized(SHAPES[n_axes], lambda k, cells: cells - sum(sides[k]))
    return shape, crop_forward, crop_backward, sides


@EVERY
@pytest.mark.parametrize("kind", [upsampling, padding, cropping])
def test_gradients_are_those_of_a_linear_map(rng, kind, n_axes):
    shape, forward, backward, option = kind(n_axes)
    change = rng.standard_normal(SHAPES[n_axes])
    grad_out = rng.standard_normal(shape)
    before = grad_out.copy()
    out = forward(change, option, out=np.full(shape, np.nan))
    grad_x = backward(grad_out, option, grad_x=np.full(change.shape, np.nan))
    np.testing.assert_allclose((grad_x * change).sum(), (grad_out * out).sum())
    np.testing.assert_array_equal(grad_out, before)


# Of the input, and copies along each axis.
CASES = [
    ((2, 5, 3), (4,)),
    ((2, 7, 33), (1,)),
    ((0, 5, 3), (2,)),
    ((3, 1, 1, 1), (2, 3)),
    ((2, 5, 7, 1), (3, 2)),
    ((2, 4, 3, 17), (1, 5)),
    ((2, 3, 5, 8), (3, 1)),
    ((2, 3, 4, 5, 2), (2, 2, 2)),
    ((1, 1, 3, 2, 9), (3, 1, 4)),
]
cases = pytest.mark.parametrize(("shape", "size"), CASES)
dtypes = pytest.mark.parametrize("dtype", ["f4", "f8"])
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0])


@dtypes
@cases
def test_copies_are_those_of_numpy(rng, shape, size, dtype):
    x = rng.standard_normal(shape).astype(dtype)
    if x.size:
        x.flat[rng.integers(0, x.size, len(SPECIAL))] = SPECIAL
    out, expected = np.full((2, *resized(shape, lambda k, n: n * size[k])), 7.0, dtype)
    assert upsample_forward(x, size, out=out) is out
    by_numpy(upsample_forward, x, size, out=expected)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@dtypes
@cases
def test_sums_of_copies_are_those_of_numpy(rng, workspace, shape, size, dtype):
    grad = rng.standard_normal(resized(shape, lambda k, n: n * size[k])).astype(dtype)
    if grad.size:
        grad.flat[rng.integers(0, grad.size, len(SPECIAL))] = SPECIAL
    grad_x, expected = np.full((2, *shape), 7.0, dtype)
    assert upsample_backward(grad, size, workspace, grad_x=grad_x) is grad_x
    by_numpy(upsample_backward, grad, size, workspace, grad_x=expected)
    tolerance = 1e-12 if dtype == "f8" else 1e-5
    np.testing.assert_allclose(grad_x, expected, rtol=tolerance, atol=tolerance)


def test_upsampling_allocates_nothing_once_it_runs(rng, workspace):
    x = rng.standard_normal((20, 8, 9, 16))
    out, grad_x = np.empty((20, 16, 27, 16)), np.empty_like(x)

    def iterate():
        upsample_forward(x, (2, 3), out=out)
        upsample_backward(out, (2, 3), workspace, grad_x=grad_x)

    # Views of the arrays, none of their numbers.
    assert peak_bytes(iterate) < 4096
