"""Local connections as one matrix product for each window, over the whole batch.

What gathers windows as rows, and adds rows back to their places, comes compiled too.
"""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.locally_connected.rows import add_rows, gathered
from daskdl.kernels.sums import sum_over_places
from daskdl.kernels.window import Window


def locally_connected_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    out: FloatArray,
    by_column: bool,
) -> FloatArray:
    """See :func:`daskdl.kernels.locally_connected.locally_connected_forward`."""
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
    grad_weight: FloatArray,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
    by_column: bool,
) -> FloatArray | None:
    """See :func:`daskdl.kernels.locally_connected.locally_connected_backward`."""
    xp = array_namespace(x)
    n_windows, n_out = weight.shape[0], weight.shape[-1]
    shape = (n_windows, x.shape[0], n_out)
    grad_products = workspace.take("local.products", shape, grad_out.dtype)
    grad_products[...] = grad_out.transpose(1, 0, 2)
    rows = gathered(x, window, workspace, by_column)
    grad_matrices = grad_weight.reshape(n_windows, -1, n_out)
    xp.matmul(rows.transpose(0, 2, 1), grad_products, out=grad_matrices)
    if grad_bias is not None:
        sum_over_places(grad_out, workspace, out=grad_bias)
    if grad_x is None:
        return None
    matrices = weight.reshape(n_windows, -1, n_out)
    # The rows are used up: their scratch takes their gradient.
    xp.matmul(grad_products, matrices.transpose(0, 2, 1), out=rows)
    return add_rows(rows, window, workspace, by_column, out=grad_x)
