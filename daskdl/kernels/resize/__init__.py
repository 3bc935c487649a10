"""Repeating, padding and cutting off cells along time, height, width or depth."""

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.resize import reference

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
    return reference.upsample_forward(x, size, out)


def upsample_backward(
    grad_out: FloatArray, size: tuple[int, ...], *, grad_x: FloatArray
) -> FloatArray:
    """Compute the gradient of :func:`upsample_forward`: sums over the copies.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, *axes * size, channels)
        Gradient of the loss in the output. Not changed.
    size : tuple of int
        As in the forward pass.
    grad_x : ndarray of shape (batch, *axes, channels), same dtype
        Overwritten.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    return reference.upsample_backward(grad_out, size, grad_x)


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
