"""Prefetching: iterating ahead of the consumer, in a thread."""

import threading
from collections import deque
from collections.abc import Generator, Iterable
from contextvars import copy_context
from typing import Any, TypeVar

from daskdl.checks import check_at_least, check_positive

__all__ = ["prefetch"]

T = TypeVar("T")

# How long the producer waits for room before it looks whether anybody still wants it.
# Only a consumer that went away without closing makes it wait that long.
_LOOK_AROUND_S = 0.5


class _End:
    """The end of the producer, and its error if it failed."""

    nbytes = 0

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class _Waiting:
    """Items between the producer and its consumer.

    Parameters
    ----------
    n_items, n_bytes : int
        There is room for an item as long as fewer wait, or what waits holds fewer.
    """

    def __init__(self, n_items: int, n_bytes: int) -> None:
        self._n_items = n_items
        self._n_bytes = n_bytes
        self._held = 0
        self._items: deque[Any] = deque()
        self._changed = threading.Condition()
        self._is_stopped = False

    def put(self, item: Any) -> bool:
        """Wait for room and add an item; False if nobody wants it any more."""
        with self._changed:
            while not self._has_room() and self._is_wanted():
                self._changed.wait(_LOOK_AROUND_S)
            if not self._is_wanted():
                return False
            self._items.append(item)
            self._held += _nbytes(item)
            self._changed.notify()
        return True

    def get(self) -> Any:
        """Wait for an item and take it."""
        with self._changed:
            while not self._items:
                self._changed.wait()
            item = self._items.popleft()
            self._held -= _nbytes(item)
            self._changed.notify()
        return item

    def stop(self) -> None:
        """Want no more."""
        with self._changed:
            self._is_stopped = True
            self._items.clear()
            self._changed.notify()

    def _has_room(self) -> bool:
        return len(self._items) < self._n_items or self._held < self._n_bytes

    def _is_wanted(self) -> bool:
        # The main thread ends before the interpreter waits for the producer.
        return not self._is_stopped and threading.main_thread().is_alive()


def prefetch(
    iterable: Iterable[T], n_batches: int = 2, *, ahead_bytes: int = 0
) -> Generator[T, None, None]:
    """Iterate in a background thread, some way ahead.

    The thread starts with the first ``next`` and has ended when the generator has: at
    its end, after an error on either side, and after ``close``. Where a consumer may
    leave early, put the generator in ``contextlib.closing``.

    Parameters
    ----------
    iterable : iterable
        Iterated, and closed if it is a generator, in the background thread only.
    n_batches : int
        Items that may wait, whatever they hold; one more is in the making.
    ahead_bytes : int
        More than `n_batches` wait as long as they hold less than this together by
        their ``nbytes``. What is slow at times, as reading the next file is, goes on
        then while the consumer has enough to do.

    Yields
    ------
    item
        In order. An error of the iterable is raised where its item would have come.

    Raises
    ------
    OptionError
        If `n_batches` is not positive, or `ahead_bytes` below 0.
    """
    check_positive("prefetch", "n_batches", n_batches)
    check_at_least("prefetch", "ahead_bytes", ahead_bytes, 0)
    return _prefetched(iterable, _Waiting(n_batches, ahead_bytes))


def _prefetched(iterable: Iterable[T], waiting: _Waiting) -> Generator[T, None, None]:
    # Not a daemon: one that is killed at exit may hold a lock of the file system.
    # In the context of its consumer: there a task of Dask finds its worker.
    thread = threading.Thread(
        target=copy_context().run,
        args=(_produce, iterable, waiting),
        name="daskdl-prefetch",
        daemon=False,
    )
    thread.start()
    try:
        while not isinstance(item := waiting.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        waiting.stop()
        thread.join()


def _produce(iterable: Iterable[T], waiting: _Waiting) -> None:
    error: BaseException | None = None
    try:
        iterator = iter(iterable)
        try:
            for item in iterator:
                if not waiting.put(item):
                    break
        finally:
            if isinstance(iterator, Generator):
                iterator.close()
    # Whatever it is, KeyboardInterrupt included, belongs to the consumer.
    except BaseException as caught:  # noqa: BLE001
        error = caught
    waiting.put(_End(error))


def _nbytes(item: Any) -> int:
    return int(getattr(item, "nbytes", 0))
