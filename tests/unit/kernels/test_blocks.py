import numpy as np
import pytest

from daskdl.kernels.blocks import (
    space_to_batch_backward,
    space_to_batch_forward,
    space_to_depth_backward,
    space_to_depth_forward,
)
from daskdl.kernels.window import Window, WindowAxis, window_axis

SHAPE = (2, 4, 6, 3)
PLAIN = Window(*(window_axis(size, 2, 2, 0, 1, "truncate") for size in SHAPE[1:3]))
# One row of zeros at the top and one at the bottom, none at the sides.
PADDED = Window(WindowAxis(4, 2, 2, 1, 1, 3), WindowAxis(6, 3, 3, 1, 0, 2))
FORWARDS = {
    "depth": (space_to_depth_forward, space_to_depth_backward, PLAIN, (2, 2, 3, 12)),
    "batch": (space_to_batch_forward, space_to_batch_backward, PLAIN, (8, 2, 3, 3)),
    "batch, padded": (
        space_to_batch_forward,
        space_to_batch_backward,
        PADDED,
        (12, 3, 2, 3),
    ),
}


def test_depth_holds_the_pixels_of_a_block_row_by_row(rng):
    x = rng.standard_normal(SHAPE)
    out = space_to_depth_forward(x, PLAIN, out=np.full((2, 2, 3, 12), np.nan))
    expected = [x[0, 2, 4], x[0, 2, 5], x[0, 3, 4], x[0, 3, 5]]
    np.testing.assert_array_equal(out[0, 1, 2].reshape(4, 3), expected)


def test_batch_holds_all_first_pixels_then_all_second_ones(rng):
    x = rng.standard_normal(SHAPE)
    out = space_to_batch_forward(x, PLAIN, out=np.full((8, 2, 3, 3), np.nan))
    np.testing.assert_array_equal(out[2:4], x[:, ::2, 1::2])


def test_padding_of_blocks_is_zero(rng):
    x = rng.standard_normal(SHAPE)
    out = space_to_batch_forward(x, PADDED, out=np.full((12, 3, 2, 3), np.nan))
    padded = np.pad(x, ((0, 0), (1, 1), (0, 0), (0, 0)))
    np.testing.assert_array_equal(out[8:10], padded[:, 1::2, 1::3])


@pytest.mark.parametrize("name", FORWARDS)
def test_gradients_are_those_of_a_linear_map(rng, name):
    forward, backward, window, shape = FORWARDS[name]
    change, grad_out = rng.standard_normal(SHAPE), rng.standard_normal(shape)
    out = forward(change, window, out=np.full(shape, np.nan))
    grad_x = backward(grad_out, window, grad_x=np.full(SHAPE, np.nan))
    np.testing.assert_allclose((grad_x * change).sum(), (grad_out * out).sum())
