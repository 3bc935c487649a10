"""Boxes of a grid, as YOLO version 2 predicts them, and how well they cover others.

Everything is in units of grid cells. A box is ``(x, y, width, height, confidence,
classes...)``, x and y counted from the corner of its cell.
"""

from typing import Any, NamedTuple

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.yolo import cpu


def boxes_forward(x: FloatArray, priors: FloatArray, *, out: FloatArray) -> FloatArray:
    """Turn a network's numbers into boxes.

    Parameters
    ----------
    x : ndarray of shape (batch, height, width, boxes, 5 + classes)
        Not changed.
    priors : ndarray of shape (boxes, 2), same dtype
        Width and height that a box begins with.
    out : ndarray like x
        Overwritten: sigmoid of x, y and confidence, ``prior * exp`` of the size,
        softmax of the classes.

    Returns
    -------
    out : ndarray
        The array that was given.

    References
    ----------
    Redmon and Farhadi, *YOLO9000: Better, Faster, Stronger*, 2016, section 2.
    """
    if is_compiled_for(x, priors, out):
        cpu.boxes_forward(x, priors, _exponent_limit(x), out)
        return out
    xp = array_namespace(x)
    for part in (_CENTER, _CONFIDENCE):
        out[..., part] = _sigmoid(x[..., part])
    out[..., _SIZE] = priors * xp.exp(x[..., _SIZE])
    classes = x[..., _CLASSES]
    shares = xp.exp(classes - xp.max(classes, axis=-1, keepdims=True))
    out[..., _CLASSES] = shares / xp.sum(shares, axis=-1, keepdims=True)
    return out


def boxes_backward(
    grad_out: FloatArray, output: FloatArray, *, grad_x: FloatArray
) -> FloatArray:
    """Compute the gradient of :func:`boxes_forward`.

    Parameters
    ----------
    grad_out, output : ndarray of shape (batch, height, width, boxes, 5 + classes)
        Gradient of the loss in the output, and the output. Not changed.
    grad_x : ndarray like grad_out
        Overwritten; may be `grad_out` itself.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    xp = array_namespace(grad_out)
    for part in (_CENTER, _CONFIDENCE):
        sigmoid = output[..., part]
        grad_x[..., part] = grad_out[..., part] * sigmoid * (1 - sigmoid)
    grad_x[..., _SIZE] = grad_out[..., _SIZE] * output[..., _SIZE]
    shares, grad_shares = output[..., _CLASSES], grad_out[..., _CLASSES]
    mean = xp.sum(shares * grad_shares, axis=-1, keepdims=True)
    grad_x[..., _CLASSES] = shares * (grad_shares - mean)
    return grad_x


def overlap_forward(
    boxes: FloatArray,
    cells: FloatArray,
    top_left: FloatArray,
    bottom_right: FloatArray,
) -> FloatArray:
    """Compute the intersection over union of predicted boxes with one of each cell.

    Parameters
    ----------
    boxes : ndarray of shape (cells, boxes, at least 4)
        What :func:`boxes_forward` returned, of any cells.
    cells : ndarray of shape (cells, 2), same dtype
        Their corners (x, y), counted from the corner of the grid.
    top_left, bottom_right : ndarray of shape (cells, 2), same dtype
        Corners (x, y) of the cell's box, counted from the corner of the grid.

    Returns
    -------
    overlap : ndarray of shape (cells, boxes)
        From 0 to 1. Newly allocated.
    """
    meeting = _meet(boxes, cells, top_left, bottom_right)
    overlap: FloatArray = meeting.intersection / meeting.union
    return overlap


def overlap_backward(
    grad_out: FloatArray,
    boxes: FloatArray,
    cells: FloatArray,
    top_left: FloatArray,
    bottom_right: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Compute the gradients of :func:`overlap_forward` in the predicted boxes.

    Parameters
    ----------
    grad_out : ndarray of shape (cells, boxes)
        Gradient of the loss in the overlap. Not changed.
    boxes, cells, top_left, bottom_right
        What the forward pass saw. Not changed.

    Returns
    -------
    grad_center, grad_size : ndarray of shape (cells, boxes, 2)
        Newly allocated. 0 where the boxes do not meet.
    """
    meeting = _meet(boxes, cells, top_left, bottom_right)
    # An edge that cuts the other box moves the intersection by the length it has there,
    # which is what the intersection measures along the other axis.
    moved = meeting.sides[..., ::-1] * meeting.meets[..., None]
    by_center = (meeting.cuts_behind - meeting.cuts_in_front) * moved
    by_size = (meeting.cuts_behind + meeting.cuts_in_front) * moved / 2
    union = meeting.union[..., None]
    both = union + meeting.intersection[..., None]
    other_size = boxes[..., _SIZE][..., ::-1]
    scale = grad_out[..., None] / (union * union)
    grad_center = scale * by_center * both
    grad_size = scale * (by_size * both - meeting.intersection[..., None] * other_size)
    return grad_center, grad_size


_CENTER = slice(0, 2)


_SIZE = slice(2, 4)


_CONFIDENCE = slice(4, 5)


_CLASSES = slice(5, None)


def _exponent_limit(x: FloatArray) -> float:
    """Return the largest x whose exponential does not overflow in the dtype of `x`.

    `x` may be of any shape. Sigmoids take no exponential of more.
    """
    # The sigmoid is 0 to all digits there.
    return 88.0 if x.dtype.itemsize == 4 else 709.0


def _sigmoid(x: FloatArray) -> Any:
    xp = array_namespace(x)
    return 1 / (1 + xp.exp(xp.minimum(-x, _exponent_limit(x))))


class _Meeting(NamedTuple):
    """Where two boxes lie to one another; pairs are of (x, y)."""

    sides: Any
    meets: Any
    intersection: Any
    union: Any
    cuts_in_front: Any
    cuts_behind: Any


def _meet(
    boxes: FloatArray,
    cells: FloatArray,
    top_left: FloatArray,
    bottom_right: FloatArray,
) -> _Meeting:
    xp = array_namespace(boxes)
    dtype = boxes.dtype
    size = boxes[..., _SIZE]
    center = boxes[..., _CENTER] + cells[..., None, :]
    first, last = center - size / 2, center + size / 2
    from_, to = top_left[..., None, :], bottom_right[..., None, :]
    sides = xp.minimum(last, to) - xp.maximum(first, from_)
    meets = xp.all((last >= from_) & (first <= to), axis=-1).astype(dtype)
    intersection = xp.prod(sides, axis=-1) * meets
    union = xp.prod(size, axis=-1) + xp.prod(to - from_, axis=-1) - intersection
    # Boxes without any area do not overlap.
    union = xp.where(union > 0, union, dtype.type(1))
    return _Meeting(
        sides,
        meets,
        intersection,
        union,
        (first > from_).astype(dtype),
        (last < to).astype(dtype),
    )
