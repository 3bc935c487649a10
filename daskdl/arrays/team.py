"""Threads that work on one minibatch together."""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

import numpy as np

from daskdl.arrays.namespace import FloatArray

T = TypeVar("T")
Work: TypeAlias = Callable[[int], Any]
# Looks at the number at an address until it is large enough, at most so many times, and
# returns it. Without the GIL.
Spin: TypeAlias = Callable[[int, int, int], int]

_LINE = 8
# About a third of a millisecond.
_LOOKS = 1_000_000


class Meeting:
    """Where the threads of a team hand each other what they have computed.

    Parameters
    ----------
    size : int
        How many there are.
    spin : Spin, optional
        Waits awake, for a while; the rest of the time a thread sleeps.
    """

    def __init__(self, size: int, spin: Spin | None = None) -> None:
        # Two, used in turns: nobody brings anything to the next but one before all
        # have left this one.
        self._tables: list[list[Any]] = [[None] * size, [None] * size]
        self._visits = [_Count(spin) for _ in range(size)]
        self._is_over = False
        self._changed = threading.Condition()

    def exchange(self, rank: int, brought: T) -> list[T]:
        """Wait for the others, and return what all have brought, in order of rank.

        Arrays are not copied: nobody may write to them before they meet again.

        Raises
        ------
        threading.BrokenBarrierError
            If one of the others has failed.
        """
        visit = self._visits[rank].n + 1
        table = self._tables[visit % 2]
        table[rank] = brought
        self._visits[rank].n = visit
        with self._changed:
            self._changed.notify_all()
        if not all(other.comes_to(visit) for other in self._visits):
            with self._changed:
                self._changed.wait_for(lambda: self._have_come(visit))
        if self._is_over:
            raise threading.BrokenBarrierError
        return list(table)

    def break_up(self) -> None:
        """Let nobody wait for one who will not come."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _have_come(self, visit: int) -> bool:
        return self._is_over or all(other.n >= visit for other in self._visits)


class _Count:
    """A number that only grows, which other threads can wait for."""

    def __init__(self, spin: Spin | None) -> None:
        # A line of the cache by itself: nobody else's writing disturbs who looks.
        self._numbers = np.zeros(_LINE, np.int64)
        self._address = self._numbers.ctypes.data
        self._spin = spin

    @property
    def n(self) -> int:
        """How far it is."""
        return int(self._numbers[0])

    @n.setter
    def n(self, n: int) -> None:
        self._numbers[0] = n

    def comes_to(self, n: int) -> bool:
        """Return whether it is so far, after waiting awake for a while."""
        if self.n >= n:
            return True
        return self._spin is not None and self._spin(self._address, n, _LOOKS) >= n


@dataclass(frozen=True)
class Cut:
    """The part of a minibatch that one thread has.

    Parameters
    ----------
    rank : int
        Of the thread.
    start, stop : int
        Its examples.
    n_examples : int
        Of the whole minibatch.
    meeting : Meeting
        With those that have the rest.
    """

    rank: int
    start: int
    stop: int
    n_examples: int
    meeting: Meeting

    @property
    def is_first(self) -> bool:
        """Whether what is done once for the minibatch is done here."""
        return self.rank == 0

    def whole(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape (rows, ...) for all, where this part has `shape`."""
        return shape[0] // (self.stop - self.start) * self.n_examples, *shape[1:]

    def rows_of(self, array: FloatArray) -> FloatArray:
        """Return this part of an array (rows, ...): a view."""
        rows = len(array) // self.n_examples
        return array[self.start * rows : self.stop * rows]

    def exchange(self, brought: T) -> list[T]:
        """Meet the others; see :meth:`Meeting.exchange`."""
        return self.meeting.exchange(self.rank, brought)


class Team:
    """The calling thread and others, which wait for work until they are sent home.

    Parameters
    ----------
    size : int
        How many there are, with the caller.
    spin : Spin, optional
        As for :class:`Meeting`.

    Notes
    -----
    To be closed, from the thread that made it. A copy in a forked process has no
    threads: see :attr:`is_here`.
    """

    def __init__(self, size: int, spin: Spin | None = None) -> None:
        self.size = size
        self._pid = os.getpid()
        self._members = [_Member(rank, spin) for rank in range(1, size)]

    @property
    def is_here(self) -> bool:
        """Whether it has its threads, in this process."""
        return bool(self._members) and self._pid == os.getpid()

    def run(
        self, work: Callable[[int], T], n: int, meeting: Meeting | None = None
    ) -> list[T]:
        """Call ``work(rank)`` in `n` threads, and return what comes, in order of rank.

        Parameters
        ----------
        work : function of int
            Rank 0 is the calling thread's.
        n : int
            How many take part.
        meeting : Meeting, optional
            Where they meet on the way; broken up when one fails.

        Raises
        ------
        Exception
            What the thread of the lowest rank raised, when all have ended. Those that
            failed because another one did not come do not count.
        """
        called = self._members[: n - 1]
        for member in called:
            member.give(work, meeting)
        outcomes = [_outcome(work, 0, meeting)]
        try:
            outcomes += [member.outcome() for member in called]
        except BaseException:
            # Interrupted, while they write to what the caller goes on with.
            self.close()
            raise
        failures = [error for _, error in outcomes if error is not None]
        if failures:
            raise min(failures, key=_only_follows)
        return [value for value, _ in outcomes]

    def close(self) -> None:
        """Send the threads home, and wait until they are gone."""
        members = self._members if self.is_here else []
        self._members = []
        for member in members:
            member.send_home()
        for member in members:
            member.thread.join()

    def __enter__(self) -> "Team":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Member:
    """A thread that does what it is told, until it is told nothing."""

    def __init__(self, rank: int, spin: Spin | None) -> None:
        self._tasks: SimpleQueue[tuple[Work, Meeting | None] | None] = SimpleQueue()
        self._outcomes: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        self._given, self._done = _Count(spin), _Count(spin)
        self._rank = rank
        # A daemon: what ends a process by force does not wait for it.
        self.thread = threading.Thread(
            target=self._serve, name=f"daskdl team {rank}", daemon=True
        )
        self.thread.start()

    def give(self, work: Work, meeting: Meeting | None) -> None:
        """Tell it what to do."""
        self._tasks.put((work, meeting))
        self._given.n += 1

    def outcome(self) -> tuple[Any, BaseException | None]:
        """Return what comes of what it was given last: a value, or an error."""
        self._done.comes_to(self._given.n)
        return self._outcomes.get()

    def send_home(self) -> None:
        """Tell it that there is nothing more to do."""
        self._tasks.put(None)
        self._given.n += 1

    def _serve(self) -> None:
        done = 0
        while (task := self._tasks.get()) is not None:
            self._outcomes.put(_outcome(task[0], self._rank, task[1]))
            # Else it would hold a network until the next minibatch.
            del task
            done += 1
            self._done.n = done
            self._given.comes_to(done + 1)


def _outcome(
    work: Work, rank: int, meeting: Meeting | None
) -> tuple[Any, BaseException | None]:
    try:
        return work(rank), None
    except BaseException as error:  # noqa: BLE001 - raised by the caller
        if meeting is not None:
            meeting.break_up()
        return None, error


def _only_follows(error: BaseException) -> bool:
    """Return whether a thread failed because another one did not come."""
    return isinstance(error, threading.BrokenBarrierError)


def cuts(n_examples: int, size: int, spin: Spin | None = None) -> list[Cut]:
    """Cut a minibatch into parts that differ by one example at most."""
    meeting = Meeting(size, spin)
    borders = [rank * n_examples // size for rank in range(size + 1)]
    return [
        Cut(rank, borders[rank], borders[rank + 1], n_examples, meeting)
        for rank in range(size)
    ]
