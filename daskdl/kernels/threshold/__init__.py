"""Messages of gradient sharing, threshold and bitmap: encode and decode-add.

A message is a 1-d int32 array of DL4J's layout: four header ints (count, vector length,
the bits of a float32 threshold, the kind), then signed positions counted from 1, or
two-bit codes, 16 in an int.

The threshold is a float32 on the wire; arithmetic is done in the type of the vector
with that float32 value, so encoder and decoder agree for float64 vectors as well. The
functions here trust their input; ``daskdl.encoding`` checks what comes from others.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.jit import numba_is_used
from daskdl.kernels.threshold import cpu

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
    most = _most_entries(residual, boundary)
    if scratch is None:
        scratch = Scratch.for_messages_from(residual, boundary)
    entries = scratch.entries[:most]
    step = _step(residual, tau)
    if _is_compiled_for(residual, update):
        changes, held = cpu.changes(residual, update), scratch.held
        count = int(cpu.take_quanta(residual, changes, step, entries, held, truncate))
    else:
        count = _take_quanta(residual, update, step, entries, truncate)
    kept = min(count, most)
    if kept < 2 or (count > most and not truncate):
        return None, count
    message = _new_message(residual, kept, kept, THRESHOLD, tau)
    message[HEADER_INTS:] = entries[:kept]
    return message, count


def difference_encode(
    base: FloatArray,
    params: FloatArray,
    tau: float,
    *,
    quantum: float = 1.0,
    boundary: int | None = None,
    scratch: Scratch | None = None,
) -> tuple[NDArray[np.int32] | None, int]:
    """Take quanta off a base wherever it lies the threshold or more from parameters.

    As :func:`threshold_encode` without `truncate`, of a residual that is nowhere: what
    a base has that the parameters have not. It is written only where a quantum is
    taken.

    Parameters
    ----------
    base : ndarray of shape (n,), float32 or float64, contiguous
        The quanta are taken off if a message is returned, by the very subtraction with
        which the message is decoded.
    params : ndarray of shape (n,), same dtype, contiguous
        Not changed.
    tau : float
        The threshold, rounded to float32.
    quantum : float
        How many thresholds are taken: 2 rounds to the nearest.
    boundary, scratch
        As of :func:`threshold_encode`.

    Returns
    -------
    message : ndarray of shape (4 + entries,), int32, or None
        None for fewer than two entries, and for too many. Its threshold is the quantum.
    count : int
        How many elements differ by `tau` or more; -1 where a difference is not finite,
        and nothing was changed.
    """
    most = _most_entries(base, boundary)
    if scratch is None:
        scratch = Scratch.for_messages_from(base, boundary)
    entries = scratch.entries[:most]
    reached, step = _step(base, tau), _step(base, quantum * np.float32(tau))
    if _is_compiled_for(base, params):
        room = (entries, scratch.held)
        count = int(cpu.take_differences(base, params, reached, step, *room))
    else:
        count = _take_differences(base, params, reached, step, entries)
    if not 2 <= count <= most:
        return None, count
    message = _new_message(base, count, count, THRESHOLD, float(step))
    message[HEADER_INTS:] = entries[:count]
    return message, count


def clip_difference(params: FloatArray, base: FloatArray, bound: float) -> None:
    """Bring parameters to within a bound of a base.

    Parameters
    ----------
    params : ndarray of shape (n,), float32 or float64, contiguous
        Written where they differ by more.
    base : ndarray of shape (n,), same dtype, contiguous
        Not changed.
    bound : float
        Of the difference.
    """
    most = base.dtype.type(bound)
    if _is_compiled_for(base, params):
        cpu.clip_differences(params, base, most)
        return
    namespace = array_namespace(params)
    difference = base - params
    clipped = namespace.clip(difference, -most, most)
    namespace.copyto(params, base - clipped, where=namespace.abs(difference) > most)


def threshold_decode_add(
    message: NDArray[np.int32], target: FloatArray, *, sign: int = 1
) -> None:
    """Add the quanta of a message of :func:`threshold_encode` to a vector.

    Parameters
    ----------
    message : ndarray of shape (4 + entries,), int32
        Positions must lie within `target`. One that comes twice counts twice.
    target : ndarray of shape (n,), float32 or float64, contiguous
        Changed.
    sign : int
        Of what is added: -1 subtracts the quanta.
    """
    step = target.dtype.type(sign * header_tau(message))
    if _is_compiled_for(target):
        cpu.add_quanta(message[HEADER_INTS:], step, target)
        return
    _add_quanta(message[HEADER_INTS:], step, target)


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
    half, words = step / step.dtype.type(2), message[HEADER_INTS:]
    if _is_compiled_for(residual, update):
        changes = cpu.changes(residual, update)
        return message, int(cpu.bitmap_encode(residual, changes, step, half, words))
    if update is not None:
        residual += update
    plus, minus = residual >= step, residual <= -step
    signed = residual <= -half
    _write_bits(plus | minus, signed, words)
    residual -= _steps(plus | minus, signed, step, half)
    return message, int(plus.sum() + signed.sum())


def bitmap_decode_add(
    message: NDArray[np.int32], target: FloatArray, *, sign: int = 1
) -> None:
    """Add what a message of :func:`bitmap_encode` carries to a vector.

    Parameters
    ----------
    message : ndarray of shape (n // 16 + 5,), int32
        Not changed.
    target : ndarray of shape (n,), float32 or float64, contiguous
        Changed.
    sign : int
        Of what is added: -1 subtracts it.
    """
    step = target.dtype.type(sign * header_tau(message))
    half = step / step.dtype.type(2)
    words = message[HEADER_INTS:]
    if _is_compiled_for(target):
        cpu.bitmap_decode_add(words, step, half, target)
        return
    namespace = array_namespace(target)
    shifts = namespace.arange(_WORD, dtype=np.uint32)
    codes = words.view(np.uint32)[:, None]
    magnitude = ((codes >> shifts) & 1).ravel()[: target.size].astype(bool)
    signed = ((codes >> (shifts + _WORD)) & 1).ravel()[: target.size].astype(bool)
    steps = _steps(magnitude, signed, step, half)
    # Where there is no code: adding -0 changes no bit, adding 0 turns -0 into 0.
    target += namespace.where(magnitude | signed, steps, -(step - step))


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
    add(message, residual, sign=-1)
    message[2] = int((half + half).view(np.int32))


def all_lie_within(entries: NDArray[np.int32], size: int) -> bool:
    """Return whether all entries are positions from 1 to `size`, signed.

    Parameters
    ----------
    entries : ndarray of shape (count,), int32
        What stands behind the header of a message.
    size : int
        Length of the vector.
    """
    if _is_compiled_for(entries):
        return bool(cpu.all_lie_within(entries, size))
    wrong = (entries < -size) | (entries > size) | (entries == 0)
    return not bool(wrong.any())


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


def _take_quanta(
    residual: FloatArray,
    update: FloatArray | None,
    step: np.floating[Any],
    entries: NDArray[np.int32],
    truncate: bool,
) -> int:
    """Add the update, write the first signed positions that reach the step; count all.

    A quantum is taken off where a position was written, unless there are fewer than two
    or, without truncation, more than `entries` holds.
    """
    namespace = array_namespace(residual)
    if update is not None:
        residual += update
    positions = namespace.flatnonzero(namespace.abs(residual) >= step)
    count, first = int(positions.size), positions[: entries.size]
    entries[: first.size] = namespace.where(residual[first] < 0, -1 - first, 1 + first)
    if first.size >= 2 and (truncate or count == first.size):
        _add_quanta(entries[: first.size], -step, residual)
    return count


def _take_differences(
    base: FloatArray,
    params: FloatArray,
    reached: np.floating[Any],
    step: np.floating[Any],
    entries: NDArray[np.int32],
) -> int:
    """Take the step off the base where it is apart; count, -1 if a number is none.

    Nothing is taken off if there are fewer than two, or more than `entries` holds.
    """
    namespace = array_namespace(base)
    difference = base - params
    if not namespace.isfinite(difference).all():
        return -1
    positions = namespace.flatnonzero(namespace.abs(difference) >= reached)
    count = int(positions.size)
    if 2 <= count <= entries.size:
        is_negative = difference[positions] < 0
        entries[:count] = namespace.where(is_negative, -1 - positions, 1 + positions)
        _add_quanta(entries[:count], -step, base)
    return count


def _add_quanta(
    entries: NDArray[np.int32], step: np.floating[Any], target: FloatArray
) -> None:
    """Add `step` with the sign of each entry at the entry's position."""
    namespace = array_namespace(target)
    steps = namespace.where(entries < 0, -step, step).astype(target.dtype)
    # Unlike target[i] += step this counts a position that comes twice.
    namespace.add.at(target, namespace.abs(entries) - 1, steps)


def _steps(
    magnitude: NDArray[np.bool_],
    signed: NDArray[np.bool_],
    step: np.floating[Any],
    half: np.floating[Any],
) -> FloatArray:
    """Return what two-bit codes stand for."""
    namespace = array_namespace(magnitude)
    positive = namespace.where(magnitude, step, step - step)
    negative = namespace.where(magnitude, -step, -half)
    steps: FloatArray = namespace.where(signed, negative, positive)
    return steps


def _write_bits(
    magnitude: NDArray[np.bool_], sign: NDArray[np.bool_], words: NDArray[np.int32]
) -> None:
    namespace = array_namespace(words)
    shifts = namespace.arange(_WORD, dtype=np.uint32)
    padded = namespace.zeros((2, words.size * _WORD), dtype=np.uint32)
    padded[0, : magnitude.size] = magnitude
    padded[1, : sign.size] = sign
    halves = (padded.reshape(2, words.size, _WORD) << shifts).sum(
        axis=2, dtype=np.uint32
    )
    words.view(np.uint32)[:] = halves[0] | (halves[1] << np.uint32(_WORD))


def _is_compiled_for(*vectors: NDArray[Any] | None) -> bool:
    """Return whether compiled kernels take these vectors."""
    for vector in vectors:
        if vector is not None and (
            array_namespace(vector) is not np or not vector.flags.c_contiguous
        ):
            return False
    return numba_is_used()
