"""Rice coding of sorted positions, and bitmaps as positions with symbols.

A sorted list of positions with a symbol each (a sign) becomes bits. The gap between a
position and the one before it is cut in two: its low ``k`` bits are written as they
are, together with the symbol, and the rest, mostly 0 or 1, as that many zeros and a
one. ``k`` is chosen for each block of 128 positions, so that parts of a vector of which
much is sent and parts of which little is sent both get what suits them. As 64-bit
words::

    low bits, symbol | low bits, symbol | ...      block 0: k + symbol bits each
    low bits, symbol | ...                         block 1, from a word of its own
    0 0 1  1  0 1  1 ...                           all gaps' rests, to the last word

Low bits that lie apart from the rests are read without looking for where they begin,
and a rest is one instruction that counts zeros.

The functions here trust their input, except for :func:`rice_decode`, which may be given
anything. Bytes are little-endian.

References
----------
R. F. Rice, "Some practical universal noiseless coding techniques", JPL 79-22, 1979; the
choice of k is that of A. Kiely, "Selecting the Golomb parameter in Rice coding", IPN
progress report 42-159, 2004, with the mean gap of a block for the mean of a source.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daskdl.kernels.coding import cpu
from daskdl.kernels.jit import numba_is_used

BLOCK = 128
MOST_LOW_BITS = 31

Positions = NDArray[np.int32]
Symbols = NDArray[np.uint8]
Words = NDArray[np.uint64]


@dataclass(frozen=True)
class RicePlan:
    """How positions are going to be coded.

    Attributes
    ----------
    least_gap : int
        What is taken off each gap before: 1 unless a position comes twice.
    low_bits : ndarray of shape (blocks,), uint8
        k of each block of 128 positions.
    n_words : int
        Length of the code, in words of 64 bits.
    """

    least_gap: int
    low_bits: NDArray[np.uint8]
    n_words: int


def split_entries(entries: NDArray[np.int32]) -> tuple[Positions, Symbols]:
    """Return the positions of signed entries, (count,), and a 1 where negative."""
    if not numba_is_used():
        return np.abs(entries), (entries < 0).view(np.uint8)
    positions = np.empty(entries.size, np.int32)
    is_negative = np.empty(entries.size, np.uint8)
    cpu.split_entries(entries, positions, is_negative)
    return positions, is_negative


def join_entries(
    positions: Positions, is_negative: Symbols, entries: NDArray[np.int32]
) -> None:
    """Undo :func:`split_entries`; `entries`, of shape (count,), is overwritten."""
    if numba_is_used():
        cpu.join_entries(positions, is_negative, entries)
        return
    signs = np.int8(1) - np.int8(2) * is_negative.view(np.int8)
    np.multiply(positions, signs, out=entries)


def rice_plan(positions: Positions, symbol_bits: int) -> RicePlan | None:
    """Choose k for each block, and count the words of the code.

    Returns None where a position is less than the one before it.

    Parameters
    ----------
    positions : ndarray of shape (count,), int32
        Positive; they may repeat.
    symbol_bits : int
        Bits of a symbol.
    """
    find_gap, choose = (
        (cpu.smallest_gap, cpu.choose_low_bits)
        if numba_is_used()
        else (_smallest_gap, _choose_low_bits)
    )
    least_gap = int(find_gap(positions))
    if least_gap < 0:
        return None
    low_bits = np.empty(-(-positions.size // BLOCK), np.uint8)
    n_bits = int(choose(positions, least_gap, low_bits))
    n_words = field_words(low_bits, positions.size, symbol_bits) - (-n_bits // 64)
    return RicePlan(least_gap, low_bits, n_words)


def rice_encode(
    positions: Positions,
    symbols: Symbols,
    symbol_bits: int,
    plan: RicePlan,
    words: Words,
) -> None:
    """Code positions with their symbols.

    Parameters
    ----------
    positions : ndarray of shape (count,), int32
        What the plan was made for.
    symbols : ndarray of shape (count,), uint8
        Less than ``2**symbol_bits``.
    symbol_bits : int
        1 or 2.
    plan : RicePlan
        From :func:`rice_plan`.
    words : ndarray of shape (plan.n_words,), uint64
        Overwritten.
    """
    first_rest = field_words(plan.low_bits, positions.size, symbol_bits)
    fields, rests = words[:first_rest], words[first_rest:]
    least_gap, low_bits = plan.least_gap, plan.low_bits
    if numba_is_used():
        cpu.rice_encode(
            positions, symbols, symbol_bits, least_gap, low_bits, fields, rests
        )
        return
    gaps = _gaps(positions, least_gap)
    word = 0
    for block, span in _spans(positions.size):
        k = int(low_bits[block])
        low = gaps[span] & ((1 << k) - 1)
        values = low << symbol_bits | symbols[span]
        bits = values[:, None] >> np.arange(k + symbol_bits) & 1
        packed = _packed(bits.ravel())
        fields[word : word + packed.size] = packed
        word += packed.size
        gaps[span] >>= k
    ones = np.cumsum(gaps + 1) - 1
    unary = np.zeros(64 * rests.size, np.int64)
    unary[ones] = 1
    rests[:] = _packed(unary)


def rice_decode(
    words: Words,
    plan: RicePlan,
    symbol_bits: int,
    size: int,
    positions: Positions,
    symbols: Symbols,
) -> bool:
    """Undo :func:`rice_encode`; notice what cannot be a code.

    Parameters
    ----------
    words : ndarray of shape (plan.n_words,), uint64
        The code.
    plan : RicePlan
        As for the encoder; its arrays may hold anything.
    symbol_bits : int
        1 or 2.
    size : int
        The largest position that there may be.
    positions, symbols : ndarray of shape (count,), int32 and uint8
        Overwritten.

    Returns
    -------
    bool
        Whether the words are the code of as many positions as there is room for, each
        from 1 to `size`.
    """
    least_gap, low_bits = plan.least_gap, plan.low_bits
    if low_bits.size != -(-positions.size // BLOCK):
        return False
    if not positions.size or int(low_bits.max()) > MOST_LOW_BITS:
        return not positions.size and not words.size
    first_rest = field_words(low_bits, positions.size, symbol_bits)
    # A field may end in the word after its first, so there must be one.
    if first_rest >= words.size:
        return False
    if numba_is_used():
        code = (words, first_rest, symbol_bits, least_gap, low_bits)
        return bool(cpu.rice_decode(*code, size, positions, symbols))
    ones = np.flatnonzero(_unpacked(words[first_rest:]))
    if ones.size != positions.size or not words[-1]:
        return False
    gaps = np.diff(ones, prepend=-1) - 1
    word = 0
    for block, span in _spans(positions.size):
        k = int(low_bits[block])
        if (gaps[span] > size >> k).any():
            return False
        width = k + symbol_bits
        stop = word - (-gaps[span].size * width // 64)
        bits = _unpacked(words[word:stop])[: gaps[span].size * width]
        values = bits.reshape(-1, width) @ (1 << np.arange(width))
        symbols[span] = values & ((1 << symbol_bits) - 1)
        gaps[span] = gaps[span] << k | values >> symbol_bits
        word = stop
    # Each gap is at most twice the size, so that the sum cannot run over.
    found = np.cumsum(gaps + least_gap) + 1 - least_gap
    if found[-1] > size:
        return False
    positions[:] = found
    return True


def field_words(low_bits: NDArray[np.uint8], count: int, symbol_bits: int) -> int:
    """Return how many words the low bits and the symbols take.

    Parameters
    ----------
    low_bits : ndarray of shape (blocks,), uint8
        k of each block.
    count : int
        Number of positions.
    symbol_bits : int
        Bits of a symbol.
    """
    if not count:
        return 0
    widths = low_bits.astype(np.int64) + symbol_bits
    in_last = count - BLOCK * (low_bits.size - 1)
    # A full block is a whole number of words: two for each bit of the width.
    full = BLOCK // 64 * int(widths[:-1].sum())
    return full - (-in_last * int(widths[-1]) // 64)


def bitmap_codes(words: NDArray[np.uint32], count: int) -> tuple[Positions, Symbols]:
    """Return where the codes of a bitmap that are not zero stand, and these codes.

    Parameters
    ----------
    words : ndarray of shape (n_words,), uint32
        As of :func:`daskdl.kernels.threshold.bitmap_encode`: 16 codes in a word.
    count : int
        What :func:`count_codes` says of them.

    Returns
    -------
    positions : ndarray of shape (count,), int32
        From 1, ascending.
    codes : ndarray of shape (count,), uint8
        From 1 to 3: the magnitude bit, and above it the sign bit.
    """
    positions, codes = np.empty(count, np.int32), np.empty(count, np.uint8)
    if numba_is_used():
        cpu.bitmap_codes(words, positions, codes)
        return positions, codes
    both = words[:, None] >> np.arange(16, dtype=np.uint32)
    every = ((both & 1) | (both >> np.uint32(15) & 2)).ravel()
    found = np.flatnonzero(every)
    positions[:] = found + 1
    codes[:] = every[found]
    return positions, codes


def write_bitmap(
    positions: Positions, codes: Symbols, words: NDArray[np.uint32]
) -> None:
    """Undo :func:`bitmap_codes`.

    Parameters
    ----------
    positions, codes : ndarray of shape (count,), int32 and uint8
        As it returns them.
    words : ndarray of shape (n_words,), uint32
        Overwritten.
    """
    words.fill(0)
    if numba_is_used():
        cpu.write_bitmap(positions, codes, words)
        return
    where = positions - 1
    code = codes.astype(np.uint32)
    bits = (code & np.uint32(1)) | (code >> np.uint32(1)) << np.uint32(16)
    np.bitwise_or.at(words, where >> 4, bits << (where & 15).astype(np.uint32))


def count_codes(words: NDArray[np.uint32]) -> int:
    """Return how many codes of a bitmap, words of shape (n_words,), are not zero."""
    if numba_is_used():
        return int(cpu.count_codes(words))
    either = (words | (words >> np.uint32(16))) & np.uint32(0xFFFF)
    return int(np.bitwise_count(either).sum(dtype=np.int64))


def _smallest_gap(positions: Positions) -> int:
    """Return the least gap between a position and the one before it, at most 1."""
    return int(np.diff(positions).min(initial=1))


def _choose_low_bits(
    positions: Positions, least_gap: int, low_bits: NDArray[np.uint8]
) -> int:
    """Write k of each block; return the bits that the rests of all gaps take."""
    gaps = _gaps(positions, least_gap)
    n_bits = positions.size
    for block, span in _spans(positions.size):
        part = gaps[span]
        total, k = int(part.sum()), 0
        # log(golden ratio) = 0.4812 = 493 / 1024: where one bit more costs as much as
        # it saves. Half a gap is what the mean of whole numbers lacks.
        while (part.size << k) * 2048 < 493 * (2 * total + part.size):
            k += 1
        low_bits[block] = k
        n_bits += int((part >> k).sum())
    return n_bits


def _gaps(positions: NDArray[np.int32], least_gap: int) -> NDArray[np.int64]:
    gaps: NDArray[np.int64] = np.empty(positions.size, np.int64)
    gaps[:1] = positions[:1] - (1 - least_gap)
    np.subtract(positions[1:], positions[:-1], out=gaps[1:])
    gaps -= least_gap
    return gaps


def _spans(count: int) -> Iterator[tuple[int, slice]]:
    return enumerate(
        slice(start, min(start + BLOCK, count)) for start in range(0, count, BLOCK)
    )


def _packed(bits: NDArray[np.int64]) -> NDArray[np.uint64]:
    padded = np.zeros(-(-bits.size // 64) * 64, np.uint8)
    padded[: bits.size] = bits
    words: NDArray[np.uint64] = np.packbits(padded, bitorder="little").view(np.uint64)
    return words


def _unpacked(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    octets = np.ascontiguousarray(words).view(np.uint8)
    return np.unpackbits(octets, bitorder="little").astype(np.int64)
