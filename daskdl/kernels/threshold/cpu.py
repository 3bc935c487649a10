"""Threshold and bitmap coding compiled for the CPU, each in one pass.

::

    for each block of 64                          16 lanes at a time
      residual += update, compare                 reads 8 bytes, writes 4
      for each of the 64 bits that is set         none in most blocks
        write its position, take its quantum off  in the first-level cache

That is the traffic of ``residual += update``, and as long as few elements are sent the
time of it, too: 0.98 of its speed at 1e-3, 0.83 at 1e-2, 0.6 at 6e-2. A compressed
store of AVX-512 would make the last 0.7, which is not worth code for one kind of CPU:
denser vectors are sent as bitmaps, and those look at no bits one by one.

The tails go element by element.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.jit import jit
from daskdl.kernels.lanes import (
    BLOCK,
    LANES,
    add_and_find,
    add_codes,
    count_bits,
    find_apart,
    take_codes,
    trailing_zeros,
)

_ONE = np.uint64(1)
_LOW_HALF = np.uint32(0xFFFF)


def changes(residual: FloatArray, update: FloatArray | None) -> FloatArray:
    """Return the update, or changes that change no number: not the sign of a zero.

    The latter are an array of shape (BLOCK,), which is read again for each block.
    """
    return np.full(BLOCK, -0.0, residual.dtype) if update is None else update


@jit
def take_quanta(residual, changes, tau, entries, held, truncate):
    """Add the changes, write the first signed positions that reach tau; count all.

    A quantum is taken off where a position was written, unless there are fewer than two
    or, without truncation, more than `entries` holds: then what was `held` is put back.
    """
    count = 0
    advance = 0 if changes.size < residual.size else 1
    for block in range(residual.size // BLOCK):
        start = BLOCK * block
        found = add_and_find(residual, changes, start, start * advance, tau)
        values = residual[start : start + BLOCK]
        while found != 0:
            k = trailing_zeros(found)
            found &= found - _ONE
            if count < entries.size:
                entries[count] = _entry(values[k], start + k)
                held[count] = values[k]
                values[k] = _without_quantum(values[k], tau)
            count += 1
    for i in range(residual.size - residual.size % BLOCK, residual.size):
        value = residual[i] + changes[i * advance]
        residual[i] = value
        if abs(value) >= tau:
            if count < entries.size:
                entries[count] = _entry(value, i)
                held[count] = value
                residual[i] = _without_quantum(value, tau)
            count += 1
    kept = min(count, entries.size)
    if kept < 2 or (count > kept and not truncate):
        for k in range(kept):
            residual[abs(np.int64(entries[k])) - 1] = held[k]
    return count


@jit
def _entry(value, i):
    return -1 - i if value < 0 else i + 1


@jit
def _without_quantum(value, tau):
    step = -tau if value < 0 else tau
    return value - step


@jit
def take_differences(base, params, reached, step, entries, held):
    """Take the step off the base where it is apart, write signed positions; count all.

    Only what is apart is written. If there are fewer than two, or more than `entries`
    holds, what was `held` is put back; also where a difference is not finite: the count
    is -1 then.
    """
    count = 0
    for block in range(base.size // BLOCK):
        found = find_apart(base, params, BLOCK * block, reached)
        while found != 0:
            i = BLOCK * block + trailing_zeros(found)
            found &= found - _ONE
            if not _take_difference(base, params, i, step, entries, held, count):
                _put_back(base, entries, held, count)
                return -1
            count += 1
    for i in range(base.size - base.size % BLOCK, base.size):
        if not abs(base[i] - params[i]) < reached:
            if not _take_difference(base, params, i, step, entries, held, count):
                _put_back(base, entries, held, count)
                return -1
            count += 1
    if count < 2 or count > entries.size:
        _put_back(base, entries, held, count)
    return count


@jit
def _take_difference(base, params, i, step, entries, held, count):
    """Take a step, if there is room for its entry; False if a number is none."""
    value = base[i]
    difference = value - params[i]
    if not abs(difference) < np.inf:
        return False
    if count < entries.size:
        entries[count] = _entry(difference, i)
        held[count] = value
        base[i] = value - (-step if difference < 0 else step)
    return True


@jit
def _put_back(base, entries, held, count):
    for k in range(min(count, entries.size)):
        base[abs(np.int64(entries[k])) - 1] = held[k]


@jit
def clip_differences(params, base, most):
    """Bring parameters to within `most` of the base; write only those that are not."""
    for block in range(base.size // BLOCK):
        found = find_apart(base, params, BLOCK * block, most)
        while found != 0:
            i = BLOCK * block + trailing_zeros(found)
            found &= found - _ONE
            _clip_difference(params, base, i, most)
    for i in range(base.size - base.size % BLOCK, base.size):
        _clip_difference(params, base, i, most)


@jit
def _clip_difference(params, base, i, most):
    difference = base[i] - params[i]
    if difference > most:
        params[i] = base[i] - most
    elif difference < -most:
        params[i] = base[i] + most


@jit
def add_quanta(entries, tau, target):
    """Add ``tau`` with the sign of each entry at the entry's position."""
    for k in range(entries.size):
        entry = np.int64(entries[k])
        # Chosen, not branched on: half of the signs would be guessed wrong.
        step = tau if entry > 0 else -tau
        target[abs(entry) - 1] += step


@jit
def all_lie_within(entries, size):
    """Return whether all are positions from 1 to size, signed."""
    wrong = 0
    for k in range(entries.size):
        entry = np.int64(entries[k])
        wrong |= (entry < -size) | (entry > size) | (entry == 0)
    return wrong == 0


@jit
def bitmap_encode(residual, changes, tau, half, words):
    """Add the changes, write two-bit codes, take what they carry off; count codes."""
    count = 0
    advance = 0 if changes.size < residual.size else 1
    for block in range(residual.size // LANES):
        start = LANES * block
        word = take_codes(residual, changes, start, start * advance, tau, half)
        words[block] = np.int32(word)
        count += count_bits(np.uint64((word | (word >> np.uint32(LANES))) & _LOW_HALF))
    word = np.uint32(0)
    for i in range(residual.size - residual.size % LANES, residual.size):
        value = residual[i] + changes[i * advance]
        bits, step = _code(value, tau, half)
        word |= bits << np.uint32(i % LANES)
        count += np.int64(bits != 0)
        residual[i] = value - step
    words[-1] = np.int32(word)
    return count


@jit
def _code(value, tau, half):
    plus = value >= tau
    minus = value <= -tau
    signed = value <= -half
    bits = np.uint32(plus | minus) | np.uint32(signed) << np.uint32(LANES)
    step = tau if plus else tau - tau
    step = -half if signed else step
    step = -tau if minus else step
    return bits, step


@jit
def bitmap_decode_add(words, tau, half, target):
    """Add what the two-bit codes stand for."""
    for block in range(target.size // LANES):
        add_codes(target, LANES * block, np.uint32(words[block]), tau, half)
    word = np.uint32(words[-1])
    for i in range(target.size - target.size % LANES, target.size):
        magnitude = (word >> np.uint32(i % LANES)) & np.uint32(1)
        signed = (word >> np.uint32(LANES + i % LANES)) & np.uint32(1)
        if signed:
            target[i] += -tau if magnitude else -half
        elif magnitude:
            target[i] += tau
