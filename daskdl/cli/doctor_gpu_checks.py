"""The checks of ``daskdl doctor --gpu``: CuPy, Dask-CUDA, devices, arithmetic."""

import importlib
from typing import Any

import numpy as np

from daskdl.arrays.device import imported_cupy, n_devices
from daskdl.arrays.namespace import to_device, to_host
from daskdl.arrays.workspace import Workspace
from daskdl.cli.finding import Finding
from daskdl.cli.versions import version_of
from daskdl.errors import DeviceError, MissingExtraError
from daskdl.kernels.dense import dense_forward

__all__ = ["check_gpu"]

_DISTRIBUTIONS = ("cupy-cuda13x", "cupy-cuda12x", "cupy")
_INSTALL = "pip install 'daskdl[gpu-cu13]' (or gpu-cu12)"
_OLDEST_CUPY = 14
_GIB = 2**30


def check_gpu() -> list[Finding]:
    """Return the findings of a GPU; checks that need a missing package are left out.

    Nearly everything is needed here: who asks wants to train on a GPU.
    """
    try:
        cupy = imported_cupy()
    except MissingExtraError as error:
        return [Finding("CuPy", str(error), is_ok=False, to_do=_INSTALL)]
    found = [_cupy(cupy), _dask_cuda()]
    try:
        count = n_devices(cupy)
    except DeviceError as error:
        to_do = "install NVIDIA's driver; check nvidia-smi and CUDA_VISIBLE_DEVICES"
        return [*found, Finding("CUDA devices", str(error), is_ok=False, to_do=to_do)]
    names = "; ".join(_described(cupy, number) for number in range(count))
    return [*found, Finding("CUDA devices", names), _arithmetic(cupy)]


def _cupy(cupy: Any) -> Finding:
    version = str(cupy.__version__)
    installed = [name for name in _DISTRIBUTIONS if version_of(name)]
    # Two of them write into one folder, and neither works.
    is_alone = len(installed) < 2
    return Finding(
        "CuPy",
        version if is_alone else f"{version}, of {' and '.join(installed)}",
        is_ok=int(version.partition(".")[0]) >= _OLDEST_CUPY and is_alone,
        to_do=_INSTALL
        if is_alone
        else f"pip uninstall {' '.join(installed)}, then {_INSTALL}",
    )


def _dask_cuda() -> Finding:
    """Look for what starts workers on devices; one process does without."""
    try:
        version = importlib.import_module("dask_cuda").__version__
    except ImportError as error:
        found = f"cannot be imported: {error}"
        return Finding("Dask-CUDA", found, is_ok=False, to_do=_INSTALL, is_needed=False)
    return Finding("Dask-CUDA", str(version))


def _described(cupy: Any, number: int) -> str:
    facts = cupy.cuda.runtime.getDeviceProperties(number)
    memory = facts["totalGlobalMem"] / _GIB
    capability = f"{facts['major']}.{facts['minor']}"
    name = facts["name"].decode()
    return f"{number}: {name}, {memory:.0f} GiB, compute capability {capability}"


def _arithmetic(cupy: Any) -> Finding:
    """Multiply on the device, and compile the kernel that adds the bias."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in ((5, 4), (4, 3), (3,))]
    expected = dense_forward(*arrays, out=np.empty((5, 3)))
    out = Workspace(cupy).take("doctor", (5, 3), np.float64)
    like = cupy.empty(0)
    try:
        result = to_host(dense_forward(*(to_device(x, like) for x in arrays), out=out))
    # A library that is missing or too old shows in as many ways as there are of them.
    except Exception as error:  # noqa: BLE001
        return Finding("GPU arithmetic", str(error), is_ok=False, to_do=_INSTALL)
    difference = float(abs(result - expected).max())
    return Finding(
        "GPU arithmetic",
        f"a dense layer differs by {difference:.1e} from the CPU's",
        is_ok=difference < 1e-12,
        to_do="check the driver and the device's health",
    )
