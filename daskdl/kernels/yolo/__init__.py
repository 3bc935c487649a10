"""Boxes of a grid, as YOLO version 2 predicts them, and how well they cover others.

Everything is in units of grid cells. A box is ``(x, y, width, height, confidence,
classes...)``, x and y counted from the corner of its cell.
"""

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.yolo import cpu, reference


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
    if not is_compiled_for(x, priors, out):
        return reference.boxes_forward(x, priors, out)
    numbers, boxes = (array.reshape(-1, x.shape[-1]) for array in (x, out))
    cpu.exponents(numbers, x.dtype.type(reference.exponent_limit(x)), boxes)
    np.exp(boxes, out=boxes)
    cpu.boxes_of_exponentials(priors, boxes)
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
    return reference.boxes_backward(grad_out, output, grad_x)


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
    return reference.overlap_forward(boxes, cells, top_left, bottom_right)


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
    return reference.overlap_backward(grad_out, boxes, cells, top_left, bottom_right)
