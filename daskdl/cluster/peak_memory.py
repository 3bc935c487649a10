"""The most memory that this process ever held, on every system."""

import sys


def peak_bytes() -> int:
    """Return the largest resident set of this process so far, in bytes."""
    try:
        import resource
    except ImportError:  # Windows, where what Dask brings along knows
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    # Kilobytes everywhere but on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
