"""The libraries of CUDA, which CuPy's packages bring along, by ctypes."""

import ctypes
import functools
import os
from typing import Any

from daskdl.checks import check_one_of
from daskdl.errors import DeviceError

MATH_VARIABLE = "DASKDL_GPU_MATH"
DETERMINISTIC_VARIABLE = "DASKDL_GPU_DETERMINISTIC"


def library(name: str) -> ctypes.CDLL:
    """Return a library of CUDA by its short name, as ``cudnn``.

    It comes from NVIDIA's package, from a CUDA of the machine, or from Conda.

    Raises
    ------
    DeviceError
        If it is missing.
    """
    found = _found(name)
    if found is None:
        raise DeviceError(f"GPU: lib{name} must be there. Install NVIDIA's package.")
    return found


def is_here(name: str) -> bool:
    """Return whether there is a library; see :func:`library`."""
    return _found(name) is not None


@functools.cache
def _found(name: str) -> ctypes.CDLL | None:
    try:
        from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib
    except ImportError:
        return None
    try:
        return ctypes.CDLL(load_nvidia_dynamic_lib(name).abs_path)
    except (DynamicLibNotFoundError, OSError):
        return None


def uses_tf32() -> bool:
    """Return whether products of float32 may be made with ten bits of mantissa.

    ``DASKDL_GPU_MATH=tf32`` allows it: NVIDIA's TF32, whose sums are float32.

    Raises
    ------
    OptionError
        If the variable has another value than ``fp32`` and ``tf32``.
    """
    given = os.environ.get(MATH_VARIABLE, "fp32")
    check_one_of("environment", MATH_VARIABLE, given, ("fp32", "tf32"))
    return given == "tf32"


def is_deterministic() -> bool:
    """Return whether sums must come out the same, bit for bit, in each run.

    ``DASKDL_GPU_DETERMINISTIC=1`` asks for it.

    Raises
    ------
    OptionError
        If the variable has another value than ``0`` and ``1``.
    """
    given = os.environ.get(DETERMINISTIC_VARIABLE, "0")
    check_one_of("environment", DETERMINISTIC_VARIABLE, given, ("0", "1"))
    return given == "1"


def check(status: int, call: str) -> None:
    """Refuse a status that is not 0.

    Raises
    ------
    DeviceError
        Naming the call.
    """
    if status:
        raise DeviceError(f"GPU: {call} must succeed, got status {status}.")


def pointer(array: Any) -> ctypes.c_void_p:
    """Return where an array of CuPy, of any shape, begins."""
    return ctypes.c_void_p(array.data.ptr)
