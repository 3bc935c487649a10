"""Requests that wait for their pass, in the order in which they came."""

import threading
from collections import deque

from daskdl.parallel.requests import Request

__all__ = ["RequestQueue"]


class RequestQueue:
    """A queue out of which requests are taken that go with each other.

    For any number of threads.

    Parameters
    ----------
    limit : int
        How many wait at most; who brings another one waits until there is room.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: deque[Request] = deque()
        self._n_without_room = 0
        self._is_closed = False
        lock = threading.Lock()
        self._came = threading.Condition(lock)
        self._left = threading.Condition(lock)

    @property
    def is_empty(self) -> bool:
        """Whether nobody waits at this moment."""
        return not self._waiting

    def put(self, request: Request) -> bool:
        """Add a request; return whether it will be taken, as all before the close."""
        with self._left:
            if self._is_closed:
                return False
            self._n_without_room += 1
            try:
                while len(self._waiting) >= self._limit:
                    self._left.wait()
                self._waiting.append(request)
            finally:
                self._n_without_room -= 1
                self._came.notify()
        return True

    def take(self, most_rows: int | None) -> list[Request]:
        """Wait for a request, and take with it those that can share its pass.

        Parameters
        ----------
        most_rows : int or None
            Of all together, if there are several. None takes one request.

        Returns
        -------
        list of Request
            The one that has waited longest, and others that go with it. Nothing once
            the queue is closed and empty.
        """
        with self._came:
            while not self._waiting and not self._is_over:
                self._came.wait()
            taken = self._taken(most_rows) if self._waiting else []
            self._left.notify(len(taken))
        return taken

    def close(self) -> None:
        """Take no more requests; those that wait, for room too, are to be taken."""
        with self._came:
            self._is_closed = True
            self._came.notify_all()

    @property
    def _is_over(self) -> bool:
        return self._is_closed and not self._n_without_room

    def _taken(self, most_rows: int | None) -> list[Request]:
        first = self._waiting.popleft()
        taken = [first]
        if most_rows is None:
            return taken
        n_rows, stay = first.rows, []
        while self._waiting and n_rows < most_rows:
            request = self._waiting.popleft()
            if request.goes_with(first) and n_rows + request.rows <= most_rows:
                taken.append(request)
                n_rows += request.rows
            else:
                stay.append(request)
        self._waiting.extendleft(reversed(stay))
        return taken
