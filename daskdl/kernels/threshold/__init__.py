"""Messages of gradient sharing, threshold and bitmap: encode, decode-add and settle.

A message is a 1-d int32 array of DL4J's layout: four header ints (count, vector length,
the bits of a float32 threshold, the kind), then signed positions counted from 1, or
two-bit codes, 16 in an int.

The threshold is a float32 on the wire; arithmetic is done in the type of the vector
with that float32 value, so encoder and decoder agree for float64 vectors as well. The
functions here trust their input; ``daskdl.encoding`` checks what comes from others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.jit import numba_is_used
from daskdl.kernels.threshold import reference

HEADER_INTS = 4
THRESHOLD = 0
BITMAP = 1
_WORD = 16


@dataclass(frozen=True)
class Scratch:
    """What :func:`threshold_encode` writes into before it knows how long a message is.

    Parameters
    ----------
    entries : ndarray of shape (most,), int32
        Signed positions.
    held : ndarray of shape (most,), dtype of the residual
        What stood at them, should it have to be put back.
    """

    entries: NDArray[np.int32]
    held: FloatArray

    @classmethod
    def for_messages_from(cls, residual: FloatArray, boundary: int | None) -> "Scratch":
        """Allocate for messages of at most `boundary` entries.

        Parameters
        ----------
        residual : ndarray of shape (n,)
            What they are taken off; says where the arrays lie, and the type.
        boundary : int or None
            None is n.
        """
        most = _most_entries(residual, boundary)
        namespace = array_namespace(residual)
        return cls(
            namespace.empty(most, dtype=np.int32),
            namespace.empty(most, dtype=residual.dtype),
        )


def threshold_encode(
    residual: FloatArray,
    tau: float,
    *,
    update: FloatArray | None = None,
    boundary: int | None = None,
    truncate: bool = True,
    scratch: Scratch | None = None,
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
    scratch : Scratch or None
        For messages of at least `boundary` entries; overwritten. With it nothing is
        allocated but the message; None allocates one for this call.

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
    kernels = _kernels(residual, update)
    most = _most_entries(residual, boundary)
    if scratch is None:
        scratch = Scratch.for_messages_from(residual, boundary)
    entries = scratch.entries[:most]
    changes = kernels.no_changes(residual) if update is None else update
    count = int(
        kernels.take_quanta(
            residual, changes, _step(residual, tau), entries, scratch.held, truncate
        )
    )
    kept = min(count, most)
    if kept < 2 or (count > most and not truncate):
        return None, count
    message = _new_message(residual, kept, kept, THRESHOLD, tau)
    message[HEADER_INTS:] = entries[:kept]
    return message, count


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
    size = residual.size
    message = _new_message(residual, size, size // _WORD + 1, BITMAP, tau)
    kernels = _kernels(residual, update)
    changes = kernels.no_changes(residual) if update is None else update
    count = kernels.bitmap_encode(
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


def subtract_and_clear(
    total: FloatArray, target: FloatArray, messages: Sequence[NDArray[np.int32]] | None
) -> None:
    """Subtract a sum of messages from a vector, and set the sum to 0.

    Parameters
    ----------
    total : ndarray of shape (n,), float32 or float64, contiguous
        Messages were added to it. 0 afterwards.
    target : ndarray of shape (n,), same dtype, contiguous
        Changed.
    messages : sequence of int32 message, or None
        The threshold messages that `total` is the sum of; only where they have entries
        are the vectors looked at. None looks everywhere, and then anything may have
        been added.

    Notes
    -----
    The same bits with and without `messages`: a number that is nowhere in them is 0,
    and subtracting 0 changes nothing.
    """
    kernels = _kernels(total, target)
    if messages is None:
        kernels.subtract_and_clear(total, target)
        return
    for message in messages:
        kernels.subtract_entries_and_clear(message[HEADER_INTS:], total, target)


def double(message: NDArray[np.int32], residual: FloatArray) -> None:
    """Take a message off the residual a second time, and double its threshold.

    Parameters
    ----------
    message : ndarray of shape (length,), int32
        Just taken out of `residual`; of either kind. Its threshold is doubled.
    residual : ndarray of shape (n,), float32 or float64, contiguous
        Changed where the message has entries.

    Notes
    -----
    What was encoded with half a threshold is then sent by whole ones: rounded to the
    nearest, not down.
    """
    half = header_tau(message)
    add = bitmap_decode_add if int(message[3]) == BITMAP else threshold_decode_add
    message[2] = int((-half).view(np.int32))
    add(message, residual)
    message[2] = int((half + half).view(np.int32))


def header_tau(message: NDArray[np.int32]) -> np.float32:
    """Return the threshold in the header of a message of shape (4 + payload,)."""
    tau: np.float32 = np.int32(int(message[2])).view(np.float32)
    return tau


def _step(residual: FloatArray, tau: float) -> np.floating[Any]:
    step: np.floating[Any] = residual.dtype.type(np.float32(tau))
    return step


def _most_entries(residual: FloatArray, boundary: int | None) -> int:
    return residual.size if boundary is None else min(boundary, residual.size)


def _new_message(
    residual: FloatArray, first: int, payload: int, kind: int, tau: float
) -> NDArray[np.int32]:
    namespace = array_namespace(residual)
    message: NDArray[np.int32] = namespace.empty(HEADER_INTS + payload, dtype=np.int32)
    bits = int(np.float32(tau).view(np.int32))
    message[:HEADER_INTS] = namespace.asarray((first, residual.size, bits, kind))
    return message


def _kernels(*vectors: FloatArray | None) -> ModuleType:
    """Return the compiled kernels for contiguous vectors of the host."""
    for vector in vectors:
        if vector is not None and (
            array_namespace(vector) is not np or not vector.flags.c_contiguous
        ):
            return reference
    if not numba_is_used():
        return reference
    # Not above: it imports numba, which takes most of a second.
    from daskdl.kernels.threshold import cpu

    return cpu
