"""Blocks of pixels that become channels, or images of their own."""

from daskdl.arrays.namespace import FloatArray
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
    channels = x.shape[-1]
    for cell, (inside, windows) in enumerate(window.positions()):
        part = out[..., cell * channels : (cell + 1) * channels]
        part[windows] = x[inside]
    return out


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
    channels = grad_x.shape[-1]
    for cell, (inside, windows) in enumerate(window.positions()):
        part = grad_out[..., cell * channels : (cell + 1) * channels]
        grad_x[inside] = part[windows]
    return grad_x


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
    if window.is_padded:
        out.fill(0)
    batch = x.shape[0]
    for cell, (inside, windows) in enumerate(window.positions()):
        part = out[cell * batch : (cell + 1) * batch]
        part[windows] = x[inside]
    return out


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
    batch = grad_x.shape[0]
    for cell, (inside, windows) in enumerate(window.positions()):
        part = grad_out[cell * batch : (cell + 1) * batch]
        grad_x[inside] = part[windows]
    return grad_x
