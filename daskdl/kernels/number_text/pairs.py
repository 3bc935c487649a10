"""Lines of ``label index:value ...`` read from bytes, compiled for the CPU."""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from daskdl.kernels.jit import jit
from daskdl.kernels.lanes import byte_at
from daskdl.kernels.number_text.cpu import LINE_FEED, RETURN, read_digits, read_number

_TAB, _BLANK, _COLON = 9, 32, 58
# More than that a float64 does not tell apart, as which others read them.
_MOST_INDEX_DIGITS = 15
_NOTHING = np.uint64(0)


@jit
def _skip_blanks(at):
    """Return where the first character stands that is no blank."""
    while byte_at(at) in (_BLANK, _TAB):
        at += 1
    return at


@jit
def _is_line_end(character):
    return character in (LINE_FEED, RETURN)


@jit
def _ends_number(character):
    return character in (_BLANK, _TAB) or _is_line_end(character)


@jit
def _read_value(begin, out, place, kind, tables, hard):
    """Read a number into its place; return where it ends, 0 if none that is plain is.

    Numbers that have to be looked at closely are noted: `kind`, place, begin and end.
    """
    value, at = read_number(begin, tables)
    if at <= begin or not _ends_number(byte_at(at)):
        return 0
    if value != value:
        n_hard = hard[0, 0] + 1
        if n_hard == len(hard):
            return 0
        hard[0, 0] = n_hard
        hard[n_hard, 0], hard[n_hard, 1] = kind, place
        hard[n_hard, 2], hard[n_hard, 3] = begin, at
    out[place] = value
    return at


@jit
def read_pair_rows(start, stop, n_rows, tables, lengths, labels, indices, values, hard):
    """Read lines from address `start` to `stop`; return rows, -1 if one is not plain.

    A line end must stand at the end, and more characters behind it. Of `hard`, (most +
    1, 4), the first row holds how many follow, and then the number of pairs.
    """
    at, row, pair = start, 0, 0
    while at < stop:
        at = _skip_blanks(at)
        if _is_line_end(byte_at(at)):
            at += 1
            continue
        if row == n_rows:
            return -1
        at = _read_value(at, labels, row, 0, tables, hard)
        if at == 0:
            return -1
        first = pair
        at = _skip_blanks(at)
        while not _is_line_end(byte_at(at)):
            index, end = read_digits(at, _NOTHING, tables)
            n_digits = end - at
            is_index = 0 < n_digits <= _MOST_INDEX_DIGITS and byte_at(end) == _COLON
            if not is_index or pair == len(values):
                return -1
            indices[pair] = np.int64(index)
            at = _read_value(end + 1, values, pair, 1, tables, hard)
            if at == 0:
                return -1
            pair += 1
            at = _skip_blanks(at)
        lengths[row] = pair - first
        row += 1
    hard[0, 1] = pair
    return row
