"""Depthwise convolution in register tiles; see :mod:`...depthwise.programs`."""

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.depthwise import programs
from daskdl.kernels.depthwise.geometry import Geometry
from daskdl.kernels.depthwise.programs import Pass
from daskdl.kernels.tiles.native import native
from daskdl.kernels.tiles.usable import addresses_of
from daskdl.kernels.window import Window

# Bytes of a line of the cache.
_LINE = 64


def depthwise_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    out: FloatArray,
) -> None:
    """Overwrite `out` with all channels."""
    does = programs.forward(_geometry(window, weight), has_bias=bias is not None)
    rows = _repeated(weight.reshape(-1, out.shape[-1]), does, workspace, "weight")
    shift = None if bias is None else _repeated(bias[None], does, workspace, "bias")
    _run(does, workspace, x, rows, shift, out, None, None)


def depthwise_backward(
    grad_out: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    window: Window,
    workspace: Workspace,
    grad_weight: FloatArray,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
) -> None:
    """Overwrite the gradients; those that are None are not computed."""
    geometry = _geometry(window, weight)
    does = programs.backward(
        geometry, has_bias=grad_bias is not None, reaches_input=grad_x is not None
    )
    cells = weight.reshape(-1, *weight.shape[-2:]).swapaxes(1, 2)
    rows = _repeated(cells, does, workspace, "weight")
    shape = (window.n_cells + 1, does.sums, geometry.n_out)
    sums = workspace.take("depthwise.sums", shape, x.dtype)
    sums.fill(0)
    _run(does, workspace, x, rows, None, grad_out, grad_x, sums)
    np.sum(sums[:-1], axis=1, out=grad_weight.reshape(-1, geometry.n_out))
    if grad_bias is not None:
        np.sum(sums[-1], axis=0, out=grad_bias)


def _geometry(window: Window, weight: FloatArray) -> Geometry:
    *_, n_in, multiplier = weight.shape
    return Geometry(window, n_in, multiplier, f"float{8 * weight.itemsize}")


def _repeated(
    rows: FloatArray, does: Pass, workspace: Workspace, name: str
) -> FloatArray:
    """Return rows one copy beside the other, contiguous."""
    if does.repeats == 1 and rows.flags.c_contiguous:
        return rows
    *leading, columns = rows.shape
    shape = (*leading, does.repeats, columns)
    repeated: FloatArray = workspace.take(("depthwise", name), shape, rows.dtype)
    np.copyto(repeated, rows[..., None, :])
    return repeated


def _run(
    does: Pass, workspace: Workspace, images: FloatArray, *others: FloatArray | None
) -> None:
    """Call a program with its arguments; scratch, the last of them, is lent here."""
    dtype = images.dtype
    most = does.scratch_size + _LINE // dtype.itemsize
    scratch = workspace.take("depthwise.scratch", (most,), dtype)
    start = -scratch.ctypes.data % _LINE // dtype.itemsize
    scratch = scratch[start : start + does.scratch_size]
    scratch.fill(0)
    scratch[-1] = 1
    native(does.program)(*addresses_of(images, *others, scratch), len(images))
