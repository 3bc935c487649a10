"""The three products in register tiles; see :mod:`...window_products.programs`."""

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.tiles.machine import vector_unit
from daskdl.kernels.tiles.native import native
from daskdl.kernels.tiles.nest import Program
from daskdl.kernels.window import Window
from daskdl.kernels.window_products import programs
from daskdl.kernels.window_products.geometry import Geometry
from daskdl.kernels.window_products.programs import WHERE

# NumPy takes microseconds to spell the name of a type.
_NAMES = {4: "float32", 8: "float64"}

# Weights up to this size stay in a level-2 cache from image to image.
_NEAR_BYTES = 2**20


def windows_to_places(
    x: FloatArray,
    matrix: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    out: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.window_products.windows_to_places` says."""
    geometry = _geometry(window, matrix)
    room = _room(workspace, geometry.room_size, x)
    for first, columns in _blocks(matrix):
        program = programs.windows_to_places(
            geometry, columns, has_bias=bias is not None
        )
        block = matrix
        if columns < geometry.n_place:
            block = _packed(matrix[:, first : first + columns], workspace)
        addresses = _addresses(x, block, out, bias, room)
        _run(program, len(x), addresses, first * x.itemsize, (WHERE.places, WHERE.bias))
    return out


def places_to_windows(
    places: FloatArray,
    matrix: FloatArray,
    window: Window,
    workspace: Workspace,
    out: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.window_products.places_to_windows` says."""
    geometry = _geometry(window, matrix)
    cells = matrix.reshape(*geometry.kernel, geometry.n_under, geometry.n_place)
    if not programs.turns_kernel(geometry):
        # A line of the kernel and the channels under it behind the channels of a place.
        in_front = -2 if window.axes[-1].dilation != 1 else -3
        packed = _packed(np.moveaxis(cells, -1, in_front), workspace)
        room = _room(workspace, geometry.room_size, places)
        addresses = _addresses(out, packed, places, None, room)
        _run(programs.places_to_windows(geometry), len(places), addresses)
        return out
    turned = np.flip(cells, axis=tuple(range(len(geometry.kernel)))).swapaxes(-1, -2)
    room = _room(workspace, programs.turned_room(geometry), places)
    for first, columns in _blocks(turned):
        program = programs.turned_to_windows(geometry, columns)
        block = _packed(turned[..., first : first + columns], workspace)
        addresses = _addresses(out, block, places, None, room)
        _run(program, len(places), addresses, first * out.itemsize, (WHERE.under,))
    return out


def windows_by_places(
    x: FloatArray,
    places: FloatArray,
    window: Window,
    workspace: Workspace,
    out: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.window_products.windows_by_places` says."""
    geometry = _geometry(window, out)
    room = _room(workspace, geometry.room_size, x)
    out.fill(0)
    for first, columns in _blocks(out):
        program = programs.windows_by_places(geometry, columns)
        addresses = _addresses(x, out, places, None, room)
        _run(
            program, len(x), addresses, first * x.itemsize, (WHERE.matrix, WHERE.places)
        )
    return out


def _geometry(window: Window, matrix: FloatArray) -> Geometry:
    n_under = matrix.shape[0] // window.n_cells
    return Geometry(window, n_under, matrix.shape[1], _NAMES[matrix.itemsize])


def _packed(source: FloatArray, workspace: Workspace) -> FloatArray:
    """Return a contiguous copy, which is good until the next one."""
    packed: FloatArray = workspace.take("windows.packed", source.shape, source.dtype)
    np.copyto(packed, source)
    return packed


def _room(workspace: Workspace, size: int, like: FloatArray) -> FloatArray | None:
    """Return zeroed scratch for one image with its borders."""
    if not size:
        return None
    room: FloatArray = workspace.take("windows.room", (size,), like.dtype)
    room.fill(0)
    return room


def _blocks(matrix: FloatArray) -> list[tuple[int, int]]:
    """Cut the columns of weights so that a block stays near for a whole batch.

    Returns first column and number of columns of each block.
    """
    n_columns = matrix.shape[-1]
    n_rows = matrix.size // n_columns
    if matrix.nbytes <= _NEAR_BYTES:
        return [(0, n_columns)]
    lanes = vector_unit().lanes(matrix.dtype)
    most = _NEAR_BYTES // 2 // (n_rows * matrix.itemsize) // lanes * lanes
    step = max(most, lanes)
    return [
        (first, min(step, n_columns - first)) for first in range(0, n_columns, step)
    ]


def _addresses(*arrays: FloatArray | None) -> list[int]:
    return [0 if array is None else array.ctypes.data for array in arrays]


def _run(
    program: Program,
    n: int,
    addresses: list[int],
    shift: int = 0,
    shifted: tuple[int, ...] = (),
) -> None:
    """Call a program for n examples, some of its arguments `shift` bytes further on."""
    for number in shifted:
        addresses[number] += shift
    native(program)(*addresses, n)
