"""Installed versions of daskdl and the packages that it uses."""

import importlib.metadata
import platform

__all__ = ["version_of", "versions_here"]

_SHOWN = ("daskdl", "dask", "distributed", "numpy", "numba", "pyarrow")


def version_of(package: str) -> str | None:
    """Return the version of an installed distribution; None if there is none."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def versions_here() -> dict[str, str]:
    """Return the versions that matter for a result."""
    found = {package: version_of(package) for package in _SHOWN}
    return {
        "python": platform.python_version(),
        **{package: version for package, version in found.items() if version},
    }
