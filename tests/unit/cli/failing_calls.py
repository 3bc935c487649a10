"""File systems of which the n-th call fails, once or from then on."""

import enum
import errno
import os
from dataclasses import dataclass
from typing import Any

from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

METHODS = (
    "cp_file",
    "exists",
    "info",
    "isdir",
    "isfile",
    "ls",
    "makedirs",
    "mv",
    "open",
    "rm",
    "rmdir",
    "touch",
)


class Failure(enum.Enum):
    BREAKS_OFF = "breaks off"  # this call, and the next does what it should
    ANSWER_LOST = "answer lost"  # the call is done, and nobody knows
    DEAD = "dead"  # nothing works any more
    INTERRUPT = "interrupt"  # Ctrl-C
    INTERRUPT_AFTER = "interrupt after"


AFTER = (Failure.ANSWER_LOST, Failure.INTERRUPT_AFTER)


@dataclass
class FailingCalls:
    """Counts the calls of file systems, and lets one fail.

    Calls that a file system makes inside of a call are its own affair.
    """

    failure: Failure | None = None
    at: int = 0
    calls: int = 0
    is_inside: bool = False

    def install(self, monkeypatch: Any) -> None:
        for owner in (LocalFileSystem, MemoryFileSystem):
            for name in METHODS:
                monkeypatch.setattr(owner, name, self._counted(getattr(owner, name)))
        for name in ("replace", "fsync"):
            monkeypatch.setattr(os, name, self._counted(getattr(os, name)))

    def plan(self, failure: Failure | None, at: int) -> None:
        self.failure, self.at, self.calls = failure, at, 0

    @property
    def has_failed(self) -> bool:
        return self.failure is not None and self.calls >= self.at

    def _counted(self, real: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            if self.is_inside:
                return real(*args, **options)
            self.is_inside = True
            try:
                return self._made(real, *args, **options)
            finally:
                self.is_inside = False

        return call

    def _made(self, real: Any, *args: Any, **options: Any) -> Any:
        self.calls += 1
        is_now = self.failure is not None and self.calls == self.at
        if is_now and self.failure in AFTER:
            real(*args, **options)
        if is_now or (self.failure is Failure.DEAD and self.has_failed):
            raise self._error()
        made = real(*args, **options)
        if real.__name__ == "open":
            return Stream(self, made)
        return made

    def _error(self) -> BaseException:
        if self.failure in (Failure.INTERRUPT, Failure.INTERRUPT_AFTER):
            return KeyboardInterrupt()
        if self.failure is Failure.ANSWER_LOST:
            return TimeoutError("no answer")
        return OSError(errno.EIO, "broke off")


class Stream:
    """A file of such a file system."""

    def __init__(self, calls: FailingCalls, inner: Any) -> None:
        self._inner = inner
        self.read = calls._counted(inner.read)
        self.write = calls._counted(inner.write)
        self._close = calls._counted(inner.close)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        if not self._inner.closed:
            try:
                self._close()
            finally:
                self._inner.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
