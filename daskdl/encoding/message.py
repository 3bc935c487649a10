"""Checks of messages that come from elsewhere.

A message that does not fit is stale or damaged either way: nothing of it may reach the
parameters, so everything is checked before the first element is added.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.errors import ShapeError, StaleMessageError
from daskdl.kernels.threshold import (
    BITMAP,
    HEADER_INTS,
    THRESHOLD,
    all_lie_within,
    header_tau,
)


@dataclass(frozen=True)
class Header:
    """The first four ints of a message.

    Attributes
    ----------
    size : int
        Length of the vector that was encoded.
    tau : float
        The threshold.
    is_bitmap : bool
        Two-bit codes rather than signed positions.
    """

    size: int
    tau: float
    is_bitmap: bool


def check_message(
    message: NDArray[np.int32], size: int, *, who: str = "decode_add"
) -> Header:
    """Refuse a message that cannot be added to a vector of `size` elements.

    Parameters
    ----------
    message : ndarray of shape (length,), int32
        As :mod:`daskdl.kernels.threshold` makes it.
    size : int
        Length of the vector to add to.
    who : str
        The function that an error names.

    Returns
    -------
    Header
        What the first four ints say.

    Raises
    ------
    ShapeError
        When it is no 1-d int32 array.
    StaleMessageError
        When it was made for another length, is cut or carries impossible values.
    """
    if message.ndim != 1 or message.dtype != np.int32:
        raise ShapeError(
            f"{who}: message must be a 1-d int32 array, "
            f"got {message.ndim}-d {message.dtype}."
        )
    if message.size < HEADER_INTS:
        raise _refusal(who, f"a header of {HEADER_INTS} ints", f"{message.size} ints")
    count, length, _, kind = message[:HEADER_INTS].tolist()
    if length != size:
        raise _refusal(who, f"an update of {size} parameters", f"one of {length}")
    tau = float(header_tau(message))
    if not 0 < tau < np.inf:
        raise _refusal(who, "a finite threshold > 0", repr(tau))
    if kind == THRESHOLD:
        _check_entries(who, message[HEADER_INTS:], count, size)
    elif kind == BITMAP:
        _check_length(who, message, HEADER_INTS + size // 16 + 1)
    else:
        raise _refusal(who, f"kind {THRESHOLD} or {BITMAP}", f"kind {kind}")
    return Header(size, tau, kind == BITMAP)


def check_dense(update: NDArray[np.floating[Any]], size: int) -> None:
    """Refuse an update not of shape (size,), or with a number that is not finite.

    Raises
    ------
    StaleMessageError
        In either case.
    """
    if update.shape != (size,):
        raise _refusal("decode_add", f"an update of shape ({size},)", f"{update.shape}")
    if not np.isfinite(update).all():
        wrong = int(np.flatnonzero(~np.isfinite(update))[0])
        raise _refusal("decode_add", "finite numbers", f"{update[wrong]!r} at {wrong}")


def _check_entries(who: str, entries: NDArray[np.int32], count: int, size: int) -> None:
    if count != entries.size:
        raise _refusal(who, f"{count} entries, as its header says", f"{entries.size}")
    if not all_lie_within(entries, size):
        low, high = int(entries.min()), int(entries.max())
        outside = low if low < -size else high if high > size else 0
        raise _refusal(who, f"positions from 1 to {size}, signed", f"{outside}")


def _check_length(who: str, message: NDArray[np.int32], expected: int) -> None:
    if message.size != expected:
        raise _refusal(who, f"{expected} ints, as its header says", f"{message.size}")


def _refusal(who: str, must: str, came: str) -> StaleMessageError:
    return StaleMessageError(
        f"{who}: a message must hold {must}, got {came}. Drop the message."
    )
