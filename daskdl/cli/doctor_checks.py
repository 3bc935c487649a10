"""The checks of ``daskdl doctor`` of this machine: a function a subject."""

import importlib.metadata
import importlib.util
import math
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Iterator

from packaging.requirements import Requirement

from daskdl.arrays.blas import WIDE_CORES, has_wide_registers
from daskdl.cli.finding import Finding
from daskdl.cli.versions import version_of

__all__ = ["check_here"]

_OLDEST_PYTHON = (3, 10)


def check_here() -> list[Finding]:
    """Return the findings of all checks of this machine."""
    return [
        _python(),
        *_dependencies(),
        *_plugins(),
        _kernel_cache(),
        _blas(),
        _hdfs(),
        _jvm(),
        _gpu(),
    ]


def _python() -> Finding:
    return Finding(
        "python",
        f"{platform.python_version()} at {sys.executable}",
        is_ok=sys.version_info[:2] >= _OLDEST_PYTHON,
        to_do="install Python 3.10 or newer",
    )


def _dependencies() -> Iterator[Finding]:
    """Compare installed packages with those that daskdl requires."""
    for text in importlib.metadata.requires("daskdl") or ():
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        found = version_of(requirement.name)
        wanted = str(requirement.specifier)
        yield Finding(
            requirement.name,
            found or "not installed",
            is_ok=found is not None and requirement.specifier.contains(found),
            to_do=f"pip install '{requirement.name}{wanted}'",
        )


def _plugins() -> Iterator[Finding]:
    """Load every plug-in, since a broken one shows only when it is needed."""
    groups = ("sources", "sinks", "formats", "exports", "class_files")
    for group in (f"daskdl.{name}" for name in groups):
        entry_points = importlib.metadata.entry_points(group=group)
        errors = {entry.name: _error_on_loading(entry) for entry in entry_points}
        broken = [f"{name}: {error}" for name, error in errors.items() if error]
        yield Finding(
            group,
            "; ".join(broken) or ", ".join(sorted(errors)) or "none",
            is_ok=bool(errors) and not broken,
            to_do="pip install --force-reinstall daskdl",
        )


def _error_on_loading(entry_point: importlib.metadata.EntryPoint) -> str:
    try:
        entry_point.load()
    except Exception as error:  # noqa: BLE001 - a plug-in may raise anything
        return str(error)
    return ""


def _kernel_cache() -> Finding:
    from daskdl.kernels.machine_code import cache_directory

    folder = cache_directory()
    return Finding(
        "kernel cache",
        str(folder or "no folder is writable: every process compiles again"),
        is_ok=folder is not None,
        to_do="set NUMBA_CACHE_DIR to a folder that is writable",
        is_needed=False,
    )


def _blas() -> Finding:
    from threadpoolctl import threadpool_info

    # The library is loaded with NumPy; only then can it be asked.
    speed = _gflops()
    found = [info for info in threadpool_info() if info["user_api"] == "blas"]
    cores = [info["architecture"] for info in found if "architecture" in info]
    is_slow = has_wide_registers() and not {*cores} <= WIDE_CORES
    texts = [
        f"{info['internal_api']} {info.get('version') or ''} for "
        f"{info.get('architecture', 'some processor')}, {info['num_threads']} threads "
        f"here, 1 in a worker; {speed:,.0f} Gflop/s"
        for info in found
    ]
    return Finding(
        "BLAS",
        "; ".join(texts) or "none that can be asked",
        is_ok=not is_slow,
        to_do="set OPENBLAS_CORETYPE=SkylakeX before Python starts: this processor has "
        "AVX-512, and the kernels that were chosen do not use it",
        is_needed=False,
    )


def _gflops() -> float:
    """Return the speed of products of single precision, of the fastest of some."""
    import numpy as np

    a = np.ones((512, 512), np.float32)
    best = math.inf
    for _ in range(10):
        begin = time.perf_counter()
        np.dot(a, a)
        best = min(best, time.perf_counter() - begin)
    return 2e-9 * a.size * len(a) / best


def _hdfs() -> Finding:
    version = version_of("hdfs-native")
    conf = os.environ.get("HADOOP_CONF_DIR")
    return Finding(
        "HDFS",
        f"hdfs-native {version}, HADOOP_CONF_DIR {conf or 'not set'}"
        if version
        else "hdfs-native is not installed",
        is_ok=version is not None,
        to_do="pip install 'daskdl[hdfs]'",
        is_needed=False,
    )


def _jvm() -> Finding:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") or (
        shutil.which("java", path=os.path.join(home, "bin")) if home else None
    )
    return Finding(
        "JVM",
        java or "none; only live Spark sessions need one",
        is_ok=java is not None,
        to_do="apt-get install default-jre-headless",
        is_needed=False,
    )


def _gpu() -> Finding:
    names = _nvidia_devices()
    cupy = importlib.util.find_spec("cupy") is not None
    return Finding(
        "GPU",
        f"{', '.join(names) or 'none'}; CuPy {'is' if cupy else 'is not'} installed",
        is_ok=bool(names) and cupy,
        to_do="nothing, unless you have an NVIDIA GPU",
        is_needed=False,
    )


def _nvidia_devices() -> list[str]:
    """Return the device nodes that NVIDIA's driver made."""
    try:
        nodes = os.listdir("/dev")
    except OSError:
        return []
    return sorted(node for node in nodes if re.fullmatch(r"nvidia\d+", node))
