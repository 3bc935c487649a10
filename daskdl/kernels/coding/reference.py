"""Rice coding in plain array operations; a block at a time where k differs."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_BLOCK = 128


def smallest_gap(positions: NDArray[np.int32]) -> int:
    """Return the least gap between a position and the one before it, at most 1.

    Positions have shape (count,).
    """
    return int(np.diff(positions).min(initial=1))


def choose_low_bits(
    positions: NDArray[np.int32], least_gap: int, low_bits: NDArray[np.uint8]
) -> int:
    """Write k of each block; return the bits that the rests of all gaps take.

    Parameters
    ----------
    positions : ndarray of shape (count,), int32
        Ascending.
    least_gap : int
        From :func:`smallest_gap`.
    low_bits : ndarray of shape (blocks,), uint8
        Overwritten with k.
    """
    gaps = _gaps(positions, least_gap)
    n_bits = positions.size
    for block, span in _spans(positions.size):
        part = gaps[span]
        total, k = int(part.sum()), 0
        # As in the compiled twin.
        while (part.size << k) * 2048 < 493 * (2 * total + part.size):
            k += 1
        low_bits[block] = k
        n_bits += int((part >> k).sum())
    return n_bits


def rice_encode(
    positions: NDArray[np.int32],
    symbols: NDArray[np.uint8],
    symbol_bits: int,
    least_gap: int,
    low_bits: NDArray[np.uint8],
    fields: NDArray[np.uint64],
    rests: NDArray[np.uint64],
) -> None:
    """Write low bits and symbols into `fields`, the rests of the gaps into `rests`.

    Parameters
    ----------
    positions, symbols : ndarray of shape (count,), int32 and uint8
        What is coded.
    symbol_bits, least_gap : int
        Bits of a symbol, and what is taken off each gap.
    low_bits : ndarray of shape (blocks,), uint8
        k of each block.
    fields, rests : ndarray of shape (n_fields,), (n_rests,), uint64
        The words of the code, in this order. Overwritten.
    """
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
    words: NDArray[np.uint64],
    first_rest: int,
    symbol_bits: int,
    least_gap: int,
    low_bits: NDArray[np.uint8],
    size: int,
    positions: NDArray[np.int32],
    symbols: NDArray[np.uint8],
) -> bool:
    """Read positions and symbols; return whether all is as it must be.

    Parameters
    ----------
    words : ndarray of shape (n_words,), uint64
        The code.
    first_rest : int
        Where the rests of the gaps begin in it.
    symbol_bits, least_gap : int
        As for :func:`rice_encode`.
    low_bits : ndarray of shape (blocks,), uint8
        k of each block.
    size : int
        The largest position that there may be.
    positions, symbols : ndarray of shape (count,), int32 and uint8
        Overwritten.
    """
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


def count_codes(words: NDArray[np.uint32]) -> int:
    """See :func:`daskdl.kernels.coding.count_codes`."""
    either = (words | (words >> np.uint32(16))) & np.uint32(0xFFFF)
    return int(np.bitwise_count(either).sum(dtype=np.int64))


def bitmap_codes(
    words: NDArray[np.uint32], positions: NDArray[np.int32], codes: NDArray[np.uint8]
) -> None:
    """Write the positions, from 1, and the codes that are not zero.

    Parameters
    ----------
    words : ndarray of shape (n_words,), uint32
        16 codes each.
    positions, codes : ndarray of shape (count,), int32 and uint8
        Overwritten; as many as :func:`count_codes` counts.
    """
    both = words[:, None] >> np.arange(16, dtype=np.uint32)
    every = ((both & 1) | (both >> np.uint32(15) & 2)).ravel()
    found = np.flatnonzero(every)
    positions[:] = found + 1
    codes[:] = every[found]


def write_bitmap(
    positions: NDArray[np.int32], codes: NDArray[np.uint8], words: NDArray[np.uint32]
) -> None:
    """Set the codes at the positions, in words that are 0 there.

    Parameters
    ----------
    positions, codes : ndarray of shape (count,), int32 and uint8
        Positions are counted from 1.
    words : ndarray of shape (n_words,), uint32
        16 codes each.
    """
    where = positions - 1
    code = codes.astype(np.uint32)
    bits = (code & np.uint32(1)) | (code >> np.uint32(1)) << np.uint32(16)
    np.bitwise_or.at(words, where >> 4, bits << (where & 15).astype(np.uint32))


def _gaps(positions: NDArray[np.int32], least_gap: int) -> NDArray[np.int64]:
    gaps: NDArray[np.int64] = np.empty(positions.size, np.int64)
    gaps[:1] = positions[:1] - (1 - least_gap)
    np.subtract(positions[1:], positions[:-1], out=gaps[1:])
    gaps -= least_gap
    return gaps


def _spans(count: int) -> Iterator[tuple[int, slice]]:
    return enumerate(
        slice(start, min(start + _BLOCK, count)) for start in range(0, count, _BLOCK)
    )


def _packed(bits: NDArray[np.int64]) -> NDArray[np.uint64]:
    padded = np.zeros(-(-bits.size // 64) * 64, np.uint8)
    padded[: bits.size] = bits
    words: NDArray[np.uint64] = np.packbits(padded, bitorder="little").view(np.uint64)
    return words


def _unpacked(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    octets = np.ascontiguousarray(words).view(np.uint8)
    return np.unpackbits(octets, bitorder="little").astype(np.int64)
