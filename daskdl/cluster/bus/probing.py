"""Which daskdl a worker has: asked before anything of daskdl is sent to it.

A task that a worker cannot load breaks its connection to the scheduler in new versions
of Dask, and the worker ends. A call does not.
"""

import importlib.metadata
from collections.abc import Callable

from daskdl.cluster.bus.protocol import PLUGIN_NAME

UNKNOWN = "unknown"


def installed_version() -> str:
    """Return daskdl's version and the bus's protocol."""
    try:
        version = importlib.metadata.version("daskdl")
    except importlib.metadata.PackageNotFoundError:
        version = UNKNOWN  # uploaded as a directory: compare the protocol only
    return f"{version} ({PLUGIN_NAME})"


def travelling_probe() -> Callable[[], str]:
    """Return :func:`installed_version` as code, which loads where daskdl is missing."""

    def probe() -> str:
        try:
            from daskdl.cluster.bus.probing import installed_version
        except ImportError as error:
            return f"not importable: {error}"
        return installed_version()

    return probe
