"""Blocks of pixels that become channels, or images of their own."""

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.blocks import reference
from daskdl.kernels.window import Window


def space_to_depth_forward(
    x: FloatArray, window: Window, *, out: FloatArray
) -> FloatArray:
    """Put the pixels of each block behind one another as channels.

    Parameters
    ----------
    x : ndarray of shape (batch, height, width, channels)
        Not changed.
    window : Window
        The blocks: its stride is its kernel, and it covers all of `x`.
    out : ndarray of shape (batch, *window.out, cells * channels), same dtype
        Overwritten. Pixels row by row, the channels of each together.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    return reference.space_to_depth_forward(x, window, out)


def space_to_depth_backward(
    grad_out: FloatArray, window: Window, *, grad_x: FloatArray
) -> FloatArray:
    """Compute the gradient of :func:`space_to_depth_forward`.

    Parameters
    ----------
    grad_out : ndarray of shape (batch, *window.out, cells * channels)
        Gradient of the loss in the output. Not changed.
    window : Window
        As in the forward pass.
    grad_x : ndarray of shape (batch, height, width, channels), same dtype
        Overwritten.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    return reference.space_to_depth_backward(grad_out, window, grad_x)


def space_to_batch_forward(
    x: FloatArray, window: Window, *, out: FloatArray
) -> FloatArray:
    """Make an image of the first pixels of all blocks, of the second ones, and so on.

    Parameters
    ----------
    x : ndarray of shape (batch, height, width, channels)
        Not changed.
    window : Window
        The blocks: its stride is its kernel, and it covers all of `x`. Where it hangs
        over the border is 0.
    out : ndarray of shape (cells * batch, *window.out, channels), same dtype
        Overwritten. The images of the whole minibatch for the first cell of a block,
        then for the second; cells row by row.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    return reference.space_to_batch_forward(x, window, out)


def space_to_batch_backward(
    grad_out: FloatArray, window: Window, *, grad_x: FloatArray
) -> FloatArray:
    """Compute the gradient of :func:`space_to_batch_forward`.

    Parameters
    ----------
    grad_out : ndarray of shape (cells * batch, *window.out, channels)
        Gradient of the loss in the output. Not changed.
    window : Window
        As in the forward pass.
    grad_x : ndarray of shape (batch, height, width, channels), same dtype
        Overwritten.

    Returns
    -------
    grad_x : ndarray
        The array that was given.
    """
    return reference.space_to_batch_backward(grad_out, window, grad_x)
