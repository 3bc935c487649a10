import numpy as np
import pytest

from daskdl.kernels.resize import (
    crop_backward,
    crop_forward,
    pad_backward,
    pad_forward,
    upsample_backward,
    upsample_forward,
)

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


def upsampling(n_axes):
    size = SIZES[n_axes]
    shape = resized(SHAPES[n_axes], lambda k, cells: cells * size[k])
    return shape, upsample_forward, upsample_backward, size


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
