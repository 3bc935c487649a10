"""Whether Spark and pyarrow read the quotes of a CSV text alike."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl_bridge.readers.csv_cells import CsvDialect

__all__ = ["quoting_in_agreement"]


def quoting_in_agreement(
    data: bytes, dialect: CsvDialect, *, may_span: bool
) -> dict[str, Any] | None:
    """Return the options with which pyarrow takes quotes and escapes as Spark does.

    Parameters
    ----------
    data : bytes
        UTF-8.
    dialect : CsvDialect
        With a delimiter of one byte.
    may_span : bool
        Whether quoted cells may hold line ends.

    Returns
    -------
    dict or None
        For ``pyarrow.csv.ParseOptions``. None where they would differ, or might.

    Notes
    -----
    They agree where each quote begins or ends a whole cell, and where an escape inside
    one makes the next character ordinary. Elsewhere a quote is part of the text for
    Spark, and so is an escape that stands before any other character.
    """
    quote, escape = dialect.quote.encode(), dialect.escape.encode()
    sizes = {len(quote), len(escape), len(dialect.delimiter.encode())}
    if sizes != {1} or dialect.char_to_escape_quote_escaping or b"\0" in data:
        return None
    how = {"quote_char": dialect.quote, "double_quote": False, "escape_char": False}
    if quote == escape:
        spans = _spans(data, dialect, may_span=may_span, may_double=True)
        return None if spans is None else {**how, "double_quote": True}
    pairs = re.compile(re.escape(escape) + b"[" + re.escape(quote + escape) + b"]")
    # Of equal length, and nothing that has a meaning.
    masked, n_pairs = pairs.subn(b"..", data) if escape in data else (data, 0)
    spans = _spans(masked, dialect, may_span=may_span, may_double=False)
    if spans is None or not n_pairs:
        return None if spans is None else how
    at = np.fromiter((found.start() for found in pairs.finditer(data)), np.intp)
    opens, closes = spans
    are_inside = np.searchsorted(opens, at) == np.searchsorted(closes, at) + 1
    if escape in masked or not are_inside.all():
        return None
    return {**how, "escape_char": dialect.escape}


def _spans(
    data: bytes, dialect: CsvDialect, *, may_span: bool, may_double: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Return where quoted cells open and close; None if a quote is out of place.

    A doubled quote closes a cell and opens it again.
    """
    text = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(text == ord(dialect.quote))
    if len(quotes) % 2:
        return None
    opens, closes = quotes[0::2], quotes[1::2]
    ends = np.zeros(256, bool)
    ends[[ord(dialect.delimiter), ord("\n"), ord("\r")]] = True
    begins_cell = (opens == 0) | ends[text[opens - 1]]
    ends_cell = (closes == len(text) - 1) | ends[text[(closes + 1) % len(text)]]
    if may_double:
        is_doubled = opens[1:] == closes[:-1] + 1
        begins_cell[1:] |= is_doubled
        ends_cell[:-1] |= is_doubled
    if not (begins_cell.all() and ends_cell.all()):
        return None
    if not may_span:
        lines = np.flatnonzero((text == ord("\n")) | (text == ord("\r")))
        if (np.searchsorted(lines, opens) != np.searchsorted(lines, closes)).any():
            return None
    return opens, closes
