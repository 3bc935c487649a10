"""The three products of windows and weights, of which convolutions consist.

A convolution gathers windows of its input, a deconvolution adds windows to its output;
each one's forward pass is the other one's gradient in the input. Weights are matrices
of shape (kernel cells x channels under the window, channels of a place). NumPy takes
the windows of a block of images as rows, and one matrix product for all of them.
"""

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.columns import gathered, scattered
from daskdl.kernels.tiles.usable import tiles_take
from daskdl.kernels.window import Window
from daskdl.kernels.window_products import cpu


def windows_to_places(
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
    x : ndarray of shape (batch, *axes, n_under)
        Not changed.
    matrix : ndarray of shape (window.n_cells * n_under, n_place), same dtype
        Not changed.
    bias : ndarray of shape (n_place,), same dtype, or None
        Added everywhere.
    window : Window
        Slides over `x`; the padding is zeros.
    workspace : Workspace
        Lends scratch of a bounded size.
    rectifies : bool
        Whether what is below 0 becomes 0; NaN stays.
    out : ndarray of shape (batch, *window.out, n_place), same dtype
        C-contiguous. Overwritten.

    Returns
    -------
    out : ndarray
    """
    arrays = (x, matrix, out) if bias is None else (x, matrix, out, bias)
    if tiles_take(*arrays):
        cpu.windows_to_places(x, matrix, bias, window, workspace, rectifies, out)
        return out
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
    *,
    out: FloatArray,
) -> FloatArray:
    """Multiply places by weights, and sum the windows: a transposed convolution.

    Parameters
    ----------
    places : ndarray of shape (batch, *window.out, n_place)
        C-contiguous. Not changed.
    matrix, window, workspace
        As for :func:`windows_to_places`.
    out : ndarray of shape (batch, *axes, n_under), same dtype
        Overwritten; 0 where no window lies.

    Returns
    -------
    out : ndarray
    """
    if tiles_take(places, matrix, out):
        cpu.places_to_windows(places, matrix, window, workspace, out)
        return out
    xp = array_namespace(places)
    for place, rows in scattered(out, window, workspace):
        xp.matmul(places[place].reshape(-1, matrix.shape[1]), matrix.T, out=rows)
    return out


def windows_by_places(
    x: FloatArray,
    places: FloatArray,
    window: Window,
    workspace: Workspace,
    *,
    out: FloatArray,
) -> FloatArray:
    """Sum the products of windows and places: the gradient of the weights.

    Parameters
    ----------
    x, window, workspace
        As for :func:`windows_to_places`.
    places : ndarray of shape (batch, *window.out, n_place)
        C-contiguous. Not changed.
    out : ndarray of shape (window.n_cells * n_under, n_place), same dtype
        C-contiguous. Overwritten.

    Returns
    -------
    out : ndarray
    """
    if tiles_take(x, places, out):
        cpu.windows_by_places(x, places, window, workspace, out)
        return out
    xp = array_namespace(x)
    product = workspace.take("conv.product", out.shape, out.dtype)
    out.fill(0)
    for place, rows in gathered(x, window, workspace):
        xp.matmul(rows.T, places[place].reshape(-1, out.shape[1]), out=product)
        out += product
    return out
