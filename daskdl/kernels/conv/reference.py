"""Convolution as one copy into columns and one matrix product.

In (batch, height, width, channels) the columns of a window are runs of kernel width x
channels values, so that one strided copy fills them for all windows.

Images go through in blocks whose columns fill at most `COLUMNS_BYTES`, and are still in
a level-2 cache when the product reads them: 16 times as many cost a fifth more time
(see design 0005), and the columns of a whole batch can need gigabytes. They are made
again in the backward pass: the copy takes a quarter of the product's time.
"""

from collections.abc import Iterator

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.window import Window

COLUMNS_BYTES = 2**20


def convolution_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    out: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.conv.convolution_forward` says."""
    xp = array_namespace(x)
    matrix = weight.reshape(-1, weight.shape[-1])
    for block in _blocks(x, window):
        columns = _columns(x[block], window, workspace)
        rows = out[block].reshape(-1, matrix.shape[1])
        xp.matmul(columns, matrix, out=rows)
        if bias is not None:
            rows += bias
    return out


def convolution_backward(
    grad_out: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    window: Window,
    workspace: Workspace,
    grad_weight: FloatArray,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
) -> FloatArray | None:
    """Compute what :func:`daskdl.kernels.conv.convolution_backward` says."""
    xp = array_namespace(x)
    n_out = weight.shape[-1]
    matrix = weight.reshape(-1, n_out)
    grad_matrix = grad_weight.reshape(-1, n_out)
    product = workspace.take("conv.grad_weight", matrix.shape, matrix.dtype)
    grad_matrix.fill(0)
    for block in _blocks(x, window):
        grad_rows = grad_out[block].reshape(-1, n_out)
        columns = _columns(x[block], window, workspace)
        xp.matmul(columns.T, grad_rows, out=product)
        grad_matrix += product
        if grad_x is not None:
            # The columns are used up: their scratch takes the columns' gradient.
            grad_columns = workspace.take("conv.columns", columns.shape, columns.dtype)
            xp.matmul(grad_rows, matrix.T, out=grad_columns)
            _add_columns(grad_columns, window, workspace, grad_x[block])
    if grad_bias is not None:
        # Images first: sums of long rows take a fifth of the time of short ones.
        of_places = xp.sum(grad_out.reshape(grad_out.shape[0], -1), axis=0)
        xp.sum(of_places.reshape(-1, n_out), axis=0, out=grad_bias)
    return grad_x


def _blocks(x: FloatArray, window: Window) -> Iterator[slice]:
    per_image = window.height.out * window.width.out * window.n_cells * x.shape[-1]
    images = max(1, COLUMNS_BYTES // (per_image * x.dtype.itemsize))
    for start in range(0, x.shape[0], images):
        yield slice(start, min(start + images, x.shape[0]))


def _columns(x: FloatArray, window: Window, workspace: Workspace) -> FloatArray:
    """Return the rows (image, window row, window column) x (kernel cell, channel).

    In the order of memory that has the longer runs to copy: a kernel row with its
    channels, or a window row.
    """
    xp = array_namespace(x)
    rows, columns = window.height, window.width
    source = _padded(x, window, workspace) if window.is_padded else x
    batch, row, column, channel = source.strides
    shape = (x.shape[0], rows.out, columns.out, rows.kernel, columns.kernel, x.shape[3])
    windows = xp.lib.stride_tricks.as_strided(
        source,
        shape,
        (
            batch,
            row * rows.stride,
            column * columns.stride,
            row * rows.dilation,
            column * columns.dilation,
            channel,
        ),
    )
    n_cells = window.n_cells * x.shape[3]
    scratch: FloatArray
    if columns.kernel * x.shape[3] >= columns.out:
        scratch = workspace.take("conv.columns", shape, x.dtype)
        xp.copyto(scratch, windows)
        return scratch.reshape(-1, n_cells)
    cells_first = (*shape[3:], *shape[:3])
    scratch = workspace.take("conv.columns", cells_first, x.dtype)
    xp.copyto(scratch, windows.transpose(3, 4, 5, 0, 1, 2))
    transposed: FloatArray = scratch.reshape(n_cells, -1).T
    return transposed


def _padded(x: FloatArray, window: Window, workspace: Workspace) -> FloatArray:
    rows, columns = window.height, window.width
    shape = (x.shape[0], rows.span, columns.span, x.shape[3])
    padded: FloatArray = workspace.take("conv.padded", shape, x.dtype)
    padded.fill(0)
    _inside(padded, window)[...] = x[:, : rows.kept, : columns.kept]
    return padded


def _inside(padded: FloatArray, window: Window) -> FloatArray:
    rows, columns = window.height, window.width
    return padded[
        :,
        rows.before : rows.before + rows.kept,
        columns.before : columns.before + columns.kept,
    ]


def _add_columns(
    columns: FloatArray, window: Window, workspace: Workspace, grad_x: FloatArray
) -> None:
    """Overwrite `grad_x` with the sum of the columns' gradients over the windows."""
    rows, across = window.height, window.width
    n_in = grad_x.shape[3]
    cells = columns.reshape(-1, rows.out, across.out, rows.kernel, across.kernel, n_in)
    grad_x.fill(0)
    target = grad_x
    if window.is_padded:
        shape = (grad_x.shape[0], rows.span, across.span, n_in)
        target = workspace.take("conv.padded", shape, grad_x.dtype)
        target.fill(0)
    for row in range(rows.kernel):
        top = row * rows.dilation
        for column in range(across.kernel):
            left = column * across.dilation
            target[
                :,
                top : top + (rows.out - 1) * rows.stride + 1 : rows.stride,
                left : left + (across.out - 1) * across.stride + 1 : across.stride,
            ] += cells[:, :, :, row, column]
    if window.is_padded:
        grad_x[:, : rows.kept, : across.kept] = _inside(target, window)
