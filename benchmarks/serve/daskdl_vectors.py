"""Gradient messages: encode with the residual, decode."""

import numpy as np

from benchmarks.serve.loop import Offers, Work
from benchmarks.serve.shapes import DECODE, ENCODE, LENGTHS, TAU

OFFERS: Offers = [
    (f"threshold-{length}", what, "") for length in LENGTHS for what in (ENCODE, DECODE)
]


def make(case: str, what: str, variant: str) -> Work:
    """Return ``residual += update; encode``, or the decoding of its message."""
    from daskdl.kernels.threshold import threshold_decode_add, threshold_encode

    length = LENGTHS[case.removeprefix("threshold-")]
    rng = np.random.default_rng(0)
    update = rng.standard_normal(length, dtype=np.float32)
    residual = np.zeros_like(update)
    if what == ENCODE:
        return Work(
            lambda: threshold_encode(residual, TAU, update=update),
            prepare=lambda: residual.fill(0),
        )
    message, _ = threshold_encode(residual, TAU, update=update)
    if message is None:
        raise ValueError(f"{case}: no element reaches the threshold.")
    return Work(lambda: threshold_decode_add(message, residual))
