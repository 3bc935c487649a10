"""The pair in register tiles; see :mod:`daskdl.kernels.pooled_conv.programs`."""

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.pooled_conv import programs
from daskdl.kernels.pooled_conv.programs import Pooled
from daskdl.kernels.pooled_conv.windows import PooledWindows
from daskdl.kernels.tiles.native import native
from daskdl.kernels.tiles.usable import addresses_of, tiles_take
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
from daskdl.kernels.window_products.programs import flipped_scratch_size, flips_kernel


def takes(x: FloatArray, weight: FloatArray, *others: FloatArray) -> bool:
    """Return whether the functions here work on these arrays, of any shape.

    They must be as :func:`.tiles_take` wants them, and the weights stay in a cache.
    """
    return tiles_take(x, weight, *others) and weight.nbytes <= NEAR_BYTES


def forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    windows: PooledWindows,
    workspace: Workspace,
    out: FloatArray,
    winner: FloatArray,
) -> None:
    """Overwrite maxima and winners."""
    pooled = _pooled(weight, windows)
    geometry = pooled.geometry
    convolved = zeroed_scratch(workspace, geometry.output_size, x, "convolved")
    padded = zeroed_scratch(workspace, geometry.padded_size, x)
    program = programs.forward(pooled, has_bias=bias is not None)
    remainder = scratch_for_outputs(geometry, workspace, x)
    arrays = (x, weight, convolved, bias, padded, out, winner)
    nothing = (None,) * (programs.N_ARGUMENTS - len(arrays) - len(remainder))
    native(program)(*addresses_of(*arrays, *nothing, *remainder), len(x))


def backward(
    grad_out: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    windows: PooledWindows,
    workspace: Workspace,
    output: FloatArray,
    winner: FloatArray,
    grad_weight: FloatArray,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
) -> None:
    """Overwrite the gradients; that in the input is computed if asked for."""
    pooled = _pooled(weight, windows)
    geometry = pooled.geometry
    program = programs.backward(
        pooled, has_bias=grad_bias is not None, needs_grad_x=grad_x is not None
    )
    # What no pooling window covers stays 0 here.
    convolved = zeroed_scratch(workspace, geometry.output_size, x, "convolved")
    padded = zeroed_scratch(workspace, geometry.padded_size, x)
    packed = grad_padded = None
    matrix = weight.reshape(-1, geometry.n_out)
    if grad_x is not None:
        size = geometry.padded_size
        if flips_kernel(geometry):
            size = flipped_scratch_size(geometry)
        grad_padded = zeroed_scratch(workspace, size, x, "grad_padded")
        packed = contiguous(packing_order(geometry, matrix), workspace)
    grad_weight.fill(0)
    if grad_bias is not None:
        grad_bias.fill(0)
    one = workspace.take("pooled_conv.one", (1,), x.dtype)
    one.fill(1)
    arrays = (
        x,
        grad_weight,
        convolved,
        grad_bias,
        padded,
        output,
        winner,
        grad_out,
        one,
    )
    remainder = scratch_for_weights(geometry, workspace, x)
    addresses = addresses_of(*arrays, packed, grad_x, grad_padded, None, remainder)
    native(program)(*addresses, len(x))
    join_columns(grad_weight.reshape(matrix.shape), remainder)


def _pooled(weight: FloatArray, windows: PooledWindows) -> Pooled:
    matrix = weight.reshape(-1, weight.shape[-1])
    height, width = windows.pool.axes
    cells = (height.kernel, width.kernel)
    return Pooled(geometry_of(windows.window, matrix), cells, windows.rectifies)
