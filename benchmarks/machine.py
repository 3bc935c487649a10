"""The machine beside the figures: what it is, and who else uses it.

Read from ``/proc``; where there is none, the figures of others and of memory are NaN.
"""

import math
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PROC = Path("/proc")
# user, nice, system, irq, softirq and steal; not idle and iowait.
_BUSY_COLUMNS = (0, 1, 2, 5, 6, 7)


def busy_s() -> float:
    """Return the seconds of CPU time that the machine has used, all cores together."""
    return sum(_busy_by_core().values()) if _has_proc() else math.nan


def process_s(pid: int) -> float:
    """Return the seconds of CPU time that a process has used, all its threads."""
    if not _has_proc():
        return math.nan
    # The name in parentheses may contain blanks; what follows it does not.
    fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib(pid: int) -> float:
    """Return the largest resident memory that a process has had, in MiB."""
    if not _has_proc():
        return math.nan
    for line in (_PROC / str(pid) / "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return math.nan


def quiet_cores(n_cores: int, watch_s: float = 0.25) -> set[int]:
    """Return the cores that others used least within a moment.

    Parameters
    ----------
    n_cores : int
        How many to return; fewer if this process may not use as many.
    watch_s : float
        How long to look.
    """
    allowed = os.sched_getaffinity(0)
    if not _has_proc():
        return set(sorted(allowed)[:n_cores])
    before = _busy_by_core()
    time.sleep(watch_s)
    after = _busy_by_core()
    used = {core: after[core] - before[core] for core in allowed if core in after}
    return set(sorted(used, key=lambda core: (used[core], -core))[:n_cores])


@contextmanager
def pinned(cores: set[int]) -> Iterator[None]:
    """Let processes that are started inside run on these cores only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def description() -> dict[str, object]:
    """Return what the machine is: model of the CPU, widest vectors, cores, system."""
    model, flags = platform.machine(), set[str]()
    if _has_proc():
        for line in (_PROC / "cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                model = value.strip()
            if name.strip() in ("flags", "Features"):
                flags = set(value.split())
    vectors = [name for name in ("avx512f", "avx2", "asimd") if name in flags]
    return {
        "cpu": model,
        "vectors": vectors[0] if vectors else "",
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
    }


def _has_proc() -> bool:
    return (_PROC / "stat").exists()


def _busy_by_core() -> dict[int, float]:
    busy = {}
    for line in (_PROC / "stat").read_text().splitlines():
        name, *columns = line.split()
        if name.startswith("cpu") and name != "cpu":
            ticks = sum(int(columns[i]) for i in _BUSY_COLUMNS)
            busy[int(name[3:])] = ticks / os.sysconf("SC_CLK_TCK")
    return busy
