"""The device of this process: CPU or a CUDA GPU.

A process decides for itself, when it makes a network: clients and schedulers without a
GPU send networks to workers with one, and a cluster may have workers of both kinds.
The environment has the first word. Where it is silent, main memory is taken, unless
whoever runs the process knows that it was given a device (:func:`prefer_device`).
"""

import os
from types import ModuleType
from typing import Any

import numpy as np

from daskdl.checks import check_one_of
from daskdl.errors import DeviceError, MissingExtraError

PRIORITY_VARIABLE = "DASKDL_BACKEND_PRIORITY_GPU"
_PLACES = ("cupy", "none")

# What the variable means where it is not set.
_unset = "none"


def network_namespace() -> ModuleType:
    """Return the library that allocates the vectors of networks.

    ``DASKDL_BACKEND_PRIORITY_GPU=cupy`` puts the networks of a process on its first
    CUDA device; ``none`` leaves them in main memory. Where the variable is not set they
    stay there, too, unless the process was told to prefer its device.

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
    if (asked_for() or _unset) == "none":
        return np
    cupy = imported_cupy()
    n_devices(cupy)
    return cupy


def asked_for() -> str | None:
    """Return what the environment asks for, ``cupy`` or ``none``; None for nothing.

    Raises
    ------
    OptionError
        If the variable has another value.
    """
    given = os.environ.get(PRIORITY_VARIABLE)
    if given is not None:
        check_one_of("environment", PRIORITY_VARIABLE, given, _PLACES)
    return given


def prefer_device() -> bool:
    """Put networks on the device from now on, unless the environment says otherwise.

    Returns
    -------
    bool
        Whether that changes anything: the variable is not set, and the device was not
        preferred before.
    """
    global _unset
    if asked_for() is not None or _unset == "cupy":
        return False
    _unset = "cupy"
    return True


def imported_cupy(*, instead: str | None = None) -> ModuleType:
    """Return CuPy.

    Parameters
    ----------
    instead : str, optional
        What to do without it, for the message; None tells what the environment can do.

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
            f"'daskdl[gpu-cu13]' (or gpu-cu12), or {instead or _way_out()}."
        ) from error
    module: ModuleType = cupy
    return module


def n_devices(cupy: Any, *, instead: str | None = None) -> int:
    """Return the number of CUDA devices that the process sees, at least one.

    Parameters
    ----------
    cupy : module
    instead : str, optional
        What to do without one, for the message, as above.

    Raises
    ------
    DeviceError
        If it sees none.
    """
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except RuntimeError as error:
        raise DeviceError(_no_device(str(error), instead)) from error
    if not count:
        raise DeviceError(_no_device("none is visible", instead))
    return count


def _no_device(got: str, instead: str | None) -> str:
    return (
        f"GPU: a CUDA device must be there, got {got}. Check nvidia-smi and "
        f"CUDA_VISIBLE_DEVICES, or {instead or _way_out()}."
    )


def _way_out() -> str:
    if PRIORITY_VARIABLE in os.environ:
        return f"unset {PRIORITY_VARIABLE}"
    return f"set {PRIORITY_VARIABLE}=none to compute on the CPU"
