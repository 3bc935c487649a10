"""Whether freed memory is at hand again, as the system counts it."""

import resource

import numpy as np
import pytest

from daskdl.arrays.freed_memory import FREED_MEMORY, _c_library

N_BYTES, N_ARRAYS = 2 << 20, 20

pytestmark = pytest.mark.skipif(
    _c_library() is None, reason="only glibc is told what to do with freed memory"
)


def pages_taken() -> int:
    """Return how many pages the system had to clear for arrays of one size."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for number in range(N_ARRAYS):
        np.full(N_BYTES, number, np.uint8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_it_is_kept_while_it_is_held_and_given_back_behind():
    in_an_array = N_BYTES // resource.getpagesize()
    FREED_MEMORY.hold()
    FREED_MEMORY.hold()
    try:
        pages_taken()
        assert pages_taken() < in_an_array
        FREED_MEMORY.release()
        assert pages_taken() < in_an_array
    finally:
        FREED_MEMORY.release()
    assert pages_taken() >= in_an_array * N_ARRAYS
