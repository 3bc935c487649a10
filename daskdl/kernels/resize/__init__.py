"""Repeating, padding and cutting off cells along time, height, width or depth."""

import itertools
from collections.abc import Iterator

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.dispatch import is_compiled_for
from daskdl.kernels.resize import cpu

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
    if is_compiled_for(x, out):
        cpu.upsample_forward(x, size, out)
        return out
    for copies in _copies(size):
        out[copies] = x
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
    if is_compiled_for(grad_out, grad_x):
        cpu.upsample_backward(grad_out, size, workspace, grad_x)
        return grad_x
    grad_x.fill(0)
    for copies in _copies(size):
        grad_x += grad_out[copies]
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
    out.fill(value)
    out[_inside(out, sides)] = x
    return out


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
    return crop_forward(grad_out, sides, out=grad_x)


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
    out[...] = x[_inside(x, sides)]
    return out


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
    return pad_forward(grad_out, sides, out=grad_x)


def _copies(size: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Yield the indices of the first copy of every cell, of the second, and so on."""
    for offsets in itertools.product(*(range(count) for count in size)):
        steps = zip(offsets, size, strict=True)
        yield (slice(None), *(slice(offset, None, count) for offset, count in steps))


def _inside(array: FloatArray, sides: tuple[Side, ...]) -> tuple[slice, ...]:
    """Return the index of what lies between the sides."""
    sizes = zip(array.shape[1:-1], sides, strict=True)
    return (
        slice(None),
        *(slice(before, size - behind) for size, (before, behind) in sizes),
    )
