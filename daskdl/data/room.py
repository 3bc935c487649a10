"""How much of stored data may be in memory: all of them, or windows of them.

While a window is trained the next one is read, and reading makes copies on the way, so
that a window is a small share of the memory that may be used. What a process holds
without any data counts as used, so that the smallest worker has room for what it reads.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["HELD_BYTES", "LEAST_ROOM", "Room", "room_here", "room_of"]

# Control groups, as containers have them: version 2, version 1.
_GROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


@dataclass(frozen=True)
class Room:
    """What a process may hold of stored data, in bytes.

    Parameters
    ----------
    cache_bytes : int
        As much of the data is kept if it is all of them.
    window_bytes : int
        Of more, this is in memory to be shuffled, and as much again is read ahead.
    """

    cache_bytes: int
    window_bytes: int


# What a worker holds beside its data: 300 MiB where it compiles its kernels, and what
# allocators keep.
HELD_BYTES = 320 << 20
# Where nobody says how much memory there is.
LEAST_ROOM = Room(cache_bytes=128 << 20, window_bytes=64 << 20)


def room_of(limits: Iterable[int]) -> Room:
    """Return the room in processes that may hold these bytes each.

    Parameters
    ----------
    limits : iterable of int
        One a process; 0 is no limit, as Dask's workers have it.

    Returns
    -------
    Room
        The same for all, so that the plan fits every process.
    """
    least = min((limit for limit in limits if limit), default=None)
    if least is None:
        return LEAST_ROOM
    # A process may have less than a worker, which has no less than 400 MiB.
    free = max(least - HELD_BYTES, least // 5)
    return Room(cache_bytes=max(1, free // 4), window_bytes=max(1, free // 10))


def room_here() -> Room:
    """Return the room in this process, if it has the machine by itself."""
    # Only where data are stored is it worth the time of its import.
    import psutil

    limits = [psutil.virtual_memory().total, *map(_group_limit, _GROUP_LIMITS)]
    return room_of(limits)


def _group_limit(path: Path) -> int:
    try:
        text = path.read_text().strip()
    except OSError:
        return 0
    return int(text) if text.isdecimal() else 0
