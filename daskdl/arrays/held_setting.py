"""A setting of a process that several hold at once."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class HeldSetting(Generic[T]):
    """Sets something otherwise while anyone holds it, and puts back what was before.

    One for each setting: two that each kept the value they found would restore them in
    the wrong order. For several threads at once.

    Parameters
    ----------
    read : function without arguments
        Returns the value.
    write : function of a value
        Sets it.
    held : function of a value
        Returns what it is to be while somebody holds it, where it was that before.
    """

    def __init__(
        self,
        read: Callable[[], T],
        write: Callable[[T], object],
        held: Callable[[T], T],
    ) -> None:
        self._read, self._write, self._held = read, write, held
        self._lock = threading.Lock()
        self._holders = 0
        self._before: list[T] = []  # one, while there are holders

    def hold(self) -> None:
        """Set it, unless it is held already."""
        with self._lock:
            if not self._holders:
                self._before = [self._read()]
                self._write(self._held(self._before[0]))
            self._holders += 1

    def release(self) -> None:
        """Undo one :meth:`hold`; the last one restores the value from before."""
        with self._lock:
            self._holders -= 1
            if not self._holders:
                self._write(self._before.pop())
