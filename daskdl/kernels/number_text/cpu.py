"""Rows of numbers read from bytes, compiled for the CPU: some ten nanoseconds each.

References
----------
D. Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience
51, 2021: eight digits at a time, and the nearest float64 by a product of 128 bits.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from daskdl.kernels.jit import jit
from daskdl.kernels.lanes import (
    byte_at,
    float_of_bits,
    high_product,
    leading_zeros,
    trailing_zeros,
    word_at,
)

_MINUS, _PLUS, _POINT, _ZERO, _E = 45, 43, 46, 48, 101
LINE_FEED, RETURN, _LOWER = 10, 13, 32

# Digits that 64 bits hold whatever they are; whole numbers and powers of ten up to
# these are exact in a float64.
_MOST_DIGITS = 19
_EXACT = np.uint64(1 << 53)
_EXACT_POWER = 22
_MOST_EXPONENT_DIGITS = 4

# Of eight characters: what tells those that are no digits, and the steps from digits to
# pairs, fours and one number.
# Offsets in the tables: powers of ten as words, as float64, and of five in 128 bits.
_WHOLE, _TENS, _FIVES = 0, 8 * 9, 8 * (9 + 23)
_FLAGS = np.uint64(0x8080808080808080)
_ABOVE_NINE = np.uint64(0x4646464646464646)
_ZEROS = np.uint64(0x3030303030303030)
_PAIRS = np.uint64(0x000000FF000000FF)
_HUNDREDS = np.uint64(100 + (1000000 << 32))
_ONES = np.uint64(1 + (10000 << 32))
_TEN, _EIGHT, _SIXTEEN, _HALF = map(np.uint64, (10, 8, 16, 32))

# Of a product of 64 and 128 bits: what is rounded off, and all of a half.
_ROUNDED_OFF = np.uint64(0x1FF)
_ALL = np.uint64(2**64 - 1)
_NOTHING, _ONE, _THREE = map(np.uint64, (0, 1, 3))
SMALLEST_POWER, LARGEST_POWER = -342, 308
_SIGN = np.uint64(63)
_MANTISSA_BITS = np.uint64(52)
_FRACTION = np.uint64(2**52 - 1)
_INFINITE = 0x7FF


@jit
def _digits_of(word):
    """Return how many of eight characters are digits up to the first other."""
    others = ((word + _ABOVE_NINE) | (word - _ZEROS)) & _FLAGS
    if others == np.uint64(0):
        return 8
    return trailing_zeros(others) >> 3


@jit
def _number_of(word, n_digits):
    """Return the number that the first digits of eight characters are."""
    digits = word - _ZEROS
    if n_digits < 8:
        # In two steps: a shift by 64 is not defined.
        digits = (digits << _EIGHT) << np.uint64(56 - 8 * n_digits)
    digits = digits * _TEN + (digits >> _EIGHT)
    high = (digits & _PAIRS) * _HUNDREDS
    low = ((digits >> _SIXTEEN) & _PAIRS) * _ONES
    return (high + low) >> _HALF


@jit
def read_digits(at, mantissa, tables):
    """Return a number with further digits behind its own, and where they end."""
    n_digits = 8
    while n_digits == 8:
        word = word_at(at)
        n_digits = _digits_of(word)
        shifted = mantissa * word_at(tables + _WHOLE + 8 * n_digits)
        mantissa = shifted + _number_of(word, n_digits)
        at += n_digits
    return mantissa, at


@jit
def _read_exponent(at):
    """Return the exponent behind the letter there, and where it ends, 0 if nowhere."""
    at += 1
    sign = byte_at(at)
    at += sign in (_MINUS, _PLUS)
    word = word_at(at)
    n_digits = _digits_of(word)
    if n_digits == 0 or n_digits > _MOST_EXPONENT_DIGITS:
        return 0, 0
    exponent = np.int64(_number_of(word, n_digits))
    return -exponent if sign == _MINUS else exponent, at + n_digits


@jit
def _count_leading_zeros(at, end):
    """Return how many zeros stand before the first other digit of a number."""
    n_zeros = 0
    while at < end:
        character = byte_at(at)
        if character == _ZERO:
            n_zeros += 1
        elif character != _POINT:
            break
        at += 1
    return n_zeros


@jit
def _nearest(mantissa, exponent, tables):
    """Return the float64 nearest to mantissa * 10**exponent, NaN where that is hard.

    Of the algorithm of Eisel and Lemire the part for numbers that are not subnormal.
    """
    if exponent < SMALLEST_POWER or exponent > LARGEST_POWER:
        return np.nan
    n_zeros = leading_zeros(mantissa)
    mantissa <<= np.uint64(n_zeros)
    five = tables + _FIVES + 16 * (exponent - SMALLEST_POWER)
    high, low = high_product(mantissa, word_at(five)), mantissa * word_at(five)
    if high & _ROUNDED_OFF == _ROUNDED_OFF:
        carried = high_product(mantissa, word_at(five + 8))
        low += carried
        high += np.uint64(carried > low)
        if low == _ALL:
            return np.nan
    upper = np.int64(high >> _SIGN)
    shift = np.uint64(upper + 9)
    bits = high >> shift
    # The binary logarithm of ten is 217706 / 2**16, as exactly as these powers need.
    power = ((217706 * exponent) >> 16) + 63 + upper - n_zeros + 1023
    is_between = low <= _ONE and -4 <= exponent <= 23 and bits & _THREE == _ONE
    if is_between and bits << shift == high:
        bits &= ~_ONE  # to the even one of two
    bits = (bits + (bits & _ONE)) >> _ONE
    if bits >= _EXACT:
        bits >>= _ONE
        power += 1
    if power <= 0 or power >= _INFINITE:
        return np.nan
    return float_of_bits((bits & _FRACTION) | np.uint64(power) << _MANTISSA_BITS)


@jit
def _value_of(mantissa, exponent, tables):
    """Return the float64 nearest to mantissa * 10**exponent, NaN where that is hard."""
    if mantissa > _EXACT or exponent < -_EXACT_POWER or exponent > _EXACT_POWER:
        return 0.0 if mantissa == _NOTHING else _nearest(mantissa, exponent, tables)
    # Both are exact, and one operation rounds once (W. D. Clinger, 1990).
    value = np.float64(np.int64(mantissa))
    ten = float_of_bits(word_at(tables + _TENS + 8 * abs(exponent)))
    return value / ten if exponent < 0 else value * ten


@jit
def read_number(begin, tables):
    """Return the number that begins there, and where it ends.

    NaN for what is empty, and for what has to be looked at closely. The end is 0 where
    no number is.
    """
    sign = byte_at(begin)
    first = begin + (sign in (_MINUS, _PLUS))
    mantissa, at = read_digits(first, _NOTHING, tables)
    n_digits, exponent = at - first, 0
    if byte_at(at) == _POINT:
        point = at + 1
        mantissa, at = read_digits(point, mantissa, tables)
        exponent = point - at
        n_digits -= exponent
    if n_digits == 0:
        return np.nan, begin if at == begin else 0
    is_long = n_digits > _MOST_DIGITS
    if is_long:
        is_long = n_digits - _count_leading_zeros(first, at) > _MOST_DIGITS
    if byte_at(at) | _LOWER == _E:
        power, at = _read_exponent(at)
        exponent += power
    value = np.nan if is_long else _value_of(mantissa, exponent, tables)
    return -value if sign == _MINUS else value, at


@jit
def _end_of_cell(at, delimiter):
    """Return where a cell ends that may hold anything."""
    character = byte_at(at)
    while character != delimiter and character != LINE_FEED and character != RETURN:
        at += 1
        character = byte_at(at)
    return at


@jit
def _note(hard, column, row, begin, end):
    """Note an empty cell, or a number for others; return whether there is room."""
    if end == begin:
        hard[0, 1] = 1
        return True
    n_hard = hard[0, 0] + 1
    if n_hard == len(hard):
        return False
    hard[0, 0] = n_hard
    hard[n_hard, 0], hard[n_hard, 1] = column, row
    hard[n_hard, 2], hard[n_hard, 3] = begin, end
    return True


@jit
def _read_row(at, delimiter, columns, row, tables, doubles, singles, hard):
    """Read a line into row `row`; return where the next one begins, or 0."""
    is_blank = True
    for column in range(len(columns)):
        place, begin = columns[column, 0], at
        if place < 0:
            at = _end_of_cell(at, delimiter)
        else:
            value, at = read_number(begin, tables)
            if at == 0:
                return 0
            place += row * columns[column, 1]
            if value != value and not _note(hard, column, row, begin, at):
                return 0
            is_blank &= at == begin
            if columns[column, 2] == 0:
                doubles[place] = value
            else:
                singles[place] = value
                if np.isinf(singles[place]):
                    return 0
        end = byte_at(at)
        if column < len(columns) - 1:
            if end != delimiter:
                return 0
        elif end != LINE_FEED and end != RETURN:
            return 0
        at += 1
    return 0 if is_blank else at


@jit
def read_rows(
    start, stop, delimiter, columns, row, n_rows, tables, doubles, singles, hard
):
    """Read lines from row `row` on; return the number of rows, -1 if one is not plain.

    `start`, `stop` and `tables` are addresses.
    """
    at = start
    while at < stop:
        character = byte_at(at)
        if character in (LINE_FEED, RETURN):
            at += 1
            continue
        if row == n_rows:
            return -1
        at = _read_row(at, delimiter, columns, row, tables, doubles, singles, hard)
        if at == 0:
            return -1
        row += 1
    return row
