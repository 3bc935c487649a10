"""How many copies of a network a worker process may hold at a time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from distributed import get_worker

__all__ = ["copies_at_most"]


@contextmanager
def copies_at_most(most: int | None) -> Iterator[None]:
    """Let so many tasks of this worker into the block at a time; others wait.

    Parameters
    ----------
    most : int or None
        None lets all in.
    """
    if most is None:
        yield
        return
    # The worker keeps it, since tasks of one evaluation have nothing else in common.
    # `setdefault` is atomic: two threads get the same one.
    held = get_worker().__dict__
    with held.setdefault(f"daskdl_copies_{most}", threading.BoundedSemaphore(most)):
        yield
