"""Time limits for calls that may wait for ever."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias, TypeVar

from daskdl_bridge.errors import StorageTimeoutError

__all__ = ["TIMEOUT_S", "answer_within", "begin", "call_within"]

T = TypeVar("T")
_Call: TypeAlias = tuple[str, Callable[[], Any], "Future[Any]"]

# A fail-over with 30 s without any active NameNode took 34 s and then went on.
TIMEOUT_S = 60.0
# A thread costs as much as a small answer, and the next call comes soon or not at all.
_IDLE_S = 5.0


class _Threads:
    """Threads that make a call at a time, and wait a while for the next one.

    Not those of an executor: a call that never returns keeps its thread, and neither
    another call nor the end of the process waits for it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[_Call]] = []

    def forget(self) -> None:
        """Begin anew: a child that was forked has none of its parent's threads."""
        self._lock, self._idle = threading.Lock(), []

    def call(self, name: str, function: Callable[[], T], future: "Future[T]") -> None:
        """Have a thread, an idle one or a new one, call a function; return at once."""
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = SimpleQueue()
            threading.Thread(target=self._serve, args=(inbox,), daemon=True).start()
        inbox.put((name, function, future))

    def _serve(self, inbox: "SimpleQueue[_Call]") -> None:
        while (call := self._next(inbox)) is not None:
            name, function, future = call
            threading.current_thread().name = name
            try:
                future.set_result(function())
            except BaseException as error:  # noqa: BLE001  the waiting thread raises it
                future.set_exception(error)
            # Neither is held while it waits.
            del call, function, future
            with self._lock:
                self._idle.append(inbox)

    def _next(self, inbox: "SimpleQueue[_Call]") -> "_Call | None":
        """Wait for a call; none if there is none for a while."""
        try:
            return inbox.get(timeout=_IDLE_S)
        except Empty:
            with self._lock:
                if inbox in self._idle:
                    self._idle.remove(inbox)
                    return None
        # Somebody took it in this moment.
        return inbox.get()


_threads = _Threads()
os.register_at_fork(after_in_child=_threads.forget)


def begin(action: str, url: str, function: Callable[[], T]) -> "Future[T]":
    """Begin to call a function in a thread of its own, and return at once.

    Parameters
    ----------
    action, url : str
        What is done to what, which names the thread.
    function : callable
        Does it. As a daemon its thread does not keep the process from ending.
    """
    future: Future[T] = Future()
    _threads.call(f"{action} {url}", function, future)
    return future


def answer_within(timeout_s: float, action: str, url: str, begun: "Future[T]") -> T:
    """Return what a call that was begun returns; it is given up when the time is over.

    Parameters
    ----------
    timeout_s : float
        Limit in seconds, from now on.
    action, url : str
        What is done to what, for messages: ``list``, ``hdfs://mini/data``.
    begun : Future
        The call. Its thread, given up, goes on until the call returns, if ever.

    Raises
    ------
    StorageTimeoutError
        If the function did not return in time.
    BaseException
        The function's own error, as it is.
    """
    if _waited(begun, timeout_s):
        return begun.result()
    raise StorageTimeoutError(
        f"{url}: HDFS must {action} within {timeout_s:g} s, it did not answer. Check "
        "that NameNodes and DataNodes are up, or raise timeout_s in storage_options."
    )


def call_within(
    timeout_s: float, action: str, url: str, function: Callable[[], T]
) -> T:
    """Call a function in a thread that is given up when the time is over.

    Parameters
    ----------
    timeout_s, action, url
        See `answer_within`.
    function : callable
        See `begin`.

    Raises
    ------
    StorageTimeoutError, BaseException
        As `answer_within`.
    """
    return answer_within(timeout_s, action, url, begin(action, url, function))


def _waited(future: "Future[Any]", timeout_s: float) -> bool:
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    return done.wait(timeout_s)
