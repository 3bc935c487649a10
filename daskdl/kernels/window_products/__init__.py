"""The three products of windows and weights, of which convolutions consist.

A convolution gathers windows of its input, a deconvolution adds windows to its output;
each one's forward pass is the other one's gradient in the input. Weights are matrices
of shape (kernel cells x n_in, n_out), as those of the convolution are. NumPy takes
the windows of a block of images as rows, and one matrix product for all of them.
"""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.columns import gathered, scattered
from daskdl.kernels.products import matmul
from daskdl.kernels.tiles.usable import tiles_take
from daskdl.kernels.window import Window
from daskdl.kernels.window_products import cpu, gpu


def windows_to_outputs(
    x: FloatArray,
    matrix: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    *,
    rectifies: bool = False,
    out: FloatArray,
) -> FloatArray:
    """Multiply every window of `x` by the weights.

    Parameters
    ----------
    x : ndarray of shape (batch, *axes, n_in)
        Not changed.
    matrix : ndarray of shape (window.n_cells * n_in, n_out), same dtype
        Not changed.
    bias : ndarray of shape (n_out,), same dtype, or None
        Added everywhere.
    window : Window
        Slides over `x`; the padding is zeros.
    workspace : Workspace
        Lends scratch of a bounded size.
    rectifies : bool
        Whether what is below 0 becomes 0; NaN stays.
    out : ndarray of shape (batch, *window.out, n_out), same dtype
        C-contiguous. Overwritten.

    Returns
    -------
    out : ndarray
    """
    arrays = (x, matrix, out) if bias is None else (x, matrix, out, bias)
    if tiles_take(*arrays):
        cpu.windows_to_outputs(x, matrix, bias, window, workspace, rectifies, out)
        return out
    if gpu.takes(window, *arrays[:3]):
        gpu.windows_to_outputs(x, matrix, bias, window, rectifies, out)
        return out
    xp = array_namespace(x)
    for part, rows in gathered(x, window, workspace):
        products = out[part].reshape(-1, matrix.shape[1])
        matmul(rows, matrix, out=products)
        if bias is not None:
            products += bias
        if rectifies:
            xp.maximum(products, 0, out=products)
    return out


def outputs_to_windows(
    y: FloatArray,
    matrix: FloatArray,
    window: Window,
    workspace: Workspace,
    *,
    out: FloatArray,
) -> FloatArray:
    """Multiply outputs by weights, and sum the windows: a transposed convolution.

    Parameters
    ----------
    y : ndarray of shape (batch, *window.out, n_out)
        C-contiguous. Not changed.
    matrix, window, workspace
        As for :func:`windows_to_outputs`.
    out : ndarray of shape (batch, *axes, n_in), same dtype
        Overwritten; 0 where no window lies.

    Returns
    -------
    out : ndarray
    """
    if tiles_take(y, matrix, out):
        cpu.outputs_to_windows(y, matrix, window, workspace, out)
        return out
    if gpu.takes(window, y, matrix, out):
        gpu.outputs_to_windows(y, matrix, window, out)
        return out
    for part, rows in scattered(out, window, workspace):
        matmul(y[part].reshape(-1, matrix.shape[1]), matrix.T, out=rows)
    return out


def windows_by_outputs(
    x: FloatArray,
    y: FloatArray,
    window: Window,
    workspace: Workspace,
    *,
    out: FloatArray,
) -> FloatArray:
    """Sum the products of windows and outputs: the gradient of the weights.

    Parameters
    ----------
    x, window, workspace
        As for :func:`windows_to_outputs`.
    y : ndarray of shape (batch, *window.out, n_out)
        C-contiguous. Not changed.
    out : ndarray of shape (window.n_cells * n_in, n_out), same dtype
        C-contiguous. Overwritten.

    Returns
    -------
    out : ndarray
    """
    if tiles_take(x, y, out):
        cpu.windows_by_outputs(x, y, window, workspace, out)
        return out
    if gpu.takes(window, x, y, out):
        gpu.windows_by_outputs(x, y, window, out)
        return out
    product = workspace.take("conv.product", out.shape, out.dtype)
    out.fill(0)
    for part, rows in gathered(x, window, workspace):
        matmul(rows.T, y[part].reshape(-1, out.shape[1]), out=product)
        out += product
    return out
