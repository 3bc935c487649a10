"""Depthwise convolution in register tiles; see :mod:`...depthwise.programs`."""

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.depthwise import programs
from daskdl.kernels.depthwise.geometry import Geometry
from daskdl.kernels.depthwise.programs import Pass
from daskdl.kernels.sums import sum_over_places
from daskdl.kernels.tiles.native import native
from daskdl.kernels.window import Window


def depthwise_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    out: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.depthwise.depthwise_forward` says."""
    does = programs.forward(_geometry(window, weight), has_bias=bias is not None)
    rows = _repeated(weight.reshape(-1, out.shape[-1]), does, workspace, "weight")
    shift = None if bias is None else _repeated(bias[None], does, workspace, "bias")
    _run(does, x, rows, out, shift, workspace)
    return out


def depthwise_backward(
    grad_out: FloatArray,
    x: FloatArray,
    weight: FloatArray,
    window: Window,
    workspace: Workspace,
    grad_weight: FloatArray,
    grad_bias: FloatArray | None,
    grad_x: FloatArray | None,
) -> FloatArray | None:
    """Compute what :func:`daskdl.kernels.depthwise.depthwise_backward` says."""
    geometry = _geometry(window, weight)
    _grad_weight(grad_out, x, geometry, workspace, grad_weight)
    if grad_bias is not None:
        sum_over_places(grad_out, workspace, out=grad_bias)
    if grad_x is not None:
        does = programs.of_input(geometry)
        cells = weight.reshape(-1, *weight.shape[-2:]).swapaxes(1, 2)
        rows = _repeated(cells, does, workspace, "weight")
        _run(does, grad_x, rows, grad_out, None, workspace)
    return grad_x


def _grad_weight(
    grad_out: FloatArray,
    x: FloatArray,
    geometry: Geometry,
    workspace: Workspace,
    grad_weight: FloatArray,
) -> None:
    """Sum up in the gradient itself, or in rows of several places and join these."""
    does = programs.of_weights(geometry)
    sums = grad_weight
    if does.repeats > 1:
        shape = (geometry.window.n_cells, does.repeats, geometry.n_out)
        sums = workspace.take("depthwise.sums", shape, x.dtype)
    sums.fill(0)
    _run(does, x, sums, grad_out, None, workspace)
    if does.repeats > 1:
        sums.sum(axis=1, out=grad_weight.reshape(-1, geometry.n_out))


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
    does: Pass,
    images: FloatArray,
    rows: FloatArray,
    places: FloatArray,
    bias: FloatArray | None,
    workspace: Workspace,
) -> None:
    """Call a program; its arguments are in the order of those of :class:`.Pass`."""
    arrays = [images, rows, places, bias]
    addresses = [0 if array is None else array.ctypes.data for array in arrays]
    room = workspace.take("depthwise.room", (does.room_size,), places.dtype)
    room.fill(0)
    native(does.program)(*addresses, room.ctypes.data, len(images))
