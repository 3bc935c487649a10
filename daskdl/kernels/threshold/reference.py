"""Threshold and bitmap coding in plain array operations, for NumPy and CuPy."""

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.arrays.namespace import FloatArray, array_namespace

_WORD = 16


def no_changes(residual: FloatArray) -> FloatArray:
    """Return changes that change no number, not even the sign of a zero: shape ().

    It is broadcast to the residual's shape (n,).
    """
    namespace = array_namespace(residual)
    nothing: FloatArray = namespace.asarray(-0.0, dtype=residual.dtype)
    return nothing


def take_quanta(
    residual: FloatArray,
    changes: FloatArray,
    tau: np.floating[Any],
    entries: NDArray[np.int32],
    held: FloatArray,
    truncate: bool,
) -> int:
    """Add the changes, write the first signed positions that reach tau; count all.

    `residual` is of shape (n,), `changes` likewise or of no axis, `entries` and `held`
    are of shape (most,). A quantum is taken off where a position was written, unless
    there are fewer than two or, without truncation, more than `entries` holds. What the
    compiled kernel needs `held` for, to put back what it took off, is not needed here.
    """
    namespace = array_namespace(residual)
    residual += changes
    positions = namespace.flatnonzero(namespace.abs(residual) >= tau)
    count, first = int(positions.size), positions[: entries.size]
    entries[: first.size] = namespace.where(residual[first] < 0, -1 - first, 1 + first)
    if first.size >= 2 and (truncate or count == first.size):
        add_quanta(entries[: first.size], -tau, residual)
    return count


def add_quanta(
    entries: NDArray[np.int32], tau: np.floating[Any], target: FloatArray
) -> None:
    """Add ``tau`` with the sign of each entry at the entry's position.

    `entries` is of shape (count,) and counts positions from 1, `target` of shape (n,).
    """
    namespace = array_namespace(target)
    steps = namespace.where(entries < 0, -tau, tau).astype(target.dtype)
    # Unlike target[i] += step this counts a position that comes twice.
    namespace.add.at(target, namespace.abs(entries) - 1, steps)


def subtract_entries_and_clear(
    entries: NDArray[np.int32], total: FloatArray, target: FloatArray
) -> None:
    """Subtract `total` from `target` at the entries' positions, and set it to 0 there.

    `entries` is of shape (count,) and counts positions from 1; the others are (n,).
    """
    positions = array_namespace(target).abs(entries) - 1
    # A position that comes twice is moved once, as its total is one number.
    target[positions] -= total[positions]
    total[positions] = 0


def subtract_and_clear(total: FloatArray, target: FloatArray) -> None:
    """Subtract `total`, shape (n,), from `target`, the same, and set it to 0."""
    target -= total
    total.fill(0)


def bitmap_encode(
    residual: FloatArray,
    changes: FloatArray,
    tau: np.floating[Any],
    half: np.floating[Any],
    words: NDArray[np.int32],
) -> int:
    """Add the changes, write two-bit codes, take what they carry off; count codes.

    `residual` is of shape (n,), `changes` likewise or of no axis. `words` are of shape
    (n_words,), overwritten with 16 codes each.
    """
    namespace = array_namespace(residual)
    residual += changes
    plus = residual >= tau
    minus = residual <= -tau
    signed = residual <= -half
    _write_bits(plus | minus, signed, words)
    residual -= _steps(namespace, plus | minus, signed, tau, half)
    return int(plus.sum() + signed.sum())


def bitmap_decode_add(
    words: NDArray[np.int32],
    tau: np.floating[Any],
    half: np.floating[Any],
    target: FloatArray,
) -> None:
    """Add what the two-bit codes stand for.

    `words` is of shape (n_words,) with 16 codes each, `target` of shape (n,).
    """
    namespace = array_namespace(target)
    shifts = namespace.arange(_WORD, dtype=np.uint32)
    codes = words.view(np.uint32)[:, None]
    magnitude = ((codes >> shifts) & 1).ravel()[: target.size].astype(bool)
    signed = ((codes >> (shifts + _WORD)) & 1).ravel()[: target.size].astype(bool)
    steps = _steps(namespace, magnitude, signed, tau, half)
    # Where there is no code: adding -0 changes no bit, adding 0 turns -0 into 0.
    target += namespace.where(magnitude | signed, steps, -(tau - tau))


def _steps(
    namespace: ModuleType,
    magnitude: NDArray[np.bool_],
    signed: NDArray[np.bool_],
    tau: np.floating[Any],
    half: np.floating[Any],
) -> FloatArray:
    positive = namespace.where(magnitude, tau, tau - tau)
    negative = namespace.where(magnitude, -tau, -half)
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
