import numpy as np
import pytest

from daskdl.kernels.yolo import (
    boxes_backward,
    boxes_forward,
    overlap_backward,
    overlap_forward,
)
from tests.gradients import check_gradient

# batch, height, width, boxes, 5 + classes
SHAPE = (2, 2, 3, 2, 8)
PRIORS = np.array([[1.0, 1.5], [2.0, 1.0]])


def boxes_of(x):
    return boxes_forward(x, PRIORS, out=np.full(x.shape, np.nan))


def test_boxes_are_the_formulas_of_the_paper(rng):
    x = rng.standard_normal(SHAPE)
    out = boxes_of(x)
    np.testing.assert_allclose(out[..., :2], 1 / (1 + np.exp(-x[..., :2])))
    np.testing.assert_allclose(out[..., 2:4], PRIORS * np.exp(x[..., 2:4]))
    np.testing.assert_allclose(out[..., 4], 1 / (1 + np.exp(-x[..., 4])))
    shares = np.exp(x[..., 5:])
    np.testing.assert_allclose(
        out[..., 5:], shares / shares.sum(axis=-1, keepdims=True)
    )


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_numbers_far_from_zero_do_not_overflow(dtype):
    x = np.zeros(SHAPE, dtype)
    x[..., 0], x[..., 4], x[..., 5] = -1000, 1000, 2000
    out = boxes_of(x)
    assert np.isfinite(out).all()


def test_gradient_of_boxes(rng):
    target = rng.standard_normal(SHAPE)

    def loss_and_grad(vector):
        out = boxes_of(vector.reshape(SHAPE))
        grad_x = boxes_backward(target, out, grad_x=np.full(SHAPE, np.nan))
        return float((out * target).sum()), grad_x.ravel()

    check_gradient(loss_and_grad, rng.standard_normal(SHAPE).ravel())


def overlap(box, corners):
    """Return the overlap in the cell of row 1 and column 2 of a grid."""
    boxes = np.zeros((1, 2, 3, 1, 4))
    boxes[0, 1, 2, 0] = box
    x1, y1, x2, y2 = (np.full((1, 2, 3), value) for value in corners)
    first, last = np.stack([x1, y1], axis=-1), np.stack([x2, y2], axis=-1)
    return overlap_forward(boxes, first, last)[0, 1, 2, 0]


# The center (0.5, 0.5) of that cell lies at (2.5, 1.5).
@pytest.mark.parametrize(
    ("box", "corners", "expected"),
    [
        ((0.5, 0.5, 1, 1), (2, 1, 3, 2), 1),
        ((0.5, 0.5, 1, 1), (2.5, 1, 3.5, 2), 1 / 3),
        ((0.5, 0.5, 1, 1), (2, 1.5, 4, 2.5), 0.5 / 2.5),
        ((0.5, 0.5, 4, 4), (2, 1, 3, 2), 1 / 16),
        ((0.5, 0.5, 1, 1), (4, 4, 5, 5), 0),
        ((0.5, 0.5, 1, 1), (2, 4, 3, 5), 0),
        ((0.5, 0.5, 1, 1), (3, 1, 4, 2), 0),
        ((0.5, 0.5, 0, 0), (0, 0, 0, 0), 0),
    ],
)
def test_overlap_is_intersection_over_union(box, corners, expected):
    np.testing.assert_allclose(overlap(box, corners), expected, atol=1e-15)


def test_gradient_of_the_overlap(rng):
    height, width = 3, 2
    top_left = rng.uniform(0, 1, (2, height, width, 2))
    bottom_right = top_left + rng.uniform(0.5, 1.5, top_left.shape)
    target = rng.standard_normal((2, height, width, 2))
    shape = (2, height, width, 2, 4)

    def loss_and_grad(vector):
        boxes = vector.reshape(shape)
        found = overlap_forward(boxes, top_left, bottom_right)
        center, size = overlap_backward(target, boxes, top_left, bottom_right)
        grad = np.concatenate([center, size], axis=-1)
        return float((found * target).sum()), grad.ravel()

    check_gradient(loss_and_grad, rng.uniform(0.2, 1.8, shape).ravel())
