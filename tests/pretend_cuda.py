"""Devices for Dask-CUDA on a machine that has none.

Dask-CUDA asks NVIDIA's management library, from Python's ``pynvml``, how many devices
there are, how large they are and which cores are near. All of that the process that
starts the workers asks; the workers themselves log that they get no CUDA context.
"""

import os
from types import SimpleNamespace

import pynvml
from dask_cuda import utils

from tests.pretend_cupy import as_module

MEMORY_BYTES = 80 * 2**30


def install(monkeypatch, folder, devices=2):
    """Let this process and those that it spawns find so many devices.

    Parameters
    ----------
    monkeypatch : pytest.MonkeyPatch
    folder : Path
        An empty one.
    devices : int
    """
    as_module(monkeypatch, folder)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    # Dask-CUDA sets it for good.
    monkeypatch.setenv("RAPIDS_NO_INITIALIZE", "True")
    # It remembers the answer.
    monkeypatch.setattr(utils, "get_gpu_count", lambda: devices)
    # Dask's own diagnostics are to find no library, as everywhere else.
    library = SimpleNamespace(
        NVMLError=pynvml.NVMLError,
        NVMLError_NotSupported=pynvml.NVMLError_NotSupported,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByIndex=handle_of(devices),
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(total=MEMORY_BYTES),
        nvmlDeviceGetCpuAffinity=cores_near,
    )
    monkeypatch.setattr(utils, "pynvml", library)


def handle_of(devices):
    def handle(number):
        if number >= devices:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_INVALID_ARGUMENT)
        return number

    return handle


def cores_near(handle, words):
    """Return the cores that we may use, as Dask-CUDA wants them: 64 in a number."""
    ours = sum(1 << core for core in os.sched_getaffinity(0))
    return [(ours >> 64 * word) & (2**64 - 1) for word in range(words)]
