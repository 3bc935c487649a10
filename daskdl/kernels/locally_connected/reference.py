"""Local connections as one matrix product for each window, over the whole batch."""

import math

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.columns import add_windows, padded, windows_of
from daskdl.kernels.sums import sum_over_places
from daskdl.kernels.window import Window


def locally_connected_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    out: FloatArray,
) -> FloatArray:
    """Compute what the function of this name in the package says."""
    xp = array_namespace(x)
    rows = _rows(x, window, workspace)
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
    grad_weight: FloatArray,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
) -> FloatArray | None:
    """Compute what the function of this name in the package says."""
    xp = array_namespace(x)
    n_windows, n_out = weight.shape[0], weight.shape[-1]
    shape = (n_windows, x.shape[0], n_out)
    grad_products = workspace.take("local.products", shape, grad_out.dtype)
    grad_products[...] = grad_out.transpose(1, 0, 2)
    rows = _rows(x, window, workspace)
    grad_matrices = grad_weight.reshape(n_windows, -1, n_out)
    xp.matmul(rows.transpose(0, 2, 1), grad_products, out=grad_matrices)
    if grad_bias is not None:
        sum_over_places(grad_out, workspace, out=grad_bias)
    if grad_x is None:
        return None
    matrices = weight.reshape(n_windows, -1, n_out)
    # The rows are used up: their scratch takes their gradient.
    xp.matmul(grad_products, matrices.transpose(0, 2, 1), out=rows)
    kernel = weight.shape[2:-1]
    by_window = rows.reshape(*reversed(window.out), x.shape[0], x.shape[-1], *kernel)
    return add_windows(
        by_window.transpose(_as_cells(window)), window, workspace, out=grad_x
    )


def _rows(x: FloatArray, window: Window, workspace: Workspace) -> FloatArray:
    """Return the windows as (window, batch, channel and kernel cell), contiguous."""
    windows = windows_of(padded(x, window, workspace), window)
    back = _as_cells(window)
    by_window = windows.transpose(sorted(range(len(back)), key=back.__getitem__))
    scratch: FloatArray = workspace.take("local.rows", by_window.shape, x.dtype)
    scratch[...] = by_window
    n_columns = window.n_cells * x.shape[-1]
    return scratch.reshape(math.prod(window.out), x.shape[0], n_columns)


def _as_cells(window: Window) -> tuple[int, ...]:
    """Return the axes that turn the order of rows into that of windows.

    From (*windows, the last axis first, batch, channel, *kernel) into (batch, *windows,
    *kernel, channel).
    """
    n = len(window.axes)
    return (n, *range(n - 1, -1, -1), *range(n + 2, 2 * n + 2), n + 1)
