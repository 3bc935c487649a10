"""From arrays to what the programs take: geometry, packed weights, room, addresses."""

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.window import Window
from daskdl.kernels.window_products.geometry import Geometry
from daskdl.kernels.window_products.programs import turns_kernel

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

    That is (turned kernel cells, n_place, n_under) where the kernel is turned, else
    (kernel lines, n_place, cells of a line, n_under).
    """
    cells = matrix.reshape(*geometry.kernel, geometry.n_under, geometry.n_place)
    if turns_kernel(geometry):
        every_axis = tuple(range(len(geometry.kernel)))
        turned: FloatArray = np.flip(cells, axis=every_axis).swapaxes(-1, -2)
        return turned
    is_dilated = geometry.window.axes[-1].dilation != 1
    return np.moveaxis(cells, -1, -2 if is_dilated else -3)


def contiguous(source: FloatArray, workspace: Workspace) -> FloatArray:
    """Return a contiguous copy, which is good until the next one."""
    packed: FloatArray = workspace.take("windows.packed", source.shape, source.dtype)
    np.copyto(packed, source)
    return packed


def zeroed_room(
    workspace: Workspace, size: int, like: FloatArray, name: str = "under"
) -> FloatArray | None:
    """Return zeroed scratch of one image; None where `size` is 0."""
    if not size:
        return None
    room: FloatArray = workspace.take(("windows.room", name), (size,), like.dtype)
    room.fill(0)
    return room


def addresses_of(*arrays: FloatArray | None) -> list[int]:
    """Return where arrays begin in memory; 0 for those that are not there."""
    return [0 if array is None else array.ctypes.data for array in arrays]
