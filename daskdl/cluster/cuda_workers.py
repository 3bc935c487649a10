"""Workers that Dask-CUDA starts on this machine, one for each CUDA device.

What they need is looked for before: Dask-CUDA itself says of a machine without a device
that a library of NVIDIA's was not found.
"""

import importlib
from typing import Any

from dask.utils import parse_bytes

from daskdl.arrays.device import (
    PRIORITY_VARIABLE,
    asked_for,
    imported_cupy,
    n_devices,
)
from daskdl.checks import check_positive
from daskdl.cluster.worker_device import GPU_RESOURCE
from daskdl.errors import DeviceError, MissingExtraError, OptionError

__all__ = [
    "check_cuda_here",
    "check_devices",
    "check_pool_size",
    "cuda_cluster",
    "cuda_worker_config",
]

_WHO = "ClusterOptions"
_INSTEAD = "leave out type 'cuda' to compute on the CPU"
_DOCTOR = "`daskdl doctor --gpu` tells what there is."


def check_devices(devices: str) -> None:
    """Refuse what names no devices, or one twice.

    Raises
    ------
    OptionError
    """
    names = devices.split(",")
    if len(set(names)) < len(names) or not all(map(_is_device, names)):
        raise OptionError(
            f"{_WHO}: cuda_visible_devices must be different numbers or names of "
            f"devices with commas between them, such as '0,1', got {devices!r}."
        )


def _is_device(name: str) -> bool:
    return (name.isascii() and name.isdigit()) or name.startswith(("GPU-", "MIG-"))


def check_pool_size(size: str | float) -> None:
    """Refuse what is neither a size nor a part of a device's memory.

    Raises
    ------
    OptionError
    """
    if not isinstance(size, str):
        check_positive(_WHO, "rmm_pool_size", size)
        return
    try:
        n_bytes: Any = parse_bytes(size)
    except ValueError:
        n_bytes = 0
    if n_bytes <= 0:
        raise OptionError(
            f"{_WHO}: rmm_pool_size must be a size such as '8 GiB', or a part of the "
            f"device's memory such as 0.8, got {size!r}."
        )


def check_cuda_here(
    workers: int | None, devices: str | None, pool_size: str | float | None
) -> None:
    """Refuse to start workers on devices where something they need is missing.

    Parameters
    ----------
    workers : int or None
        How many are to be started, None one for each device.
    devices : str or None
        The devices that they may take, ``"0,1"``; None for all that can be seen.
    pool_size : str, float or None
        Of the memory that RMM is to manage.

    Raises
    ------
    OptionError
        If the environment asks for the CPU, or there are fewer devices than workers.
    MissingExtraError
        If CuPy, Dask-CUDA or, where it is to be used, RMM cannot be imported.
    DeviceError
        If there is no CUDA device.
    """
    if asked_for() == "none":
        raise OptionError(
            f"{_WHO}: type 'cuda' must not meet {PRIORITY_VARIABLE}=none, which "
            f"leaves networks in main memory. Unset it, or {_INSTEAD}."
        )
    try:
        seen = n_devices(imported_cupy(instead=_INSTEAD), instead=_INSTEAD)
    except (MissingExtraError, DeviceError) as error:
        raise type(error)(f"{_WHO}: type 'cuda': {error} {_DOCTOR}") from error
    _needed("dask_cuda", "'daskdl[gpu-cu13]' (or gpu-cu12)", "type 'cuda'")
    if pool_size is not None:
        _needed("rmm", "rmm-cu13 (or rmm-cu12)", "rmm_pool_size")
    most = seen if devices is None else len(devices.split(","))
    if workers is not None and workers > most:
        raise OptionError(
            f"{_WHO}: workers must be at most {most} with type 'cuda', one for each "
            f"device, got {workers}."
        )


def cuda_worker_config() -> dict[str, str]:
    """Return what Dask's configuration is to hold beside that of other workers."""
    # Not what is set before a process is spawned: that stays in our own environment.
    return {f"distributed.nanny.environ.{PRIORITY_VARIABLE}": "cupy"}


def cuda_cluster(
    workers: int | None,
    devices: str | None,
    pool_size: str | float | None,
    **others: Any,
) -> Any:
    """Start Dask-CUDA's local cluster.

    Parameters
    ----------
    workers, devices, pool_size
        As in :func:`check_cuda_here`, which has let them pass.
    **others
        Of a ``LocalCluster``.

    Returns
    -------
    dask_cuda.LocalCUDACluster
        Whose workers offer the resource ``GPU``.

    Raises
    ------
    DeviceError
        If it cannot be started on these devices.
    """
    from dask_cuda import LocalCUDACluster

    try:
        return LocalCUDACluster(
            CUDA_VISIBLE_DEVICES=devices,
            n_workers=workers,
            resources={GPU_RESOURCE: 1},
            # In front of its own, which keeps others in the configuration out.
            preload=["daskdl.cluster.local_worker"],
            **_pool(pool_size),
            **others,
        )
    # The driver, its libraries and the topology of the machine have many ways to fail.
    except Exception as error:
        raise DeviceError(
            f"{_WHO}: Dask-CUDA must start a worker on each of the devices "
            f"{devices or 'that it finds'}, got {error!r}. {_DOCTOR}"
        ) from error


def _pool(size: str | float | None) -> dict[str, Any]:
    """Return the options by which CuPy takes its memory from a pool of RMM's."""
    if size is None:
        return {}
    if not isinstance(size, str):
        # Dask-CUDA tells a part from a number of bytes by the type.
        size = float(size) if size <= 1 else int(size)
    return {"rmm_pool_size": size, "rmm_allocator_external_lib_list": ["cupy"]}


def _needed(module: str, packages: str, what: str) -> None:
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{_WHO}: {what} must be able to import {module}, got {error}. Install it "
            f"with pip install {packages}, or {_INSTEAD}. {_DOCTOR}"
        ) from error
