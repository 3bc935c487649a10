"""Which processes are still there although what began them has ended."""

import contextlib
import time
from collections.abc import Callable, Iterable
from typing import Any

import psutil

_ENDS_WITHIN_S = 60.0


def left_of(pids: Iterable[int]) -> list[Any]:
    """Return the command lines of those of these processes that do not end."""
    numbers = set(pids)
    return _left_after_a_while(lambda process: process.pid in numbers)


def left_with(variable: str, value: str) -> list[Any]:
    """Return the command lines of processes with a variable that do not end."""
    return _left_after_a_while(lambda each: each.environ().get(variable) == value)


def _left_after_a_while(is_meant: Callable[[Any], bool]) -> list[Any]:
    latest_s = time.monotonic() + _ENDS_WITHIN_S
    while (found := _found(is_meant)) and time.monotonic() < latest_s:
        time.sleep(0.2)
    return found


def _found(is_meant: Callable[[Any], bool]) -> list[Any]:
    found = []
    for process in psutil.process_iter():
        # One that ended, or that nobody has asked how it did, is none that is left.
        with contextlib.suppress(psutil.Error):
            if is_meant(process) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.cmdline())
    return found
