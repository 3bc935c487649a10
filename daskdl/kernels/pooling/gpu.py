"""Pooling on a CUDA device: a launch each way, and no sum that waits for another.

Neighbouring threads take neighbouring channels. Backward, each cell of the input looks
for the windows over it, so that nothing is added up by several at a time.
"""

import functools
from typing import Any

from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.cuda.source import THREADS, CudaKernel, blocks_for
from daskdl.kernels.dispatch import are_rows_on_device
from daskdl.kernels.pooling.coverage import Divided
from daskdl.kernels.pooling.gpu_sources import (
    MAX_BACKWARD,
    MAX_FORWARD,
    MEAN_BACKWARD,
    MEAN_FORWARD,
    WINDOWS,
)
from daskdl.kernels.window import Window, WindowAxis

_MARKS = {
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "float32": "float",
    "float64": "double",
}
_DIVIDED: dict[Divided, int] = {"sum": 0, "kernel": 1, "inside": 2}
_MOST = 1 << 31
_WARP = 32
_NO_AXIS = WindowAxis(1, 1, 1, 1, 0, 1)

_MEAN_FORWARD = CudaKernel("mean_pool_forward", WINDOWS + MEAN_FORWARD)
_MEAN_BACKWARD = CudaKernel("mean_pool_backward", WINDOWS + MEAN_BACKWARD)


def takes(
    first: FloatArray,
    other: FloatArray,
    window: Window,
    winner: NDArray[Any] | None = None,
) -> bool:
    """Return whether the functions here take these arrays, of windows on 1 to 3 axes.

    Parameters
    ----------
    first, other : ndarray of shape (batch, *positions, channels)
        Before and behind the pooling.
    window : Window
        Of it.
    winner : ndarray, optional
        Where the winners are kept.
    """
    if not are_rows_on_device(first, other) or len(window.axes) > 3:
        return False
    if winner is not None and not (
        winner.dtype.name in _MARKS
        and winner.flags.c_contiguous
        and array_namespace(winner) is array_namespace(first)
    ):
        return False
    return 0 < first.size < _MOST and 0 < other.size < _MOST


def max_pool_forward(
    x: FloatArray,
    window: Window,
    out: FloatArray,
    winner: NDArray[Any],
    *,
    rectifies: bool = False,
) -> None:
    """Overwrite `out` and `winner` as :func:`..max_pool_forward` says.

    Parameters
    ----------
    x, window, out, winner
        As there. Numbers of cells may be kept as floating-point numbers too.
    rectifies : bool
        Whether the larger of a maximum and 0 is written.
    """
    forward, _ = max_kernels(winner.dtype.name)
    places, lanes = out.size // out.shape[-1], _lanes(out.shape[-1])
    forward(
        blocks_for(places, THREADS // lanes),
        THREADS,
        *(x, places, out.shape[-1], lanes, *_axes(window), rectifies, winner, out),
    )


def max_pool_backward(
    grad_out: FloatArray,
    winner: NDArray[Any],
    window: Window,
    grad_x: FloatArray,
    *,
    rectified: FloatArray | None = None,
) -> None:
    """Overwrite `grad_x` as :func:`..max_pool_backward` says.

    Parameters
    ----------
    grad_out, winner, window, grad_x
        As there.
    rectified : ndarray like grad_out, optional
        The output of a forward pass that rectified: the gradient counts where it is
        above 0.
    """
    _, backward = max_kernels(winner.dtype.name)
    places, lanes = grad_x.size // grad_x.shape[-1], _lanes(grad_x.shape[-1])
    backward(
        blocks_for(places, THREADS // lanes),
        THREADS,
        *(grad_out, places, grad_x.shape[-1], lanes, *_axes(window)),
        *(rectified, winner, grad_x),
    )


def mean_pool_forward(
    x: FloatArray, window: Window, kind: Divided, out: FloatArray
) -> None:
    """Overwrite `out`, of shape (batch, *window.out, channels), with sums or means."""
    places, lanes = out.size // out.shape[-1], _lanes(out.shape[-1])
    _MEAN_FORWARD(
        blocks_for(places, THREADS // lanes),
        THREADS,
        *(x, places, out.shape[-1], lanes, *_axes(window), _DIVIDED[kind], out),
    )


def mean_pool_backward(
    grad_out: FloatArray, window: Window, kind: Divided, grad_x: FloatArray
) -> None:
    """Overwrite `grad_x`, of shape (batch, *axes, channels), with the gradient."""
    places, lanes = grad_x.size // grad_x.shape[-1], _lanes(grad_x.shape[-1])
    _MEAN_BACKWARD(
        blocks_for(places, THREADS // lanes),
        THREADS,
        *(grad_out, places, grad_x.shape[-1], lanes, *_axes(window)),
        *(_DIVIDED[kind], grad_x),
    )


@functools.cache
def max_kernels(mark: str) -> tuple[CudaKernel, CudaKernel]:
    """Return the forward and the backward kernel for a type of winners, by its name."""
    head = f"typedef {_MARKS[mark]} mark;\n{WINDOWS}"
    return (
        CudaKernel("max_pool_forward", head + MAX_FORWARD),
        CudaKernel("max_pool_backward", head + MAX_BACKWARD),
    )


def _lanes(channels: int) -> int:
    """Return how many threads go side by side: over more channels, one by one."""
    return min(_WARP, 1 << (channels - 1).bit_length())


@functools.lru_cache(maxsize=256)
def _axes(window: Window) -> tuple[int, ...]:
    """Return what a kernel with ``AXES_ARGUMENTS`` takes in their place."""
    axes = (_NO_AXIS,) * (3 - len(window.axes)) + window.axes
    given = []
    for axis in axes:
        given += [axis.size, axis.kernel, axis.stride, axis.dilation]
        given += [axis.before, axis.out]
    return tuple(given)
