"""The three products in register tiles; see :mod:`...window_products.programs`."""

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.tiles.machine import vector_unit
from daskdl.kernels.tiles.native import native
from daskdl.kernels.tiles.nest import Program
from daskdl.kernels.tiles.usable import addresses_of
from daskdl.kernels.window import Window
from daskdl.kernels.window_products import programs
from daskdl.kernels.window_products.arrays import (
    NEAR_BYTES,
    contiguous,
    geometry_of,
    join_columns,
    packing_order,
    room_for_weights,
    rooms_for_places,
    zeroed_room,
)
from daskdl.kernels.window_products.programs import WHERE


def windows_to_places(
    x: FloatArray,
    matrix: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    rectifies: bool,
    out: FloatArray,
) -> None:
    """Overwrite `out` with the products of every window."""
    geometry = geometry_of(window, matrix)
    room = zeroed_room(workspace, geometry.room_size, x)
    blocks = _blocks(matrix)
    apart: tuple[FloatArray | None, ...] = (None, None)
    if len(blocks) == 1:
        apart = rooms_for_places(geometry, workspace, x)
    for first, columns in blocks:
        program = programs.windows_to_places(
            geometry, columns, has_bias=bias is not None, rectifies=rectifies
        )
        block = matrix
        if columns < geometry.n_place:
            block = contiguous(matrix[:, first : first + columns], workspace)
        addresses = addresses_of(x, block, out, bias, room, *apart)
        _run(program, len(x), addresses, first * x.itemsize, (WHERE.places, WHERE.bias))


def places_to_windows(
    places: FloatArray,
    matrix: FloatArray,
    window: Window,
    workspace: Workspace,
    out: FloatArray,
) -> None:
    """Overwrite `out` with the sums of the windows."""
    geometry = geometry_of(window, matrix)
    turned = packing_order(geometry, matrix)
    if not programs.turns_kernel(geometry):
        packed = contiguous(turned, workspace)
        room = zeroed_room(workspace, geometry.room_size, places)
        addresses = addresses_of(out, packed, places, None, room, None, None)
        _run(programs.places_to_windows(geometry), len(places), addresses)
        return
    room = zeroed_room(workspace, programs.turned_room(geometry), places)
    for first, columns in _blocks(turned):
        program = programs.turned_to_windows(geometry, columns)
        block = contiguous(turned[..., first : first + columns], workspace)
        addresses = addresses_of(out, block, places, None, room, None, None)
        _run(program, len(places), addresses, first * out.itemsize, (WHERE.under,))


def windows_by_places(
    x: FloatArray,
    places: FloatArray,
    window: Window,
    workspace: Workspace,
    out: FloatArray,
) -> None:
    """Overwrite `out` with the sums over all places."""
    geometry = geometry_of(window, out)
    room = zeroed_room(workspace, geometry.room_size, x)
    out.fill(0)
    blocks = _blocks(out)
    apart = room_for_weights(geometry, workspace, x) if len(blocks) == 1 else None
    for first, columns in blocks:
        program = programs.windows_by_places(geometry, columns)
        addresses = addresses_of(x, out, places, None, room, None, apart)
        _run(
            program, len(x), addresses, first * x.itemsize, (WHERE.matrix, WHERE.places)
        )
    join_columns(out, apart)


def _blocks(matrix: FloatArray) -> list[tuple[int, int]]:
    """Cut the columns of weights so that a block stays near for a whole batch.

    Returns first column and number of columns of each block.
    """
    n_columns = matrix.shape[-1]
    n_rows = matrix.size // n_columns
    if matrix.nbytes <= NEAR_BYTES:
        return [(0, n_columns)]
    lanes = vector_unit().lanes(matrix.dtype)
    most = NEAR_BYTES // 2 // (n_rows * matrix.itemsize) // lanes * lanes
    step = max(most, lanes)
    return [
        (first, min(step, n_columns - first)) for first in range(0, n_columns, step)
    ]


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
