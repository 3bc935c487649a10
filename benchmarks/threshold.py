"""Time encoding and decoding of gradient messages: compiled kernels against NumPy.

Run as ``python benchmarks/threshold.py [elements]``. The two kinds take turns within
each repetition, so that a change of load meets both; the median is reported.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from daskdl.kernels.threshold import (
    bitmap_decode_add,
    bitmap_encode,
    threshold_decode_add,
    threshold_encode,
)

REPETITIONS = 9
KINDS = ("numba", "numpy")
# The quantiles of |x| for a normal x that 1e-1 ... 1e-4 of all elements exceed.
TAU_OF_FRACTION = {1e-1: 1.6449, 1e-2: 2.5758, 1e-3: 3.2905, 1e-4: 3.8906}


def main(size: int) -> None:
    """Print one line an operation: ns an element with numba, with NumPy, the ratio."""
    print(f"{size} float32 elements, ns an element, median of {REPETITIONS}")
    for name, prepare, operate in operations(size):
        times = {kind: [] for kind in KINDS}
        for repetition in range(REPETITIONS + 1):
            for kind in KINDS:
                os.environ["DASKDL_BACKEND_PRIORITY_CPU"] = kind
                prepare()
                seconds = timed(operate)
                # The first one compiles and touches the memory.
                if repetition > 0:
                    times[kind].append(seconds)
        numba, numpy = (statistics.median(times[kind]) / size * 1e9 for kind in KINDS)
        print(f"{name:28s} {numba:8.3f} {numpy:8.3f} {numpy / numba:6.1f}x")


def operations(
    size: int,
) -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """Yield name, what to do before, and what to time."""
    rng = np.random.default_rng(0)
    update = rng.standard_normal(size, dtype=np.float32)
    residual = np.zeros(size, np.float32)
    target = np.zeros(size, np.float32)
    clear = partial(residual.fill, 0)
    for fraction, tau in TAU_OF_FRACTION.items():
        encode = partial(threshold_encode, residual, tau, update=update)
        yield f"threshold encode, {fraction:.0e} sent", clear, encode
        clear()
        message, _ = encode()
        decode = partial(threshold_decode_add, message, target)
        yield f"threshold decode, {fraction:.0e} sent", clear, decode
    encode = partial(bitmap_encode, residual, TAU_OF_FRACTION[1e-1], update=update)
    yield "bitmap encode", clear, encode
    message, _ = encode()
    yield "bitmap decode", clear, partial(bitmap_decode_add, message, target)
    yield (
        "residual += update (NumPy)",
        clear,
        partial(np.add, residual, update, residual),
    )


def timed(operate: Callable[[], Any]) -> float:
    """Return the seconds of CPU time that one call takes."""
    start = time.process_time()
    operate()
    return time.process_time() - start


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
