"""Convolutions by cuDNN, through the interface in C that all of its versions have.

Each shape has a plan: descriptors, and for each of the three products the algorithm
that was the fastest when they were tried.
"""

import ctypes
import functools
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from daskdl.errors import DeviceError
from daskdl.kernels.cuda.libraries import (
    DETERMINISTIC_VARIABLE,
    check,
    is_deterministic,
    library,
    pointer,
    uses_tf32,
)

# Numbers of cudnn.h.
_NHWC, _FLOAT, _CROSS_CORRELATION = 1, 0, 1
_DEFAULT_MATH, _FMA_MATH = 0, 3
# What trials take at most.
_TRIAL_BYTES = 1 << 29
_MOST_ALGORITHMS = 10
_ONE, _ZERO = ctypes.c_float(1), ctypes.c_float(0)


class _Performance(ctypes.Structure):
    """How an algorithm did: ``cudnnConvolutionFwdAlgoPerf_t`` and its two like."""

    _fields_ = (
        ("algorithm", ctypes.c_int),
        ("status", ctypes.c_int),
        ("time_ms", ctypes.c_float),
        ("workspace_bytes", ctypes.c_size_t),
        ("determinism", ctypes.c_int),
        ("math", ctypes.c_int),
        ("reserved", ctypes.c_int * 3),
    )


class Geometry(NamedTuple):
    """A convolution of images with as much padding on both sides.

    Parameters
    ----------
    x, out : tuple of int
        Shapes (batch, height, width, channels).
    kernel, padding, stride, dilation : (int, int)
    """

    x: tuple[int, ...]
    out: tuple[int, ...]
    kernel: tuple[int, int]
    padding: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]


class _Chosen(NamedTuple):
    """An algorithm, and what it needs."""

    algorithm: int
    math: int
    workspace_bytes: int


class _Handle(threading.local):
    """cuDNN of this thread."""

    def __init__(self) -> None:
        self.handle = ctypes.c_void_p()

    def on(self, cudnn: ctypes.CDLL, cupy: Any) -> ctypes.c_void_p:
        """Return a handle that works on the current stream."""
        if not self.handle:
            check(cudnn.cudnnCreate(ctypes.byref(self.handle)), "cudnnCreate")
        stream = ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)
        check(cudnn.cudnnSetStream(self.handle, stream), "cudnnSetStream")
        return self.handle


_handle = _Handle()


class Convolution:
    """The three products of a convolution of one shape, float32 and channels last.

    Weights are of shape (n_out, height, width, n_in), as cuDNN has them. Arrays are
    CuPy's and C-contiguous.

    Parameters
    ----------
    cupy : module
    geometry : Geometry
    """

    def __init__(self, cupy: Any, geometry: Geometry) -> None:
        self._cupy, self._cudnn = cupy, library("cudnn")
        self._geometry = geometry
        self._chosen: dict[str, _Chosen] = {}
        n_in, n_out = geometry.x[3], geometry.out[3]
        self._x = self._tensor(geometry.x)
        self._out = self._tensor(geometry.out)
        self._weight = self._descriptor("Filter")
        self._call(
            "cudnnSetFilter4dDescriptor",
            *(self._weight, _FLOAT, _NHWC, n_out, n_in, *geometry.kernel),
        )
        self._convolution = self._descriptor("Convolution")
        self._call(
            "cudnnSetConvolution2dDescriptor",
            *(self._convolution, *geometry.padding, *geometry.stride),
            *(*geometry.dilation, _CROSS_CORRELATION, _FLOAT),
        )
        self._math = _DEFAULT_MATH if uses_tf32() else _FMA_MATH

    def forward(self, x: Any, weight: Any, out: Any) -> None:
        """Overwrite `out` with the convolution of `x`."""
        given = (self._x, pointer(x), self._weight, pointer(weight))
        self._run("Forward", given, self._out, out)

    def backward_data(self, grad_out: Any, weight: Any, grad_x: Any) -> None:
        """Overwrite `grad_x` with the gradient in what went in."""
        given = (self._weight, pointer(weight), self._out, pointer(grad_out))
        self._run("BackwardData", given, self._x, grad_x)

    def backward_weight(self, x: Any, grad_out: Any, grad_weight: Any) -> None:
        """Overwrite `grad_weight` with the gradient in the weights."""
        given = (self._x, pointer(x), self._out, pointer(grad_out))
        self._run("BackwardFilter", given, self._weight, grad_weight)

    def _run(
        self, product: str, given: Sequence[Any], target: ctypes.c_void_p, out: Any
    ) -> None:
        handle = _handle.on(self._cudnn, self._cupy)
        chosen = self._chosen.get(product)
        if chosen is None:
            chosen = self._try(handle, product, given, target, out)
            self._chosen[product] = chosen
        self._set_math(chosen.math)
        workspace = self._cupy.empty(max(1, chosen.workspace_bytes), np.uint8)
        self._call(
            f"cudnnConvolution{product}",
            *(handle, ctypes.byref(_ONE), *given, self._convolution),
            *(chosen.algorithm, pointer(workspace)),
            *(ctypes.c_size_t(chosen.workspace_bytes), ctypes.byref(_ZERO)),
            *(target, pointer(out)),
        )

    def _try(
        self,
        handle: ctypes.c_void_p,
        product: str,
        given: Sequence[Any],
        target: ctypes.c_void_p,
        out: Any,
    ) -> _Chosen:
        """Return the fastest algorithm, having run all that the device has room for."""
        self._set_math(self._math)
        found, n_found = (_Performance * _MOST_ALGORITHMS)(), ctypes.c_int()
        workspace = _room(self._cupy)
        self._call(
            f"cudnnFindConvolution{product}AlgorithmEx",
            *(handle, *given, self._convolution, target, pointer(out)),
            *(_MOST_ALGORITHMS, ctypes.byref(n_found), found),
            *(pointer(workspace), ctypes.c_size_t(workspace.size)),
        )
        for one in found[: n_found.value]:
            if one.status == 0 and (one.determinism == 1 or not is_deterministic()):
                return _Chosen(one.algorithm, one.math, one.workspace_bytes)
        raise DeviceError(
            f"GPU: cuDNN must have an algorithm for Convolution{product}, got none for "
            f"{self._geometry}. Unset {DETERMINISTIC_VARIABLE}, or free memory."
        )

    def _set_math(self, math: int) -> None:
        self._call("cudnnSetConvolutionMathType", self._convolution, math)

    def _tensor(self, shape: tuple[int, ...]) -> ctypes.c_void_p:
        descriptor = self._descriptor("Tensor")
        n, height, width, channels = shape
        self._call(
            "cudnnSetTensor4dDescriptor",
            *(descriptor, _NHWC, _FLOAT, n, channels, height, width),
        )
        return descriptor

    def _descriptor(self, kind: str) -> ctypes.c_void_p:
        descriptor = ctypes.c_void_p()
        self._call(f"cudnnCreate{kind}Descriptor", ctypes.byref(descriptor))
        return descriptor

    def _call(self, name: str, *arguments: Any) -> None:
        check(getattr(self._cudnn, name)(*arguments), name)


def _room(cupy: Any) -> Any:
    """Return scratch for trials, a part of what is free."""
    free, _ = cupy.cuda.Device().mem_info
    return cupy.empty(min(_TRIAL_BYTES, max(1, free // 4)), np.uint8)


# A plan holds no memory of the device.
@functools.lru_cache(maxsize=1024)
def convolution(cupy: Any, geometry: Geometry) -> Convolution:
    """Return the plan of a shape, the same one each time."""
    return Convolution(cupy, geometry)
