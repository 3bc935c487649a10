"""Rice coding compiled for the CPU: two to four nanoseconds a position."""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from daskdl.kernels.jit import jit
from daskdl.kernels.lanes import count_bits, trailing_zeros

_BLOCK = 128
_ONE = np.uint64(1)


@jit
def split_entries(entries, positions, is_negative):
    """Write the position of each signed entry, and whether it is negative."""
    for i in range(entries.size):
        entry = entries[i]
        positions[i] = abs(entry)
        is_negative[i] = entry < 0


@jit
def join_entries(positions, is_negative, entries):
    """Undo :func:`split_entries`."""
    for i in range(positions.size):
        position = positions[i]
        entries[i] = -position if is_negative[i] else position


@jit
def smallest_gap(positions):
    """Return the least gap between a position and the one before it, at most 1."""
    smallest = np.int32(1)
    for i in range(1, positions.size):
        smallest = min(smallest, positions[i] - positions[i - 1])
    return smallest


@jit
def choose_low_bits(positions, least_gap, low_bits):
    """Write k of each block; return the bits that the rests of all gaps take."""
    n_bits = positions.size
    before = np.int64(1 - least_gap)
    for block in range(low_bits.size):
        part = positions[_BLOCK * block : _BLOCK * (block + 1)]
        total = np.int64(part[-1]) - before - part.size * least_gap
        k = 0
        # As NumPy does, see there.
        while (part.size << k) * 2048 < 493 * (2 * total + part.size):
            k += 1
        low_bits[block] = k
        n_bits += (np.int64(part[0]) - before - least_gap) >> k
        rests = 0
        for i in range(1, part.size):
            rests += (np.int64(part[i]) - np.int64(part[i - 1]) - least_gap) >> k
        n_bits += rests
        before = np.int64(part[-1])
    return n_bits


@jit
def rice_encode(positions, symbols, symbol_bits, least_gap, low_bits, fields, rests):
    """Write low bits and symbols into `fields`, the rests of the gaps into `rests`."""
    rests[:] = 0
    before = np.int64(1 - least_gap)
    shift = np.uint64(symbol_bits)
    word, rest = 0, 0
    for block in range(low_bits.size):
        k = np.int64(low_bits[block])
        width = k + symbol_bits
        low = (np.int64(1) << k) - 1
        waiting, n_waiting = np.uint64(0), 0
        for i in range(_BLOCK * block, min(_BLOCK * (block + 1), positions.size)):
            gap = np.int64(positions[i]) - before - least_gap
            before = np.int64(positions[i])
            field = np.uint64(gap & low) << shift | np.uint64(symbols[i])
            waiting |= field << np.uint64(n_waiting)
            n_waiting += width
            if n_waiting >= 64:
                fields[word] = waiting
                word += 1
                n_waiting -= 64
                waiting = field >> np.uint64(width - n_waiting)
            rest += gap >> k
            rests[rest >> 6] |= _ONE << np.uint64(rest & 63)
            rest += 1
        if n_waiting > 0:
            fields[word] = waiting
            word += 1


@jit
def rice_decode(
    words, first_rest, symbol_bits, least_gap, low_bits, size, positions, symbols
):
    """Read positions and symbols; return whether all is as it must be."""
    position = np.int64(1 - least_gap)
    symbol_mask = (_ONE << np.uint64(symbol_bits)) - _ONE
    word, last = 0, -1
    rest_word, rests = first_rest, words[first_rest]
    for block in range(low_bits.size):
        k = np.int64(low_bits[block])
        width = k + symbol_bits
        mask = (_ONE << np.uint64(width)) - _ONE
        most = size >> k
        stop = min(_BLOCK * (block + 1), positions.size)
        bit = 0
        for i in range(_BLOCK * block, stop):
            while rests == 0:
                rest_word += 1
                if rest_word == words.size:
                    return False
                rests = words[rest_word]
            one = 64 * (rest_word - first_rest) + trailing_zeros(rests)
            rests &= rests - _ONE
            rest = one - last - 1
            last = one
            at = word + (bit >> 6)
            begin = np.uint64(bit & 63)
            # In two steps: a shift by 64 is not defined.
            above = (words[at + 1] << _ONE) << (np.uint64(63) - begin)
            field = (words[at] >> begin | above) & mask
            bit += width
            if rest > most:
                return False
            low = np.int64(field >> np.uint64(symbol_bits))
            position += least_gap + (rest << k | low)
            if position > size:
                return False
            positions[i] = position
            symbols[i] = field & symbol_mask
        word += (bit + 63) >> 6
    return rests == 0 and rest_word == words.size - 1


@jit
def count_codes(words):
    """Return how many codes of a bitmap are not zero."""
    count = 0
    for i in range(words.size):
        word = np.uint64(words[i])
        count += count_bits((word | word >> np.uint64(16)) & np.uint64(0xFFFF))
    return count


@jit
def bitmap_codes(words, positions, codes):
    """Write the positions, from 1, and the codes that are not zero."""
    count = 0
    for i in range(words.size):
        word = np.uint64(words[i])
        found = (word | word >> np.uint64(16)) & np.uint64(0xFFFF)
        while found != 0:
            k = trailing_zeros(found)
            found &= found - _ONE
            both = word >> np.uint64(k)
            positions[count] = 16 * i + k + 1
            codes[count] = (both & _ONE) | ((both >> np.uint64(15)) & np.uint64(2))
            count += 1


@jit
def write_bitmap(positions, codes, words):
    """Set the codes at the positions."""
    for k in range(positions.size):
        i = np.int64(positions[k]) - 1
        code = np.uint32(codes[k])
        bits = (code & np.uint32(1)) | (code >> np.uint32(1)) << np.uint32(16)
        words[i >> 4] |= bits << np.uint32(i & 15)
