"""Gradient messages: encode with the residual, decode, pack into bytes."""

import math
from typing import Any

import numpy as np

from benchmarks.serve.loop import Offers, Work
from benchmarks.serve.shapes import (
    CODER,
    DECODE,
    ENCODE,
    LENGTHS,
    PACK,
    TAU,
    THRESHOLD,
    UNPACK,
)

OFFERS: Offers = [
    *((THRESHOLD, f"{what}-{n}", "") for n in LENGTHS for what in (ENCODE, DECODE)),
    *((CODER, f"{what}-{n}", "") for n in LENGTHS for what in (PACK, UNPACK)),
]


def make(case: str, what: str, variant: str) -> Work:
    """Return what is done with a message of a thousandth of a vector's elements."""
    action, _, length = what.partition("-")
    update = np.random.default_rng(0).standard_normal(LENGTHS[length], dtype=np.float32)
    return _MAKERS[action](update, np.zeros_like(update))


def _encode(update: Any, residual: Any) -> Work:
    from daskdl.kernels.threshold import threshold_encode

    return Work(
        lambda: threshold_encode(residual, TAU, update=update),
        prepare=lambda: residual.fill(0),
    )


def _decode(update: Any, residual: Any) -> Work:
    from daskdl.kernels.threshold import threshold_decode_add, threshold_encode

    message: Any = threshold_encode(residual, TAU, update=update)[0]
    return Work(lambda: threshold_decode_add(message, residual))


def _pack(update: Any, residual: Any) -> Work:
    from daskdl.encoding.wire import pack
    from daskdl.kernels.threshold import HEADER_INTS, threshold_encode

    message: Any = threshold_encode(residual, TAU, update=update)[0]
    n_entries = len(message) - HEADER_INTS
    facts = {
        "entries": n_entries,
        "bits": 8 * pack(message).nbytes / n_entries,
        "entropy": _entropy(n_entries, len(update)),
    }
    return Work(lambda: pack(message), facts=facts)


def _unpack(update: Any, residual: Any) -> Work:
    from daskdl.encoding.wire import pack, unpack
    from daskdl.kernels.threshold import HEADER_INTS, threshold_encode

    message: Any = threshold_encode(residual, TAU, update=update)[0]
    packed = pack(message)
    facts = {"entries": len(message) - HEADER_INTS}
    return Work(lambda: unpack(packed, len(update)), facts=facts)


def _entropy(n_entries: int, n: int) -> float:
    """Return the bits that the places and signs of so many of n elements are worth."""
    share = n_entries / n
    of_one = -share * math.log2(share) - (1 - share) * math.log2(1 - share)
    return of_one / share + 1


_MAKERS = {ENCODE: _encode, DECODE: _decode, PACK: _pack, UNPACK: _unpack}
