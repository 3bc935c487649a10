"""What a call takes of memory: work that is done over and over should take nothing."""

import tracemalloc
from collections.abc import Callable


def peak_bytes(operate: Callable[[], object]) -> int:
    """Return what a call allocates at most, once it has been called before."""
    operate()
    tracemalloc.start()
    try:
        operate()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def kept_bytes(operate: Callable[[], object]) -> int:
    """Return how much more is taken behind each call than in front of it, once it ran.

    Tables of the interpreter grow now and then, within one of them.
    """
    operate()
    return min(_kept_once(operate) for _ in range(3))


def _kept_once(operate: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        operate()
        behind, _ = tracemalloc.get_traced_memory()
        return behind - before
    finally:
        tracemalloc.stop()
