"""Boxes by whole-array expressions; cells with an object are few."""

from typing import Any, NamedTuple

from daskdl.arrays.namespace import FloatArray, array_namespace

_CENTER = slice(0, 2)
_SIZE = slice(2, 4)
_CONFIDENCE = slice(4, 5)
_CLASSES = slice(5, None)


def boxes_forward(x: FloatArray, priors: FloatArray, out: FloatArray) -> FloatArray:
    """Compute what :func:`daskdl.kernels.yolo.boxes_forward` says."""
    xp = array_namespace(x)
    for part in (_CENTER, _CONFIDENCE):
        out[..., part] = _sigmoid(x[..., part])
    out[..., _SIZE] = priors * xp.exp(x[..., _SIZE])
    classes = x[..., _CLASSES]
    shares = xp.exp(classes - xp.max(classes, axis=-1, keepdims=True))
    out[..., _CLASSES] = shares / xp.sum(shares, axis=-1, keepdims=True)
    return out


def boxes_backward(
    grad_out: FloatArray, output: FloatArray, grad_x: FloatArray
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.yolo.boxes_backward` says."""
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
    """Compute what :func:`daskdl.kernels.yolo.overlap_forward` says."""
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
    """Compute what :func:`daskdl.kernels.yolo.overlap_backward` says."""
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


def exponent_limit(x: FloatArray) -> float:
    """Return the largest x whose exponential does not overflow in the dtype of `x`.

    `x` may be of any shape. Sigmoids take no exponential of more.
    """
    # The sigmoid is 0 to all digits there.
    return 88.0 if x.dtype.itemsize == 4 else 709.0


def _sigmoid(x: FloatArray) -> Any:
    xp = array_namespace(x)
    return 1 / (1 + xp.exp(xp.minimum(-x, exponent_limit(x))))


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
