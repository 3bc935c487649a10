"""What the compiled kernels of depthwise convolution are given: tables and strips."""

import math

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.depthwise import cpu
from daskdl.kernels.depthwise.halo import Table, halo
from daskdl.kernels.sums import sum_over_places
from daskdl.kernels.window import Window, WindowAxis

# Numbers: entering a loop costs little beside 32 vectors of 8 floats, and the strips of
# all cells of a kernel still fit the first-level cache.
_STRIP = 256


def depthwise_forward(
    x: FloatArray,
    weight: FloatArray,
    bias: FloatArray | None,
    window: Window,
    workspace: Workspace,
    out: FloatArray,
) -> FloatArray:
    """Compute what :func:`daskdl.kernels.depthwise.depthwise_forward` says."""
    strips = _weight_strips(weight, workspace)
    shift = workspace.take("depthwise.bias", strips.shape[1:], out.dtype)
    shift.reshape(-1, out.shape[-1])[...] = 0 if bias is None else bias
    geometry = _geometry(window, weight, workspace)
    cpu.depthwise_forward(_flat(x), *geometry, strips, shift, _in_rows(out))
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
    cells, width = _strips_shape(weight)
    some = workspace.take("depthwise.some", (cells, width), x.dtype)
    total = workspace.take("depthwise.total", (cells, width), np.float64)
    some.fill(0)
    total.fill(0)
    geometry = _geometry(window, weight, workspace)
    cpu.sum_products(_in_rows(grad_out), _flat(x), *geometry, some, total)
    repeats = total.reshape(cells, -1, grad_out.shape[-1])
    repeats.sum(axis=1, out=grad_weight.reshape(cells, -1))
    if grad_bias is not None:
        sum_over_places(grad_out, workspace, out=grad_bias)
    if grad_x is not None:
        _grad_x(grad_out, weight, window, workspace, grad_x)
    return grad_x


def _grad_x(
    grad_out: FloatArray,
    weight: FloatArray,
    window: Window,
    workspace: Workspace,
    grad_x: FloatArray,
) -> None:
    if weight.shape[-1] == 1 and all(map(_can_turn, window.axes)):
        # A convolution of the gradient with the kernel turned around: every number is
        # written once, where to add each cell's part to the others takes twice as long.
        turned = Window(*map(_turned, window.axes))
        around = np.flip(weight, axis=tuple(range(len(window.axes))))
        depthwise_forward(grad_out, around, None, turned, workspace, grad_x)
        return
    strips = _weight_strips(weight, workspace)
    geometry = _geometry(window, weight, workspace)
    cpu.depthwise_backward(_in_rows(grad_out), *geometry, strips, _flat(grad_x))


def _can_turn(axis: WindowAxis) -> bool:
    return axis.stride == 1 and axis.before <= (axis.kernel - 1) * axis.dilation


def _turned(axis: WindowAxis) -> WindowAxis:
    """Return the window over the output that meets what an input's cell went to."""
    before = (axis.kernel - 1) * axis.dilation - axis.before
    return WindowAxis(axis.out, axis.kernel, 1, axis.dilation, before, axis.size)


def _strips_shape(weight: FloatArray) -> tuple[int, int]:
    """Return the cells of a kernel, and the numbers in a strip of whole windows."""
    n_out = weight.shape[-2] * weight.shape[-1]
    return math.prod(weight.shape[:-2]), -(-_STRIP // n_out) * n_out


def _weight_strips(weight: FloatArray, workspace: Workspace) -> FloatArray:
    """Return the weights of each cell of the kernel, repeated: (cells, width)."""
    shape = _strips_shape(weight)
    strips: FloatArray = workspace.take("depthwise.weight", shape, weight.dtype)
    repeats = strips.reshape(*weight.shape[:-2], -1, *weight.shape[-2:])
    repeats[...] = np.expand_dims(weight, -3)
    return strips


def _geometry(
    window: Window, weight: FloatArray, workspace: Workspace
) -> tuple[Table, Table, Table, Table, int, int, FloatArray]:
    """Return the tables of a window, channels and kernels of each, and the scratch.

    That is one image with its halo, and holds zeros.
    """
    n_in, multiplier = weight.shape[-2:]
    lies = halo(window)
    size = lies.n_places * n_in * multiplier
    room: FloatArray = workspace.take("depthwise.room", (size,), weight.dtype)
    room.fill(0)
    tables = lies.rows, lies.stretches, lies.starts, lies.cells
    return *tables, n_in, multiplier, room


def _flat(array: FloatArray) -> FloatArray:
    """Return the array with a row for each example."""
    return array.reshape(len(array), math.prod(array.shape[1:]))


def _in_rows(out: FloatArray) -> FloatArray:
    """Return the output as (batch, rows of windows, windows * channels)."""
    batch, *leading, windows, channels = out.shape
    return out.reshape(batch, math.prod(leading), windows * channels)
