import numpy as np
import pytest

from daskdl.kernels.yolo import (
    boxes_backward,
    boxes_forward,
    overlap_backward,
    overlap_forward,
)
from tests.gradients import check_gradient
from tests.unit.kernels.numpy_form import by_numpy

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


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize(("dtype", "rtol"), [("f4", 2e-6), ("f8", 1e-14)])
@pytest.mark.parametrize(
    "shape", [SHAPE, (1, 1, 1, 1, 6), (3, 5, 7, 3, 25), (0, 2, 2, 2, 8)]
)
def test_boxes_are_those_of_numpy(rng, shape, dtype, rtol):
    x = 3 * rng.standard_normal(shape).astype(dtype)
    priors = rng.uniform(0.5, 2, (shape[3], 2)).astype(dtype)
    expected = by_numpy(boxes_forward, x, priors, out=np.empty_like(x))
    out = boxes_forward(x, priors, out=np.full_like(x, np.nan))
    np.testing.assert_allclose(out, expected, rtol=rtol)


@pytest.mark.filterwarnings("ignore:(invalid value|overflow):RuntimeWarning")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", range(SHAPE[-1]))
def test_what_is_not_finite_is_that_of_numpy(rng, column, value):
    x = rng.standard_normal(SHAPE)
    x[0, 1, 2, 0, column] = value
    expected = by_numpy(boxes_forward, x, PRIORS, out=np.empty_like(x))
    np.testing.assert_allclose(boxes_of(x), expected, rtol=1e-14)


def test_gradient_of_boxes(rng):
    target = rng.standard_normal(SHAPE)

    def loss_and_grad(vector):
        out = boxes_of(vector.reshape(SHAPE))
        grad_x = boxes_backward(target, out, grad_x=np.full(SHAPE, np.nan))
        return float((out * target).sum()), grad_x.ravel()

    check_gradient(loss_and_grad, rng.standard_normal(SHAPE).ravel())


def overlap(box, corners):
    """Return the overlap in the cell of row 1 and column 2 of a grid."""
    first, last = np.array([corners[:2]], float), np.array([corners[2:]], float)
    boxes, cells = np.array([[box]], float), np.array([[2.0, 1.0]])
    return overlap_forward(boxes, cells, first, last)[0, 0]


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
    cells = rng.integers(0, 3, (12, 2)).astype(float)
    top_left = cells / 2 + rng.uniform(0, 1, (12, 2))
    bottom_right = top_left + rng.uniform(0.5, 1.5, (12, 2))
    corners = cells, top_left, bottom_right
    target = rng.standard_normal((12, 2))

    def loss_and_grad(vector):
        boxes = vector.reshape(12, 2, 4)
        found = overlap_forward(boxes, *corners)
        grad = np.concatenate(overlap_backward(target, boxes, *corners), axis=-1)
        return float((found * target).sum()), grad.ravel()

    check_gradient(loss_and_grad, rng.uniform(0.2, 1.8, (12, 2, 4)).ravel())
