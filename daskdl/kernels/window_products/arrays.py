"""From arrays to what the programs take: geometry, packed weights, room."""

import math

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.window import Window
from daskdl.kernels.window_products import apart
from daskdl.kernels.window_products.geometry import Geometry
from daskdl.kernels.window_products.programs import (
    channels_apart,
    columns_apart,
    turns_kernel,
)

# Weights up to this size stay in a level-2 cache from image to image.
NEAR_BYTES = 2**20

# NumPy takes microseconds to spell the name of a type.
_NAMES = {4: "float32", 8: "float64"}


def geometry_of(window: Window, matrix: FloatArray) -> Geometry:
    """Return the geometry of weights of shape (window.n_cells * n_under, n_place)."""
    n_under = matrix.shape[0] // window.n_cells
    return Geometry(window, n_under, matrix.shape[1], _NAMES[matrix.itemsize])


def packing_order(geometry: Geometry, matrix: FloatArray) -> FloatArray:
    """Return a view of the weights in the order in which places go to windows.

    Parameters
    ----------
    geometry : Geometry
        Of the products.
    matrix : ndarray of shape (window.n_cells * n_under, n_place)
        The weights.

    Returns
    -------
    ndarray of shape (*kernel, n_place, n_under) or (*lines, n_place, cells, n_under)
        The former with the kernel turned where that is the way, and as it is where the
        last axis is dilated; else `lines` are its axes without the last, `cells`.
    """
    cells = matrix.reshape(*geometry.window.kernel, geometry.n_under, geometry.n_place)
    if turns_kernel(geometry):
        every_axis = tuple(range(len(geometry.window.kernel)))
        turned: FloatArray = np.flip(cells, axis=every_axis).swapaxes(-1, -2)
        return turned
    is_dilated = geometry.window.axes[-1].dilation != 1
    return np.moveaxis(cells, -1, -2 if is_dilated else -3)


def contiguous(source: FloatArray, workspace: Workspace) -> FloatArray:
    """Return a C-contiguous copy of an array of any shape, good until the next one."""
    packed: FloatArray = workspace.take("windows.packed", source.shape, source.dtype)
    np.copyto(packed, source)
    return packed


def zeroed_room(
    workspace: Workspace, size: int, like: FloatArray, name: str = "under"
) -> FloatArray | None:
    """Return zeroed scratch of one image, shape (size,); None where `size` is 0."""
    if not size:
        return None
    room: FloatArray = workspace.take(("windows.room", name), (size,), like.dtype)
    room.fill(0)
    return room


def rooms_for_places(
    geometry: Geometry, workspace: Workspace, like: FloatArray
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return planes and results for the channels of places that are made apart.

    They are of shape (planes_size,) and (channels * length,), see :mod:`.apart`. None
    and None where no channel is.
    """
    rest = channels_apart(geometry)
    if not rest:
        return None, None
    size = apart.planes_size(geometry)
    planes = workspace.take(("windows.room", "planes"), (size,), like.dtype)
    # One of them stays as it is; the others are overwritten by every image.
    planes.fill(1)
    return planes, _results(workspace, rest * apart.length(geometry), like)


def room_for_weights(
    geometry: Geometry, workspace: Workspace, like: FloatArray
) -> FloatArray | None:
    """Return zeros for the columns of the weights that are made apart.

    An array of shape (columns, window.n_cells * n_under), or None where no column is.
    """
    rest = columns_apart(geometry)
    n_rows = math.prod(geometry.window.kernel) * geometry.n_under
    if not rest:
        return None
    results = _results(workspace, rest * n_rows, like).reshape(rest, n_rows)
    results.fill(0)
    return results


def _results(workspace: Workspace, size: int, like: FloatArray) -> FloatArray:
    results: FloatArray = workspace.take(("windows.room", "apart"), (size,), like.dtype)
    return results


def join_columns(matrix: FloatArray, columns: FloatArray | None) -> None:
    """Write the columns that :func:`room_for_weights` lent behind the others.

    They become the last columns of `matrix`, which is of shape (window.n_cells *
    n_under, n_place). None writes nothing.
    """
    if columns is not None:
        np.copyto(matrix[:, -len(columns) :], columns.T)
