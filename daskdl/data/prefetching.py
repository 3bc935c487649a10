"""Prefetching: iterating ahead of the consumer, in a thread."""

import queue
import threading
from collections.abc import Generator, Iterable
from typing import Any, TypeVar

from daskdl.checks import check_positive

__all__ = ["prefetch"]

T = TypeVar("T")

# How long the producer waits for room before it looks whether anybody still wants it.
# Only a consumer that went away without closing makes it wait that long.
_LOOK_AROUND_S = 0.5


class _End:
    """The end of the producer, and its error if it failed."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def prefetch(iterable: Iterable[T], n_batches: int = 2) -> Generator[T, None, None]:
    """Iterate in a background thread, at most `n_batches` ahead.

    The thread starts with the first ``next`` and has ended when the generator has: at
    its end, after an error on either side, and after ``close``. Where a consumer may
    leave early, put the generator in ``contextlib.closing``.

    Parameters
    ----------
    iterable : iterable
        Iterated, and closed if it is a generator, in the background thread only.
    n_batches : int
        Items that wait at most; one more is in the making.

    Yields
    ------
    item
        In order. An error of the iterable is raised where its item would have come.

    Raises
    ------
    OptionError
        If `n_batches` is not positive.
    """
    check_positive("prefetch", "n_batches", n_batches)
    return _prefetched(iterable, n_batches)


def _prefetched(iterable: Iterable[T], n_batches: int) -> Generator[T, None, None]:
    items: queue.Queue[Any] = queue.Queue(maxsize=n_batches)
    is_stopped = threading.Event()
    # Not a daemon: one that is killed at exit may hold a lock of the file system.
    thread = threading.Thread(
        target=_produce,
        args=(iterable, items, is_stopped),
        name="daskdl-prefetch",
        daemon=False,
    )
    thread.start()
    try:
        while not isinstance(item := items.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        is_stopped.set()
        _empty(items)
        thread.join()


def _produce(
    iterable: Iterable[T], items: "queue.Queue[Any]", is_stopped: threading.Event
) -> None:
    error: BaseException | None = None
    try:
        iterator = iter(iterable)
        try:
            for item in iterator:
                if not _put(items, item, is_stopped):
                    break
        finally:
            if isinstance(iterator, Generator):
                iterator.close()
    # Whatever it is, KeyboardInterrupt included, belongs to the consumer.
    except BaseException as caught:  # noqa: BLE001
        error = caught
    _put(items, _End(error), is_stopped)


def _put(items: "queue.Queue[Any]", item: Any, is_stopped: threading.Event) -> bool:
    # The main thread ends before the interpreter waits for this one.
    while not is_stopped.is_set() and threading.main_thread().is_alive():
        try:
            items.put(item, timeout=_LOOK_AROUND_S)
        except queue.Full:
            continue
        return True
    return False


def _empty(items: "queue.Queue[Any]") -> None:
    try:
        while True:
            items.get_nowait()
    except queue.Empty:
        return
