"""The device of this process: CPU or a CUDA GPU.

A process decides for itself, when it makes a network: clients and schedulers without a
GPU send networks to workers with one, and a cluster may have workers of both kinds.
"""

import os
from types import ModuleType
from typing import Any

import numpy as np

from daskdl.checks import check_one_of
from daskdl.errors import DeviceError, MissingExtraError

PRIORITY_VARIABLE = "DASKDL_BACKEND_PRIORITY_GPU"


def network_namespace() -> ModuleType:
    """Return the library that allocates the vectors of networks.

    ``DASKDL_BACKEND_PRIORITY_GPU=cupy`` puts the networks of a process on its first
    CUDA device; ``none``, the default, leaves them in main memory.

    Returns
    -------
    module
        ``numpy`` or ``cupy``.

    Raises
    ------
    OptionError
        If the variable has another value.
    MissingExtraError
        If CuPy is asked for and cannot be imported.
    DeviceError
        If it is asked for and finds no CUDA device.
    """
    first = os.environ.get(PRIORITY_VARIABLE, "none")
    check_one_of("environment", PRIORITY_VARIABLE, first, ("cupy", "none"))
    if first == "none":
        return np
    cupy = imported_cupy()
    n_devices(cupy)
    return cupy


def imported_cupy() -> ModuleType:
    """Return CuPy.

    Raises
    ------
    MissingExtraError
        If it cannot be imported.
    """
    try:
        import cupy
    except ImportError as error:
        raise MissingExtraError(
            f"GPU: CuPy must be importable, got {error}. Install it with pip install "
            f"'daskdl[gpu-cu13]' (or gpu-cu12), or unset {PRIORITY_VARIABLE}."
        ) from error
    module: ModuleType = cupy
    return module


def n_devices(cupy: Any) -> int:
    """Return the number of CUDA devices that the process sees, at least one.

    Raises
    ------
    DeviceError
        If it sees none.
    """
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except RuntimeError as error:
        raise DeviceError(_no_device(str(error))) from error
    if not count:
        raise DeviceError(_no_device("none is visible"))
    return count


def _no_device(got: str) -> str:
    return (
        f"GPU: a CUDA device must be there, got {got}. Check nvidia-smi and "
        f"CUDA_VISIBLE_DEVICES, or unset {PRIORITY_VARIABLE}."
    )
