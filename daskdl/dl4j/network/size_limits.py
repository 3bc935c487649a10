"""Size limits of configurations from files that somebody else wrote.

A text of a few megabytes can describe layers within layers without end, or take a
thousand times its size once it is parsed; all that comes later relies on these bounds.
"""

import math
import re

from daskdl.dl4j.network.json_objects import Json, shown
from daskdl.errors import FormatError

MOST_BYTES = 16 << 20
"""Of a text; the configuration of ResNet-50 has half a megabyte."""
MOST_VALUES = 1 << 19
"""Values in a text; the configuration of ResNet-50 has twelve thousand."""
DEEPEST = 100
"""Levels of objects and lists."""

LONGEST_TEXT = 10_000
"""Characters of a name or another text."""

# Half a character: no text that can be written down.
_HALF = re.compile("[\ud800-\udfff]")
# Java has no longer whole numbers.
_LONG = range(-(1 << 63), 1 << 63)


def check_length(text: str | bytes, who: str) -> None:
    """Refuse a text that is too long.

    Raises
    ------
    FormatError
        With the length.
    """
    if len(text) > MOST_BYTES:
        raise FormatError(
            f"{who}: must have at most {MOST_BYTES} bytes, got {len(text)}."
        )


def check_values(data: Json, who: str) -> None:
    """Refuse values that are nested too deep, or that DL4J's JSON cannot hold.

    Raises
    ------
    FormatError
        If an object or list is at a level that no configuration has, a text is too
        long, a number is not finite or longer than Java's, or a value is of another
        type than JSON has.
    """
    waiting = [(data, 1)]
    while waiting:
        value, level = waiting.pop()
        if level > DEEPEST:
            raise FormatError(f"{who}: must be at most {DEEPEST} levels deep.")
        if isinstance(value, dict):
            waiting += [(item, level + 1) for pair in value.items() for item in pair]
        elif isinstance(value, list):
            waiting += [(item, level + 1) for item in value]
        elif not _is_plain(value):
            raise FormatError(
                f"{who}: must have texts of at most {LONGEST_TEXT} characters, finite "
                "numbers of at most 64 bits and true, false and null, got "
                f"{_described(value)}."
            )


def _is_plain(value: Json) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_TEXT and not _HALF.search(value)
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, int):
        return value in _LONG
    return isinstance(value, float) and math.isfinite(value)


def _described(value: Json) -> str:
    # Python refuses to write out a number of thousands of digits.
    is_whole = isinstance(value, int)
    return f"one of {value.bit_length()} bits" if is_whole else shown(value)
