"""Values of ``column=value`` directories, with the types that Spark infers for them.

What Spark infers was found by asking it; see ``tests/spark/partition_oracle.py``. All
directories of a column decide together. Three things stay text here that are none to
every Spark: times of day, and dates and timestamps of years that Python does not count.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from types import MappingProxyType
from typing import Any, TypeAlias

import pyarrow as pa

__all__ = ["PartitionValue", "partition_texts", "typed_values"]

PartitionValue: TypeAlias = int | float | str | Decimal | date | datetime | None

_NULL = "__HIVE_DEFAULT_PARTITION__"

_INTEGER = re.compile(r"[+-]?[0-9]+")
# Java's BigDecimal, and its parseDouble, which takes blanks around a number off.
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")
_DOUBLE = re.compile(
    r"([+-]?)(?:(NaN|Infinity)"
    r"|((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?"
    r"|(0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?)"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    _DATE.pattern + r" (?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(\.[0-9])?"
)

_BLANKS = "".join(map(chr, range(33)))
_MOST_DIGITS = 38

_INT, _LONG, _FLOAT = pa.int32(), pa.int64(), pa.float64()
_DAY, _INSTANT = pa.date32(), pa.timestamp("us")
_TEXT, _NOTHING = pa.string(), pa.null()

# What holds all integers of a type, as Spark counts digits.
_DIGITS: Mapping[Any, int] = MappingProxyType({_INT: 10, _LONG: 20})


def partition_texts(directories: Iterable[str]) -> dict[str, str | None]:
    """Return the text behind the ``=`` of each directory of partitions, by column.

    Values are as they stand there; None is Spark's name for null.
    """
    texts: dict[str, str | None] = {}
    for directory in directories:
        column, separator, text = directory.partition("=")
        if separator:
            texts[_unescaped(column)] = None if text == _NULL else text
    return texts


def typed_values(
    texts: Sequence[str | None],
) -> tuple[Any, Mapping[str | None, PartitionValue]]:
    """Find the type of a partition column, and its values.

    Parameters
    ----------
    texts : sequence of (str or None)
        As `partition_texts` returns them, of all directories.

    Returns
    -------
    kind : pyarrow.DataType
        The narrowest that holds all values, as Spark has it. Timestamps have no zone:
        they are what Spark's sessions show, whatever theirs is.
    values : mapping of str or None to value
        What each text stands for.
    """
    different = list(dict.fromkeys(texts))
    kind = _NOTHING
    for text in different:
        kind = _wider(kind, _kind(text))
    values = {text: _value(text, kind) for text in different}
    return kind, values


def _kind(text: str | None) -> Any:
    """Return the type that Spark gives a text by itself."""
    if text is None:
        return _NOTHING
    if _INTEGER.fullmatch(text):
        number = int(text) if len(text) <= 2 * _MOST_DIGITS else 1 << 63
        if -(2**31) <= number < 2**31:
            return _INT
        if -(2**63) <= number < 2**63:
            return _LONG
    if _DECIMAL.fullmatch(text) and (digits := _digits(Decimal(text))) is not None:
        return pa.decimal128(digits, 0)
    if _DOUBLE.fullmatch(text.strip(_BLANKS)):
        return _FLOAT
    if _timestamp(text) is not None:
        return _INSTANT
    return _TEXT if _date(text) is None else _DAY


def _digits(number: Decimal) -> int | None:
    """Return the number of digits of a whole number; None for others and long ones."""
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or not 0 <= exponent < _MOST_DIGITS:
        return None
    count = len(digits) + exponent
    return count if count <= _MOST_DIGITS else None


def _wider(one: Any, other: Any) -> Any:
    """Return the narrowest type that holds both, text if there is none."""
    if one == other or other == _NOTHING:
        return one
    if one == _NOTHING:
        return other
    kinds = {one, other}
    if kinds == {_INT, _LONG}:
        return _LONG
    if kinds == {_INT, _FLOAT}:
        return _FLOAT
    if kinds == {_DAY, _INSTANT}:
        return _INSTANT
    digits = [
        kind.precision if pa.types.is_decimal(kind) else _DIGITS.get(kind)
        for kind in kinds
    ]
    counts = [count for count in digits if count is not None]
    return pa.decimal128(max(counts), 0) if len(counts) == 2 else _TEXT


def _value(text: str | None, kind: Any) -> PartitionValue:
    if text is None:
        return None
    if kind in (_INT, _LONG):
        return int(text)
    if kind == _FLOAT:
        return _float(text.strip(_BLANKS))
    if pa.types.is_decimal(kind):
        # As a whole number: 1E+5 is 100000.
        return Decimal(int(Decimal(text)))
    if kind == _DAY:
        return _date(text)
    if kind == _INSTANT:
        day = _date(text)
        return _timestamp(text) if day is None else datetime.combine(day, time())
    return _unescaped(text)


def _float(text: str) -> float:
    found = _DOUBLE.fullmatch(text)
    if found is None:
        return float(text)
    sign, name, plain, hexadecimal = found.groups()
    number = float.fromhex(hexadecimal) if hexadecimal else float(name or plain)
    return -number if sign == "-" else number


def _date(text: str) -> date | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _timestamp(text: str) -> datetime | None:
    plain = _unescaped(text)
    found = _TIMESTAMP.fullmatch(plain)
    if found is None:
        return None
    try:
        # Python 3.10 takes three or six digits of a second.
        return datetime.fromisoformat(plain + "00" if found[1] else plain)
    except ValueError:
        return None


def _unescaped(text: str) -> str:
    """Take out Spark's escapes, which stand for one character each."""
    return re.sub("%([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), text)
