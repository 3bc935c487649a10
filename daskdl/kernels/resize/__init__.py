"""Repeating, padding and cutting off cells along time, height, width or depth."""

import math

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.resize import cpu, reference

Side = tuple[int, int]


def upsample_forward(
    x: FloatArray, size: tuple[int, ...], *, out: FloatArray
) -> FloatArray:
    """Repeat each cell.

    Parameters
    ----------
    x : ndarray of shape (batch, *axes, channels)
        Not changed.
    size : tuple of int
        How often along each of the axes.
    out : ndarray of shape (batch, *axes * size, channels), same dtype
        Overwritten.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    if not is_compiled_for(x, out):
        return reference.upsample_forward(x, size, out)
    cpu.upsample_forward(_cells(x), size[-1], _copies(x, size, out))
    return out


def upsample_backward(
    grad_out: FloatArray,
    size: tuple[int, ...],
    workspace: Workspace,
    *,
    grad_x: FloatArray,
) -> FloatArray:
    """Compute the gradient of :func:`upsample_forward`: sums over the copies.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, *axes * size, channels)
        Gradient of the loss in the output. Not changed.
    size : tuple of int
        As in the forward pass.
    workspace : Workspace
        Lends scratch of the size of a row.
    grad_x : ndarray of shape (batch, *axes, channels), same dtype
        Overwritten.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    if not is_compiled_for(grad_out, grad_x):
        return reference.upsample_backward(grad_out, size, grad_x)
    copies = _copies(grad_x, size, grad_out)
    sums = workspace.take("resize.row", copies.shape[-1:], copies.dtype)
    cpu.upsample_backward(copies, size[-1], sums, _cells(grad_x))
    return grad_x


def pad_forward(
    x: FloatArray, sides: tuple[Side, ...], *, out: FloatArray, value: float = 0.0
) -> FloatArray:
    """Put cells with one value around the input.

    Parameters
    ----------
    x : ndarray of shape (batch, *axes, channels)
        Not changed.
    sides : tuple of (int, int)
        How many cells in front and behind, for each of the axes.
    out : ndarray of shape (batch, *axes + sides, channels), same dtype
        Overwritten.
    value : float
        What is in the new cells.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    return reference.pad_forward(x, sides, value, out)


def pad_backward(
    grad_out: FloatArray, sides: tuple[Side, ...], *, grad_x: FloatArray
) -> FloatArray:
    """Compute the gradient of :func:`pad_forward`: what is not in the padding.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, *axes + sides, channels)
        Gradient of the loss in the output. Not changed.
    sides : tuple of (int, int)
        As in the forward pass.
    grad_x : ndarray of shape (batch, *axes, channels), same dtype
        Overwritten.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    return reference.crop_forward(grad_out, sides, grad_x)


def crop_forward(
    x: FloatArray, sides: tuple[Side, ...], *, out: FloatArray
) -> FloatArray:
    """Cut off cells at the borders.

    Parameters
    ----------
    x : ndarray of shape (batch, *axes, channels)
        Not changed.
    sides : tuple of (int, int)
        How many cells in front and behind, for each of the axes.
    out : ndarray of shape (batch, *axes - sides, channels), same dtype
        Overwritten.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    return reference.crop_forward(x, sides, out)


def crop_backward(
    grad_out: FloatArray, sides: tuple[Side, ...], *, grad_x: FloatArray
) -> FloatArray:
    """Compute the gradient of :func:`crop_forward`: 0 where cells were cut off.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, *axes - sides, channels)
        Gradient of the loss in the output. Not changed.
    sides : tuple of (int, int)
        As in the forward pass.
    grad_x : ndarray of shape (batch, *axes, channels), same dtype
        Overwritten.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    return reference.pad_forward(grad_out, sides, 0.0, grad_x)


def _cells(x: FloatArray) -> FloatArray:
    """Return an array as (slices, rows, width, channels)."""
    *slices, rows, width, channels = (1, *x.shape) if x.ndim == 3 else x.shape
    return x.reshape(math.prod(slices), rows, width, channels)


def _copies(x: FloatArray, size: tuple[int, ...], repeated: FloatArray) -> FloatArray:
    """Return (slices, copies, rows, copies, numbers of a row) of what `x` becomes.

    A series is a row: its examples are what rows are in an image.
    """
    slices, rows, width, channels = _cells(x).shape
    deep, high, wide = (1,) * (3 - len(size)) + size
    shape = (slices, deep, rows, high, width * wide * channels)
    return repeated.reshape(shape)
