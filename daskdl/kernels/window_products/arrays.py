"""From arrays to what the programs take: geometry, packed weights, scratch."""

import math

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.window import Window
from daskdl.kernels.window_products import remainder
from daskdl.kernels.window_products.geometry import Geometry
from daskdl.kernels.window_products.programs import (
    flips_kernel,
    remaining_channels,
    remaining_columns,
)

# Weights up to this size stay in a level-2 cache from image to image.
NEAR_BYTES = 2**20

# NumPy takes microseconds to spell the name of a type.
_NAMES = {4: "float32", 8: "float64"}


def geometry_of(window: Window, matrix: FloatArray) -> Geometry:
    """Return the geometry of weights of shape (window.n_cells * n_in, n_out)."""
    n_in = matrix.shape[0] // window.n_cells
    return Geometry(window, n_in, matrix.shape[1], _NAMES[matrix.itemsize])


def packing_order(geometry: Geometry, matrix: FloatArray) -> FloatArray:
    """Return a view of the weights in the order in which outputs go to windows.

    Parameters
    ----------
    geometry : Geometry
        Of the products.
    matrix : ndarray of shape (window.n_cells * n_in, n_out)
        The weights.

    Returns
    -------
    ndarray of shape (*kernel, n_out, n_in) or (*lines, n_out, cells, n_in)
        The former with the kernel flipped where that is the way, and as it is where the
        last axis is dilated; else `lines` are its axes without the last, `cells`.
    """
    cells = matrix.reshape(*geometry.window.kernel, geometry.n_in, geometry.n_out)
    if flips_kernel(geometry):
        every_axis = tuple(range(len(geometry.window.kernel)))
        flipped: FloatArray = np.flip(cells, axis=every_axis).swapaxes(-1, -2)
        return flipped
    is_dilated = geometry.window.axes[-1].dilation != 1
    return np.moveaxis(cells, -1, -2 if is_dilated else -3)


def contiguous(source: FloatArray, workspace: Workspace) -> FloatArray:
    """Return a C-contiguous copy of an array of any shape, good until the next one."""
    packed: FloatArray = workspace.take("windows.packed", source.shape, source.dtype)
    np.copyto(packed, source)
    return packed


def zeroed_scratch(
    workspace: Workspace, size: int, like: FloatArray, name: str = "image"
) -> FloatArray | None:
    """Return zeroed scratch of one image, shape (size,); None where `size` is 0."""
    if not size:
        return None
    scratch: FloatArray = workspace.take(("windows.scratch", name), (size,), like.dtype)
    scratch.fill(0)
    return scratch


def scratch_for_outputs(
    geometry: Geometry, workspace: Workspace, like: FloatArray
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return planes and results for the last channels of the output.

    They are of shape (planes_size,) and (channels * length,), see :mod:`.remainder`;
    None and None where no channel is.
    """
    rest = remaining_channels(geometry)
    if not rest:
        return None, None
    size = remainder.planes_size(geometry)
    planes = workspace.take(("windows.scratch", "planes"), (size,), like.dtype)
    # One of them stays as it is; the others are overwritten by every image.
    planes.fill(1)
    return planes, _results(workspace, rest * remainder.length(geometry), like)


def scratch_for_weights(
    geometry: Geometry, workspace: Workspace, like: FloatArray
) -> FloatArray | None:
    """Return zeros for the last columns of the weights, see :mod:`.remainder`.

    An array of shape (columns, window.n_cells * n_in), or None where no column is.
    """
    rest = remaining_columns(geometry)
    n_rows = math.prod(geometry.window.kernel) * geometry.n_in
    if not rest:
        return None
    results = _results(workspace, rest * n_rows, like).reshape(rest, n_rows)
    results.fill(0)
    return results


def _results(workspace: Workspace, size: int, like: FloatArray) -> FloatArray:
    results: FloatArray = workspace.take(
        ("windows.scratch", "remainder"), (size,), like.dtype
    )
    return results


def join_columns(matrix: FloatArray, columns: FloatArray | None) -> None:
    """Write the columns that :func:`scratch_for_weights` lent behind the others.

    They become the last columns of `matrix`, which is of shape (window.n_cells *
    n_in, n_out). None writes nothing.
    """
    if columns is not None:
        np.copyto(matrix[:, -len(columns) :], columns.T)
