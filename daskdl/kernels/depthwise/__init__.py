"""Depthwise convolution: each channel has kernels of its own.

There is no matrix product in it worth the name: a kernel cell multiplies each channel
by one number, and memory sets the time. So NumPy gets images in blocks that stay in a
level-2 cache, each spread to as many channels as come out: then every operation runs
along contiguous channels. The forward pass takes all kernel cells in one `einsum`, a
third of the time of one product and one sum a cell at 128 channels.
"""

import math
from collections.abc import Iterator

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.columns import padded, windows_of
from daskdl.kernels.depthwise import cpu
from daskdl.kernels.einsum import einsum_into
from daskdl.kernels.sums import sum_over_positions
from daskdl.kernels.tiles.usable import tiles_take
from daskdl.kernels.window import Window

BLOCK_BYTES = 2**18


def depthwise_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    *,
    out: FloatArray,
) -> FloatArray:
    """Compute the convolution of every channel with each of its kernels.

    Parameters
    ----------
    x : ndarray of shape (batch, *axes, n_in)
        Not changed.
    weight : ndarray of shape (*kernel, n_in, depth_multiplier), same dtype
        C-contiguous. Not changed.
    bias : ndarray of shape (n_in * depth_multiplier,), same dtype, or None
        None adds nothing.
    window : Window
        Sizes of `x`, the kernel and `out`; the padding is zeros.
    workspace : Workspace
        Lends scratch of a bounded size, or that of a few images.
    out : ndarray of shape (batch, *window.out, n_in * depth_multiplier), same dtype
        Overwritten. Channel ``c * depth_multiplier + m`` is kernel m of channel c.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    if tiles_take(x, weight, out):
        cpu.depthwise_forward(x, weight, bias, window, workspace, out)
        return out
    n_axes = len(window.axes)
    cells = weight.reshape(*weight.shape[:-2], -1)
    every = list(range(2 * n_axes + 2))
    of_weight, of_out = every[n_axes + 1 :], [*every[: n_axes + 1], every[-1]]
    for images in _blocks(x, out):
        spread = _spread(x[images], weight.shape[-1], workspace)
        windows = windows_of(padded(spread, window, workspace), window)
        einsum_into(out[images], windows, every, cells, of_weight, of_out)
    if bias is not None:
        out += bias
    return out


def depthwise_backward(
    grad_out: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    window: Window,
    workspace: Workspace,
    *,
    grad_weight: FloatArray,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
) -> FloatArray | None:
    """Compute the gradients of :func:`depthwise_forward`.

    Parameters
    ----------
    grad_out : ndarray like the output
        Gradient of the loss in the output. C-contiguous. Not changed.
    x, weight, window, workspace
        As in the forward pass.
    grad_weight : ndarray like weight
        C-contiguous. Overwritten with the sum over images and windows.
    grad_bias : ndarray of shape (n_in * depth_multiplier,), same dtype, or None
        Overwritten likewise.
    grad_x : ndarray like x, or None
        Overwritten. None where nobody reads it: then it is not computed.

    Returns
    -------
    grad_x : ndarray or None
        What was given.
    """
    read = (grad_out, x, weight, grad_weight)
    arrays = read if grad_x is None else (*read, grad_x)
    if tiles_take(*arrays):
        cpu.depthwise_backward(
            grad_out, x, weight, window, workspace, grad_weight, grad_bias, grad_x
        )
        return grad_x
    grad_weight.fill(0)
    for images in _blocks(x, grad_out):
        _add_grad_weight(grad_out[images], x[images], window, workspace, grad_weight)
        if grad_x is not None:
            _grad_x(grad_out[images], weight, window, workspace, grad_x[images])
    if grad_bias is not None:
        sum_over_positions(grad_out, workspace, out=grad_bias)
    return grad_x


def _blocks(x: FloatArray, out: FloatArray) -> Iterator[slice]:
    per_image = max(math.prod(x.shape[1:]), math.prod(out.shape[1:])) * x.dtype.itemsize
    images = max(1, BLOCK_BYTES // per_image)
    for start in range(0, x.shape[0], images):
        yield slice(start, min(start + images, x.shape[0]))


def _spread(x: FloatArray, multiplier: int, workspace: Workspace) -> FloatArray:
    """Return `x` with every channel as often as it has kernels."""
    if multiplier == 1:
        return x
    spread: FloatArray = workspace.take(
        "depthwise.spread", (*x.shape, multiplier), x.dtype
    )
    spread[...] = x[..., None]
    return spread.reshape(*x.shape[:-1], -1)


def _add_grad_weight(
    grad_out: FloatArray,
    x: FloatArray,
    window: Window,
    workspace: Workspace,
    grad_weight: FloatArray,
) -> None:
    spread = _spread(x, grad_weight.shape[-1], workspace)
    sums = workspace.take("depthwise.sums", (spread.shape[-1],), x.dtype)
    axes = list(range(x.ndim))
    cells = grad_weight.reshape(window.n_cells, -1)
    for cell, (inside, windows) in zip(cells, window.positions(), strict=True):
        einsum_into(sums, spread[inside], axes, grad_out[windows], axes, axes[-1:])
        cell += sums


def _grad_x(
    grad_out: FloatArray,
    weight: FloatArray,
    window: Window,
    workspace: Workspace,
    grad_x: FloatArray,
) -> None:
    """Overwrite `grad_x` with the gradient in the input."""
    xp = array_namespace(grad_out)
    multiplier = weight.shape[-1]
    target = grad_x
    if multiplier > 1:
        shape = (*grad_x.shape[:-1], grad_out.shape[-1])
        target = workspace.take("depthwise.spread", shape, grad_x.dtype)
    target.fill(0)
    cells = weight.reshape(window.n_cells, -1)
    for cell, (inside, windows) in zip(cells, window.positions(), strict=True):
        part = grad_out[windows]
        product = workspace.take("depthwise.product", part.shape, part.dtype)
        target[inside] += xp.multiply(part, cell, out=product)
    if multiplier > 1:
        xp.sum(target.reshape(*grad_x.shape, multiplier), axis=-1, out=grad_x)
