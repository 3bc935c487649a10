"""Local connections: a convolution whose every window has weights of its own.

One matrix product for each window, over the whole batch. What gathers windows as rows,
and adds rows back to their positions, comes compiled too.
"""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.locally_connected.rows import add_rows, gathered
from daskdl.kernels.sums import sum_over_positions
from daskdl.kernels.window import Window


def locally_connected_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    *,
    out: FloatArray,
    by_column: bool = False,
) -> FloatArray:
    """Multiply every window by its own weights.

    Parameters
    ----------
    x : ndarray of shape (batch, *axes, n_in)
        Not changed.
    weight : ndarray of shape (n_windows, n_in, *kernel, n_out), same dtype
        C-contiguous. Not changed.
    bias : ndarray of shape (n_out,), same dtype, or None
        The same for all windows.
    window : Window
        Sizes of `x` and the kernel; the padding is zeros.
    workspace : Workspace
        Lends scratch: batch / n_out times the size of the weights, and twice the
        output.
    out : ndarray of shape (batch, n_windows, n_out), same dtype
        Overwritten.
    by_column : bool
        Count windows with the first axis running fastest, column by column of an image,
        instead of row by row.

    Returns
    -------
    out : ndarray
        The array that was given.
    """
    xp = array_namespace(x)
    rows = gathered(x, window, workspace, by_column)
    n_windows, n_out = weight.shape[0], weight.shape[-1]
    products = workspace.take(
        "local.products", (n_windows, x.shape[0], n_out), out.dtype
    )
    xp.matmul(rows, weight.reshape(n_windows, -1, n_out), out=products)
    out[...] = products.transpose(1, 0, 2)
    if bias is not None:
        out += bias
    return out


def locally_connected_backward(
    grad_out: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    window: Window,
    workspace: Workspace,
    *,
    grad_weight: FloatArray,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
    by_column: bool = False,
) -> FloatArray | None:
    """Compute the gradients of :func:`locally_connected_forward`.

    Parameters
    ----------
    grad_out : ndarray like the output
        Gradient of the loss in the output. C-contiguous. Not changed.
    x, weight, window, workspace, by_column
        As in the forward pass.
    grad_weight : ndarray like weight
        C-contiguous. Overwritten with the sum over images.
    grad_bias : ndarray of shape (n_out,), same dtype, or None
        Overwritten with the sum over images and windows.
    grad_x : ndarray like x, or None
        Overwritten. None where nobody reads it: then it is not computed.

    Returns
    -------
    grad_x : ndarray or None
        What was given.
    """
    xp = array_namespace(x)
    n_windows, n_out = weight.shape[0], weight.shape[-1]
    shape = (n_windows, x.shape[0], n_out)
    grad_products = workspace.take("local.products", shape, grad_out.dtype)
    grad_products[...] = grad_out.transpose(1, 0, 2)
    rows = gathered(x, window, workspace, by_column)
    grad_matrices = grad_weight.reshape(n_windows, -1, n_out)
    xp.matmul(rows.transpose(0, 2, 1), grad_products, out=grad_matrices)
    if grad_bias is not None:
        sum_over_positions(grad_out, workspace, out=grad_bias)
    if grad_x is None:
        return None
    matrices = weight.reshape(n_windows, -1, n_out)
    # The rows are used up: their scratch takes their gradient.
    xp.matmul(grad_products, matrices.transpose(0, 2, 1), out=rows)
    return add_rows(rows, window, workspace, by_column, out=grad_x)
