"""Limits of a process that several hold at once."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager


class HeldLimit:
    """Keeps numbers down while anyone holds a limit, and puts back what was before.

    The lowest limit that is held counts. For several threads at once.

    Parameters
    ----------
    read : function without arguments
        Returns the numbers.
    write : function of a list of int
        Sets them.
    """

    def __init__(
        self, read: Callable[[], list[int]], write: Callable[[list[int]], object]
    ) -> None:
        self._read, self._write = read, write
        self._lock = threading.Lock()
        self._limits: list[int] = []
        # While a limit is held.
        self._before: list[int] = []
        self._now: list[int] = []

    @property
    def free(self) -> list[int]:
        """The numbers where nobody holds a limit."""
        with self._lock:
            return self._before if self._limits else self._read()

    @contextmanager
    def holding(self, limit: int) -> Generator[None, None, None]:
        """Hold a limit until the end of a ``with`` block."""
        with self._lock:
            if not self._limits:
                self._before = self._now = self._read()
            self._limits.append(limit)
            self._apply()
        try:
            yield
        finally:
            with self._lock:
                self._limits.remove(limit)
                self._apply()

    def _apply(self) -> None:
        wanted = [min([n, *self._limits]) for n in self._before]
        if wanted != self._now:
            self._write(wanted)
            self._now = wanted
