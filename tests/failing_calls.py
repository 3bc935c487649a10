"""File systems of which the n-th call fails, once or from then on."""

import enum
import errno
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

METHODS = (
    "cp_file",
    "exists",
    "find",
    "glob",
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
# What needs room; a name changes where there is none.
TAKING_SPACE = frozenset({"cp_file", "makedirs", "write", "touch"})
# fsspec answers these with no if the store says nothing.
DOUBTFUL = frozenset({"exists", "isdir", "isfile"})
CHANGING = TAKING_SPACE | {"mv", "replace", "rm", "rmdir"}


class Failure(enum.Enum):
    BREAKS_OFF = "breaks off"  # this call, and the next does what it should
    HALF_DONE = "half done"  # the call breaks off in the middle of its work
    ANSWER_LOST = "answer lost"  # the call is done, and nobody knows
    FULL = "full"  # no space from now on
    DEAD = "dead"  # the store does nothing any more
    INTERRUPT = "interrupt"  # Ctrl-C
    INTERRUPT_AFTER = "interrupt after"
    KILLED = "killed"  # the process is no more, nothing that it does counts


AFTER = (Failure.ANSWER_LOST, Failure.INTERRUPT_AFTER)
INTERRUPTS = (Failure.INTERRUPT, Failure.INTERRUPT_AFTER)


class Killed(BaseException):
    """Where the process was when it was killed."""


@dataclass
class Call:
    """A call of a store.

    Attributes
    ----------
    name : str
        Of the function.
    store : type
        Whose function it is.
    path : str
        Of the file or directory; empty if it is not known.
    make : callable
        Makes the call.
    half : callable, optional
        Makes half of it; None for what is done or not.
    mode : str
        Of a file that is opened.
    """

    name: str
    store: type
    path: str
    make: Callable[[], Any]
    half: Callable[[], Any] | None = None
    mode: str = "rb"

    @property
    def needs_space(self) -> bool:
        # Elsewhere a file is moved by copying it.
        is_copied = self.name == "mv" and self.store is MemoryFileSystem
        is_new = self.name == "open" and self.mode == "wb"
        return is_new or is_copied or self.name in TAKING_SPACE

    def may_fail(self, failure: Failure) -> bool:
        """Whether a failure would differ from all others."""
        if failure is Failure.HALF_DONE:
            return self.half is not None
        if failure is Failure.FULL:
            return self.needs_space
        # A question that is answered to nobody is one that was not asked.
        is_change = self.mode == "wb" or self.name in CHANGING
        return is_change or failure not in (*AFTER, Failure.KILLED)


@dataclass
class FailingCalls:
    """Counts the calls of file systems, and lets one fail.

    Calls that a file system makes inside of a call are its own affair.

    Attributes
    ----------
    failure : Failure or None
        How the call fails; None for never.
    at : int
        Number of the call, from 1 on.
    calls : list of Call
        Those that came, in order.
    failed : list of str
        Paths of the calls that failed.
    """

    failure: Failure | None = None
    at: int = 0
    calls: list[Call] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    _store: type | None = None
    _here: Any = field(default_factory=threading.local)

    def install(self, monkeypatch: Any) -> None:
        for owner in (LocalFileSystem, MemoryFileSystem):
            for name in METHODS:
                real = getattr(owner, name)
                monkeypatch.setattr(owner, name, self._method(owner, name, real))
        monkeypatch.setattr(os, "replace", self._function("replace", os.replace))
        monkeypatch.setattr(os, "fsync", self._function("fsync", os.fsync))

    def plan(self, failure: Failure | None, at: int) -> None:
        self.failure, self.at, self.calls = failure, at, []
        self.failed, self._store = [], None

    def forgive(self) -> None:
        """Let no further call fail; what came is still known."""
        self.failure = None

    def _method(self, owner: type, name: str, real: Any) -> Any:
        def method(fs: Any, path: Any, *args: Any, **options: Any) -> Any:
            call = Call(
                name, owner, str(path), lambda: real(fs, path, *args, **options)
            )
            if name == "rm" and options.get("recursive"):
                call.half = lambda: [fs.rm_file(p) for p in fs.find(path)[::2]]
            if name == "mv" and not options.get("recursive"):
                call.half = lambda: fs.cp_file(path, args[0])
            if name != "open" or self._is_inside:
                return self.made(call)
            call.mode = args[0] if args else options.get("mode", "rb")
            return Stream(self, call, self.made(call))

        return method

    def _function(self, name: str, real: Any) -> Any:
        def function(*args: Any) -> Any:
            path = args[0] if isinstance(args[0], str) else ""
            return self.made(Call(name, LocalFileSystem, path, lambda: real(*args)))

        return function

    @property
    def _is_inside(self) -> bool:
        return getattr(self._here, "is_inside", False)

    def made(self, call: Call) -> Any:
        """Make a call, or fail."""
        if self._is_inside:
            return call.make()
        self._here.is_inside = True
        try:
            return self._made(call)
        finally:
            self._here.is_inside = False

    def _made(self, call: Call) -> Any:
        self.calls.append(call)
        if self.failure is None or not self._fails(call):
            return call.make()
        self.failed.append(call.path)
        if self.failure in AFTER:
            call.make()
        if self.failure is Failure.HALF_DONE and call.half is not None:
            call.half()
        if call.name in DOUBTFUL and self.failure in (Failure.BREAKS_OFF, Failure.DEAD):
            return False
        raise self._error()

    def _fails(self, call: Call) -> bool:
        number = len(self.calls)
        if number == self.at:
            self._store = call.store
            return True
        if number < self.at or self.failure is Failure.KILLED:
            return number > self.at
        if call.store is not self._store:
            return False
        is_full = self.failure is Failure.FULL and call.needs_space
        return is_full or self.failure is Failure.DEAD

    def _error(self) -> BaseException:
        if self.failure is Failure.KILLED:
            return Killed()
        if self.failure in INTERRUPTS:
            return KeyboardInterrupt()
        if self.failure is Failure.ANSWER_LOST:
            return TimeoutError("no answer")
        if self.failure is Failure.FULL:
            return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return OSError(errno.EIO, "broke off")


class Stream:
    """A file of such a file system."""

    def __init__(self, calls: FailingCalls, opened: Call, inner: Any) -> None:
        self._calls, self._opened, self._inner = calls, opened, inner

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def read(self, *size: int) -> Any:
        return self._made("read", lambda: self._inner.read(*size))

    def write(self, data: Any) -> Any:
        half = memoryview(data)[: len(data) // 2]
        return self._made(
            "write", lambda: self._inner.write(data), lambda: self._inner.write(half)
        )

    def close(self) -> None:
        if not self._inner.closed:
            try:
                self._made("close", self._inner.close)
            finally:
                self._inner.close()

    def _made(self, name: str, make: Any, half: Any = None) -> Any:
        opened = self._opened
        call = Call(name, opened.store, opened.path, make, half, opened.mode)
        return self._calls.made(call)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
