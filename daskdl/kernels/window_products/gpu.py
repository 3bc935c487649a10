"""The products of windows and weights on a CUDA device, by cuDNN or cuBLAS.

Windows of single cells are rows, copied where some are left out: cuBLAS takes them.
All others are cuDNN's, whose weights lie in another order and whose padding is the same
on both sides; where that of a window is not, it gets a copy with zeros around it.
"""

from typing import Any

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.cuda import blas, dnn
from daskdl.kernels.cuda.elementwise import add_bias
from daskdl.kernels.cuda.libraries import is_here
from daskdl.kernels.cuda.transposing import transpose
from daskdl.kernels.dispatch import are_rows_on_device
from daskdl.kernels.window import Window, WindowAxis

# Of series and images; cuDNN has its doubles in another layout.
_MOST_AXES = 2


def takes(window: Window, *arrays: FloatArray) -> bool:
    """Return whether the products of these arrays are made here."""
    if not are_rows_on_device(*arrays) or not all(axis.out for axis in window.axes):
        return False
    if _are_rows(window):
        return is_here("cublas")
    is_known = arrays[0].dtype == np.float32 and len(window.axes) <= _MOST_AXES
    return is_known and all(array.size for array in arrays) and is_here("cudnn")


def windows_to_outputs(
    x: FloatArray,
    matrix: FloatArray,
    bias: FloatArray | None,
    window: Window,
    rectifies: bool,
    out: FloatArray,
) -> None:
    """Multiply windows by weights; see the package."""
    if _are_rows(window):
        blas.multiply(_rows(_cells(x, window)), matrix, out=_rows(out))
    else:
        plan, opened = _plan(window, x, out.shape[-1]), _opened(x, window)
        plan.forward(opened, _turned(matrix), out)
    add_bias(out, bias, rectifies=rectifies)


def outputs_to_windows(
    y: FloatArray, matrix: FloatArray, window: Window, out: FloatArray
) -> None:
    """Multiply outputs by weights, and sum the windows; see the package."""
    if _are_rows(window):
        cells = _cells(out, window, copies=False)
        if cells.flags.c_contiguous:
            blas.multiply(_rows(y), matrix.T, out=_rows(out))
            return
        products = array_namespace(y).empty(cells.shape, out.dtype)
        blas.multiply(_rows(y), matrix.T, out=_rows(products))
        out.fill(0)
        cells[...] = products
        return
    plan = _plan(window, out, y.shape[-1])
    if not _is_opened(window):
        plan.backward_data(y, _turned(matrix), out)
        return
    around = array_namespace(out).empty(_opened_shape(out, window), out.dtype)
    plan.backward_data(y, _turned(matrix), around)
    out[...] = around[_inside(window)]


def windows_by_outputs(
    x: FloatArray, y: FloatArray, window: Window, out: FloatArray
) -> None:
    """Sum the products of windows and outputs; see the package."""
    if _are_rows(window):
        blas.multiply(_rows(_cells(x, window)).T, _rows(y), out=out)
        return
    n_out = y.shape[-1]
    turned = array_namespace(x).empty((n_out, out.shape[0]), out.dtype)
    plan = _plan(window, x, n_out)
    plan.backward_weight(_opened(x, window), y, turned)
    transpose(turned, out=out)


def _rows(x: FloatArray) -> FloatArray:
    return x.reshape(-1, x.shape[-1])


def _are_rows(window: Window) -> bool:
    """Return whether windows are single cells, without padding."""
    return all(axis.kernel == 1 and not axis.is_padded for axis in window.axes)


def _cells(x: FloatArray, window: Window, *, copies: bool = True) -> FloatArray:
    """Return the cells of `x` that are windows, as they lie or in one piece."""
    inner = (
        slice(0, (axis.out - 1) * axis.stride + 1, axis.stride) for axis in window.axes
    )
    every_window = (slice(None), *inner)
    cells = x[every_window]
    if not copies:
        return cells
    whole: FloatArray = array_namespace(x).ascontiguousarray(cells)
    return whole


def _turned(matrix: FloatArray) -> Any:
    """Return weights in cuDNN's order: outputs first."""
    turned = array_namespace(matrix).empty(matrix.shape[::-1], matrix.dtype)
    return transpose(matrix, out=turned)


def _plan(window: Window, x: FloatArray, n_out: int) -> dnn.Convolution:
    axes = _two(window)
    is_opened = _is_opened(window)
    batch, channels = x.shape[0], x.shape[-1]
    sizes = [_opened_size(axis) if is_opened else axis.size for axis in axes]
    geometry = dnn.Geometry(
        x=(batch, *sizes, channels),
        out=(batch, *(axis.out for axis in axes), n_out),
        kernel=_pair(axis.kernel for axis in axes),
        padding=_pair(0 if is_opened else axis.before for axis in axes),
        stride=_pair(axis.stride for axis in axes),
        dilation=_pair(axis.dilation for axis in axes),
    )
    return dnn.convolution(array_namespace(x), geometry)


def _pair(numbers: Any) -> tuple[int, int]:
    first, second = numbers
    return first, second


def _two(window: Window) -> tuple[WindowAxis, ...]:
    """Return height and width; a series is an image of one line."""
    line = WindowAxis(size=1, kernel=1, stride=1, dilation=1, before=0, out=1)
    return (line,) * (_MOST_AXES - len(window.axes)) + window.axes


def _is_opened(window: Window) -> bool:
    """Return whether the padding is not the same on both sides."""
    return any(_windows_of(axis) != axis.out for axis in window.axes)


def _windows_of(axis: WindowAxis) -> int:
    """Return how many windows there are with as much padding behind as in front."""
    reach = (axis.kernel - 1) * axis.dilation + 1
    return (axis.size + 2 * axis.before - reach) // axis.stride + 1


def _opened_size(axis: WindowAxis) -> int:
    return max(axis.span, axis.before + axis.size)


def _opened_shape(x: FloatArray, window: Window) -> tuple[int, ...]:
    return (x.shape[0], *map(_opened_size, window.axes), x.shape[-1])


def _opened(x: FloatArray, window: Window) -> Any:
    """Return `x`, or a copy with zeros around it where windows need them."""
    if not _is_opened(window):
        return x
    around = array_namespace(x).zeros(_opened_shape(x, window), x.dtype)
    around[_inside(window)] = x
    return around


def _inside(window: Window) -> tuple[slice, ...]:
    inner = (slice(axis.before, axis.before + axis.size) for axis in window.axes)
    return (slice(None), *inner)
