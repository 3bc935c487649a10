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
    scratch_for_outputs,
    scratch_for_weights,
    zeroed_scratch,
)
from daskdl.kernels.window_products.programs import WHERE


def windows_to_outputs(
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
    padded = zeroed_scratch(workspace, geometry.padded_size, x)
    blocks = _blocks(matrix)
    remainder: tuple[FloatArray | None, ...] = (None, None)
    if len(blocks) == 1:
        remainder = scratch_for_outputs(geometry, workspace, x)
    for first, columns in blocks:
        program = programs.windows_to_outputs(
            geometry, columns, has_bias=bias is not None, rectifies=rectifies
        )
        block = matrix
        if columns < geometry.n_out:
            block = contiguous(matrix[:, first : first + columns], workspace)
        addresses = addresses_of(x, block, out, bias, padded, *remainder)
        _run(program, len(x), addresses, first * x.itemsize, (WHERE.output, WHERE.bias))


def outputs_to_windows(
    y: FloatArray,
    matrix: FloatArray,
    window: Window,
    workspace: Workspace,
    out: FloatArray,
) -> None:
    """Overwrite `out` with the sums of the windows."""
    geometry = geometry_of(window, matrix)
    ordered = packing_order(geometry, matrix)
    if not programs.flips_kernel(geometry):
        packed = contiguous(ordered, workspace)
        padded = zeroed_scratch(workspace, geometry.padded_size, y)
        addresses = addresses_of(out, packed, y, None, padded, None, None)
        _run(programs.outputs_to_windows(geometry), len(y), addresses)
        return
    padded = zeroed_scratch(workspace, programs.flipped_scratch_size(geometry), y)
    for first, columns in _blocks(ordered):
        program = programs.flipped_to_windows(geometry, columns)
        block = contiguous(ordered[..., first : first + columns], workspace)
        addresses = addresses_of(out, block, y, None, padded, None, None)
        _run(program, len(y), addresses, first * out.itemsize, (WHERE.image,))


def windows_by_outputs(
    x: FloatArray,
    y: FloatArray,
    window: Window,
    workspace: Workspace,
    out: FloatArray,
) -> None:
    """Overwrite `out` with the sums over all outputs."""
    geometry = geometry_of(window, out)
    padded = zeroed_scratch(workspace, geometry.padded_size, x)
    out.fill(0)
    blocks = _blocks(out)
    remainder = (
        scratch_for_weights(geometry, workspace, x) if len(blocks) == 1 else None
    )
    for first, columns in blocks:
        program = programs.windows_by_outputs(geometry, columns)
        addresses = addresses_of(x, out, y, None, padded, None, remainder)
        _run(
            program, len(x), addresses, first * x.itemsize, (WHERE.matrix, WHERE.output)
        )
    join_columns(out, remainder)


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
