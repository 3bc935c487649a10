"""Numbers of a process that several lower, or give, at once."""

import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager


class HeldLimit:
    """Keeps numbers down while anyone holds a limit, and puts back what was before.

    The lowest limit that is held counts, and of numbers that are given the last one.
    For several threads at once.

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
        self._given: list[int] = []
        # While a limit is held, or a number given.
        self._before: list[int] = []
        self._now: list[int] = []

    @property
    def free(self) -> list[int]:
        """The numbers where nobody holds a limit."""
        with self._lock:
            is_held = self._limits or self._given
            return self._unlimited() if is_held else self._read()

    def holding(self, limit: int) -> AbstractContextManager[None]:
        """Hold a limit until the end of a ``with`` block."""
        return self._adding(self._limits, limit)

    def giving(self, number: int) -> AbstractContextManager[None]:
        """Let all numbers be this one, until the end of a ``with`` block."""
        return self._adding(self._given, number)

    @contextmanager
    def _adding(self, numbers: list[int], number: int) -> Generator[None, None, None]:
        with self._lock:
            if not self._limits and not self._given:
                self._before = self._now = self._read()
            numbers.append(number)
            self._apply()
        try:
            yield
        finally:
            with self._lock:
                numbers.remove(number)
                self._apply()

    def _unlimited(self) -> list[int]:
        return [self._given[-1] for _ in self._before] if self._given else self._before

    def _apply(self) -> None:
        wanted = [min([n, *self._limits]) for n in self._unlimited()]
        if wanted != self._now:
            self._write(wanted)
            self._now = wanted
