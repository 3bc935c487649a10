"""The three products with the rows of windows and one matrix product a block."""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.columns import gathered, scattered
from daskdl.kernels.window import Window


def windows_to_places(
    x: FloatArray,
    matrix: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    rectifies: bool,
    out: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.window_products.windows_to_places` says."""
    xp = array_namespace(x)
    for place, rows in gathered(x, window, workspace):
        products = out[place].reshape(-1, matrix.shape[1])
        xp.matmul(rows, matrix, out=products)
        if bias is not None:
            products += bias
        if rectifies:
            xp.maximum(products, 0, out=products)
    return out


def places_to_windows(
    places: FloatArray,
    matrix: FloatArray,
    window: Window,
    workspace: Workspace,
    out: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.window_products.places_to_windows` says."""
    xp = array_namespace(places)
    for place, rows in scattered(out, window, workspace):
        xp.matmul(places[place].reshape(-1, matrix.shape[1]), matrix.T, out=rows)
    return out


def windows_by_places(
    x: FloatArray,
    places: FloatArray,
    window: Window,
    workspace: Workspace,
    out: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.window_products.windows_by_places` says."""
    xp = array_namespace(x)
    product = workspace.take("conv.product", out.shape, out.dtype)
    out.fill(0)
    for place, rows in gathered(x, window, workspace):
        xp.matmul(rows.T, places[place].reshape(-1, out.shape[1]), out=product)
        out += product
    return out
