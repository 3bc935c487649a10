"""Messages of gradient sharing, threshold and bitmap: encode and decode-add.

A message is a 1-d int32 array of DL4J's layout: four header ints (count, vector length,
the bits of a float32 threshold, the kind), then signed positions counted from 1, or
two-bit codes, 16 in an int.

The threshold is a float32 on the wire; arithmetic is done in the type of the vector
with that float32 value, so encoder and decoder agree for float64 vectors as well. The
functions here trust their input; ``daskdl.encoding`` checks what comes from others.
"""

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.jit import numba_is_used
from daskdl.kernels.threshold import cpu, reference

HEADER_INTS = 4
THRESHOLD = 0
BITMAP = 1
_WORD = 16


def threshold_encode(
    residual: FloatArray,
    tau: float,
    *,
    update: FloatArray | None = None,
    boundary: int | None = None,
    truncate: bool = True,
) -> tuple[NDArray[np.int32] | None, int]:
    """Take one quantum off every element that reaches the threshold.

    Parameters
    ----------
    residual : ndarray of shape (n,), float32 or float64, contiguous
        `update` is added to it, in any case; the quanta are taken off only if a message
        is returned.
    tau : float
        The threshold, rounded to float32.
    update : ndarray of shape (n,), same dtype, contiguous, or None
        Not changed. None adds nothing.
    boundary : int or None
        Most entries in a message. None is n.
    truncate : bool
        What happens when more elements reach `tau` than `boundary` allows: the first
        ones are encoded, or nothing is.

    Returns
    -------
    message : ndarray of shape (4 + entries,), int32, or None
        None for fewer than two entries, as in DL4J, and for too many.
    count : int
        How many elements reach `tau`.

    Notes
    -----
    An element gives one quantum at most, however large it is; the rest stays.
    """
    step = _step(residual, tau)
    most = residual.size if boundary is None else min(boundary, residual.size)
    message = _empty_message(residual, most, THRESHOLD, tau)
    entries = message[HEADER_INTS:]
    kernels = _kernels(residual)
    changes = _nothing(residual) if update is None else update
    count = int(kernels.find_quanta(residual, changes, step, entries))
    kept = min(count, most)
    if kept < 2 or (count > most and not truncate):
        return None, count
    kernels.add_quanta(entries[:kept], -step, residual)
    message[0] = kept
    # A copy, so that a message in a queue does not hold the whole buffer.
    return message[: HEADER_INTS + kept].copy(), count


def threshold_decode_add(message: NDArray[np.int32], target: FloatArray) -> None:
    """Add the quanta of a message of :func:`threshold_encode` to a vector.

    Parameters
    ----------
    message : ndarray of shape (4 + entries,), int32
        Positions must lie within `target`. One that comes twice counts twice.
    target : ndarray of shape (n,), float32 or float64, contiguous
        Changed.
    """
    step = target.dtype.type(header_tau(message))
    _kernels(target).add_quanta(message[HEADER_INTS:], step, target)


def bitmap_encode(
    residual: FloatArray, tau: float, *, update: FloatArray | None = None
) -> tuple[NDArray[np.int32], int]:
    """Encode every element in two bits: nothing, plus, minus, or half of minus tau.

    Parameters
    ----------
    residual : ndarray of shape (n,), float32 or float64, contiguous
        `update` is added to it, then what the codes carry is taken off.
    tau : float
        The threshold, rounded to float32.
    update : ndarray of shape (n,), same dtype, contiguous, or None
        Not changed. None adds nothing.

    Returns
    -------
    message : ndarray of shape (n // 16 + 5,), int32
        Element i has its magnitude bit at i % 16 of word i // 16, its sign 16 above.
    count : int
        How many codes are not zero.

    Notes
    -----
    DL4J's code has no plus half: positive elements from tau / 2 to tau wait, negative
    ones are sent as minus tau / 2.
    """
    step = _step(residual, tau)
    message = _empty_message(residual, residual.size // _WORD + 1, BITMAP, tau)
    message[0] = residual.size
    changes = _nothing(residual) if update is None else update
    count = _kernels(residual).bitmap_encode(
        residual, changes, step, step / step.dtype.type(2), message[HEADER_INTS:]
    )
    return message, int(count)


def bitmap_decode_add(message: NDArray[np.int32], target: FloatArray) -> None:
    """Add what a message of :func:`bitmap_encode` carries to a vector.

    Parameters
    ----------
    message : ndarray of shape (n // 16 + 5,), int32
        Not changed.
    target : ndarray of shape (n,), float32 or float64, contiguous
        Changed.
    """
    step = target.dtype.type(header_tau(message))
    half = step / step.dtype.type(2)
    _kernels(target).bitmap_decode_add(message[HEADER_INTS:], step, half, target)


def header_tau(message: NDArray[np.int32]) -> np.float32:
    """Return the threshold of a message."""
    tau: np.float32 = np.int32(int(message[2])).view(np.float32)
    return tau


def _step(residual: FloatArray, tau: float) -> np.floating[Any]:
    step: np.floating[Any] = residual.dtype.type(np.float32(tau))
    return step


def _nothing(residual: FloatArray) -> FloatArray:
    # Adding minus zero changes no number, not even the sign of a zero.
    namespace = array_namespace(residual)
    zero = namespace.asarray(-0.0, dtype=residual.dtype)
    nothing: FloatArray = namespace.broadcast_to(zero, residual.shape)
    return nothing


def _empty_message(
    residual: FloatArray, payload: int, kind: int, tau: float
) -> NDArray[np.int32]:
    namespace = array_namespace(residual)
    message: NDArray[np.int32] = namespace.empty(HEADER_INTS + payload, dtype=np.int32)
    message[1] = residual.size
    message[2] = int(np.float32(tau).view(np.int32))
    message[3] = kind
    return message


def _kernels(vector: FloatArray) -> ModuleType:
    is_compiled = array_namespace(vector) is np and numba_is_used()
    return cpu if is_compiled else reference
