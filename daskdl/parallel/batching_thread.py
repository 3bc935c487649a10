"""The thread that computes for all others."""

import threading
from contextlib import ExitStack
from typing import Any

from daskdl.arrays.thread_count import (
    blas_limited_to,
    leaving_one_core,
    threads_here,
)
from daskdl.errors import OptionError
from daskdl.nn.network import Network
from daskdl.parallel.request_queue import RequestQueue
from daskdl.parallel.requests import Answered, Request, answered

__all__ = ["BatchingThread", "closed"]


class BatchingThread:
    """A thread that answers requests, and is started for the first of them.

    Parameters
    ----------
    who : str
        For messages.
    most_rows : int or None
        What it joins for a pass; None for one request a pass.
    queue_limit : int
        How many requests wait at most.
    """

    def __init__(self, who: str, most_rows: int | None, queue_limit: int) -> None:
        self._who = who
        self._most_rows = most_rows
        self._queue = RequestQueue(queue_limit)
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def put(self, request: Request) -> None:
        """Let a request be answered.

        Raises
        ------
        OptionError
            If it is closed.
        """
        if self._thread is None:
            self._start()
        if not self._queue.put(request):
            raise closed(self._who)

    def close(self) -> None:
        """Answer what has come, and end."""
        self._queue.close()
        with self._starting:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                # A daemon: who forgets to close must not keep the process alive.
                self._thread = threading.Thread(
                    target=self._serve, name="daskdl inference", daemon=True
                )
                self._thread.start()

    def _serve(self) -> None:
        last = Answered()
        with _Cores() as cores:
            while True:
                if self._queue.is_empty:
                    last.wake_all()
                    cores.give_back()
                batch = self._queue.take(self._most_rows)
                if not batch:
                    return
                now = self._answered(batch, cores, last)
                # Else it would hold arrays until the next one comes.
                del batch
                last.wake_all()
                last = now

    def _answered(
        self, batch: list[Request], cores: "_Cores", last: Answered
    ) -> Answered:
        try:
            cores.take(batch[0].network, is_joined=len(batch) > 1)
            # To look at numbers lets others run, who would keep the thread from its
            # work: they are woken behind that.
            return answered(batch, last.wake_one)
        except BaseException as error:  # noqa: BLE001 - nobody may wait for ever
            for request in batch:
                request.fail(error)
            return Answered(batch)


class _Cores:
    """What the thread has of the machine, from one pass to the next.

    Joined requests are those of several threads, which have work while the network
    computes: a pass leaves them a core, unless the network was told its number of
    threads. On two cores, 64 callers of LeNet had 0.6 to 0.9 times the answers of one
    caller where passes took both, and three times as many where they took one.
    """

    def __init__(self) -> None:
        self._network: Network[Any] | None = None
        self._team = ExitStack()
        self._room = ExitStack()
        self._leaves_one = False

    def take(self, network: Network[Any], *, is_joined: bool) -> None:
        """Get ready for a pass."""
        if network is not self._network:
            self._team.close()
            self._team.enter_context(network.keeping_threads())
            self._network = network
        leaves_one = is_joined and network.threads is None
        if self._leaves_one and not leaves_one:
            self.give_back()
        if leaves_one and not self._leaves_one:
            self._room.enter_context(leaving_one_core())
            self._room.enter_context(blas_limited_to(threads_here()))
            self._leaves_one = True

    def give_back(self) -> None:
        """Let BLAS have what it had before."""
        self._room.close()
        self._leaves_one = False

    def __enter__(self) -> "_Cores":
        return self

    def __exit__(self, *error: object) -> None:
        self.give_back()
        self._team.close()


def closed(who: str) -> OptionError:
    """Return the error of a call that comes too late."""
    return OptionError(
        f"{who}: must be open to answer, but it was closed. Make another one."
    )
