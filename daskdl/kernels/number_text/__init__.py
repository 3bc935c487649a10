"""Numbers between delimiters, from bytes into arrays of floats.

For lines as programs write them: digits, a sign, a point, an exponent, or nothing where
a number is missing. Lines with anything else are left to a parser that knows more,
which is also the form of this kernel where nothing is compiled.

References
----------
D. Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience
51, 2021. Numbers come out as those nearest to what is written; the few that it has to
look at twice, and those of more than 19 digits, go through Python.
"""

import sys
from functools import cache
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daskdl.kernels.jit import numba_is_used
from daskdl.kernels.number_text import cpu, pairs

__all__ = ["SKIPPED", "Pairs", "count_byte", "read_numbers", "read_pairs"]

SKIPPED = -1
"""The place of a column that is not read."""

_TAKEN = frozenset(b"0123456789+-.eE\r\n")
# Eight bytes are read at a time, so that as many must follow the last line.
_PADDING = bytes(16)
# Of all numbers, those that may go through Python.
_MOST_HARD = 1 / 64
# Bytes that are compared at once: they and the answers stay in a cache.
_AT_ONCE = 1 << 17

Pairs: TypeAlias = tuple[
    NDArray[np.intp], NDArray[np.float64], NDArray[np.intp], NDArray[np.float64]
]
"""Pairs of each row, (rows,); labels, (rows,); indices and values, (pairs,)."""


def read_numbers(
    text: bytes,
    start: int,
    delimiter: int,
    columns: NDArray[np.int64],
    most_rows: int,
    doubles: NDArray[np.float64],
    singles: NDArray[np.float32],
) -> tuple[int, bool] | None:
    """Read lines of numbers, each into the place of its row and column.

    Parameters
    ----------
    text : bytes
        Lines that end in a line feed, a carriage return or both; empty ones do not
        count.
    start : int
        Offset of the first line.
    delimiter : int
        Between cells.
    columns : ndarray of shape (columns, 3), int64
        Of each column of the text: where its first number goes, or `SKIPPED`; how far
        from there the next one; whether into `singles`.
    most_rows : int
        For which the arrays have room.
    doubles, singles : ndarray of shape (numbers,)
        Overwritten. NaN for an empty cell; in `singles` the nearest to the float64.

    Returns
    -------
    (int, bool) or None
        The number of rows, and whether a cell is empty. None where a line has another
        number of cells, no number at all, or a cell that holds anything else; where a
        number is infinite in its array; and where nothing is compiled.
    """
    if delimiter in _TAKEN or sys.byteorder != "little" or not numba_is_used():
        return None
    n_read = int(np.count_nonzero(columns[:, 0] != SKIPPED))
    hard = np.zeros((2 + int(_MOST_HARD * n_read * most_rows), 4), np.int64)
    stop = max(start, text.rfind(b"\n", start, -len(_PADDING)) + 1)
    tail = text[stop:] + b"\n" + _PADDING
    rows = 0
    for piece, first, last in ((text, start, stop), (tail, 0, len(text) + 1 - stop)):
        address = np.frombuffer(piece, np.uint8).ctypes.data
        hard[0, 0] = 0
        rows = cpu.read_rows(
            address + first,
            address + last,
            delimiter,
            columns,
            rows,
            most_rows,
            _tables().ctypes.data,
            doubles,
            singles,
            hard,
        )
        if rows < 0 or not _finish(piece, address, hard, columns, doubles, singles):
            return None
    return rows, bool(hard[0, 1])


def read_pairs(text: bytes) -> Pairs | None:
    """Read lines of ``label index:value index:value ...``.

    Parameters
    ----------
    text : bytes
        Lines as of :func:`read_numbers`.

    Returns
    -------
    Pairs or None
        None where a line holds anything else, or nothing is compiled.
    """
    if sys.byteorder != "little" or not numba_is_used():
        return None
    n_rows = count_byte(text, b"\n") + count_byte(text, b"\r") + 1
    n_pairs = count_byte(text, b":")
    lengths, indices = np.empty(n_rows, np.intp), np.empty(n_pairs, np.intp)
    labels, values = np.empty(n_rows), np.empty(n_pairs)
    hard = np.zeros((2 + int(_MOST_HARD * (n_rows + n_pairs)), 4), np.int64)
    # A copy: the last number is read eight bytes at a time.
    padded = np.frombuffer(text + b"\n" + _PADDING, np.uint8)
    address = padded.ctypes.data
    rows = pairs.read_pair_rows(
        address,
        address + len(text) + 1,
        n_rows,
        _tables().ctypes.data,
        lengths,
        labels,
        indices,
        values,
        hard,
    )
    if rows < 0:
        return None
    for kind, place, begin, end in hard[1 : 1 + hard[0, 0]]:
        number = float(text[begin - address : end - address])
        (values if kind else labels)[place] = number
    found = int(hard[0, 1])
    return lengths[:rows], labels[:rows], indices[:found], values[:found]


def count_byte(text: bytes, byte: bytes, start: int = 0) -> int:
    """Return how often a byte comes from an offset on.

    Several times as fast as the method of bytes, and in little memory.
    """
    numbers = np.frombuffer(text, np.uint8, offset=start) if start < len(text) else ()
    return sum(
        int(np.count_nonzero(numbers[at : at + _AT_ONCE] == ord(byte)))
        for at in range(0, len(numbers), _AT_ONCE)
    )


def _finish(
    text: bytes,
    address: int,
    hard: NDArray[np.int64],
    columns: NDArray[np.int64],
    doubles: NDArray[np.float64],
    singles: NDArray[np.float32],
) -> bool:
    """Read the numbers that are left; return whether all are finite."""
    for column, row, begin, end in hard[1 : 1 + hard[0, 0]]:
        place, step, is_single = columns[column]
        out: NDArray[Any] = singles if is_single else doubles
        with np.errstate(over="ignore"):
            out[place + row * step] = float(text[begin - address : end - address])
        if not np.isfinite(out[place + row * step]):
            return False
    return True


@cache
def _tables() -> NDArray[np.uint64]:
    """Return what the kernel looks up; see there."""
    whole = 10 ** np.arange(9, dtype=np.uint64)
    tens = np.array([float(f"1e{power}") for power in range(23)])
    powers = range(cpu.SMALLEST_POWER, cpu.LARGEST_POWER + 1)
    fives = np.array(list(chain.from_iterable(map(_five, powers))), np.uint64)
    return np.concatenate([whole, tens.view(np.uint64), fives])


def _five(power: int) -> tuple[int, int]:
    """Return the first 128 bits of a power of five, cut off, or rounded up below 1."""
    number = 5 ** abs(power)
    if power < 0:
        n_bits = number.bit_length()
        number = (1 << (n_bits + 127 if power >= -27 else 2 * n_bits + 128)) // number
        number += 1
    excess = number.bit_length() - 128
    number = number >> excess if excess > 0 else number << -excess
    return number >> 64, number & (2**64 - 1)
