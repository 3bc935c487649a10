"""What pickles make of Python's dates, times, decimals and named tuples.

As `daskdl_bridge.readers.pickled_classes`: each checks what it is given. Python's own
classes take the bytes of a date as they are, with a day of 0 or 99 in them.
"""

import datetime
import decimal
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["VALUES", "row_of"]

# Spark's widest decimal has 38 digits; those behind the point may be many zeros.
_MOST_DIGITS = 100
# Behind the point, as in Spark and Arrow. pyarrow takes what has many more for zero, or
# ends the process.
_MOST_SCALE = 38

_DATE_BYTES, _TIME_BYTES = 4, 6
_FOLD = 0x80


def row_of(names: Any, values: Any) -> dict[str, Any]:
    """Return the values of a row of Spark, or of a named tuple, by their names.

    Raises
    ------
    ValueError, TypeError
        If there is not one text for each value.
    """
    if not isinstance(names, list | tuple) or not isinstance(values, tuple):
        raise TypeError("a row without names or values")
    if not all(isinstance(name, str) for name in names):
        raise ValueError("a row whose names are no texts")
    if not len(set(names)) == len(names) == len(values):
        raise ValueError("a row whose names are not one for each value")
    return dict(zip(names, values, strict=True))


def _named_tuple(name: Any, fields: Any, values: Any) -> dict[str, Any]:
    if not isinstance(name, str):
        raise TypeError("a named tuple without a name")
    return row_of(fields, values)


def _date(state: Any) -> datetime.date:
    return _day(state, _DATE_BYTES)


def _datetime(state: Any, zone: Any = None) -> datetime.datetime:
    day = _day(state, _DATE_BYTES + _TIME_BYTES)
    hour, minute, second = state[_DATE_BYTES : _DATE_BYTES + 3]
    time = datetime.time(hour, minute, second, int.from_bytes(state[-3:], "big"))
    if zone is not None and not isinstance(zone, datetime.timezone):
        raise TypeError("a time in an unknown time zone")
    return datetime.datetime.combine(day, time, zone)


def _day(state: Any, n_bytes: int) -> datetime.date:
    if not isinstance(state, bytes) or len(state) != n_bytes:
        raise TypeError(f"a date that has not {n_bytes} bytes")
    # Newer protocols tell by the month which of two equal times is meant.
    year, month = int.from_bytes(state[:2], "big"), state[2] & ~_FOLD
    return datetime.date(year, month, state[3])


def _timedelta(days: Any = 0, seconds: Any = 0, microseconds: Any = 0) -> Any:
    if not {int}.issuperset(map(type, (days, seconds, microseconds))):
        raise TypeError("a time difference of other things than whole numbers")
    return datetime.timedelta(days, seconds, microseconds)


def _timezone(offset: Any, name: Any = None) -> datetime.timezone:
    if not isinstance(offset, datetime.timedelta) or not isinstance(name, str | None):
        raise TypeError("a time zone without an offset")
    return datetime.timezone(offset)


def _decimal(text: Any) -> decimal.Decimal:
    if not isinstance(text, str) or len(text) > _MOST_DIGITS:
        raise TypeError(f"a decimal that is no text of up to {_MOST_DIGITS} characters")
    try:
        number = decimal.Decimal(text)
    except decimal.InvalidOperation as error:
        raise ValueError("a decimal of other things than digits") from error
    exponent = number.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -_MOST_SCALE:
        raise ValueError(
            f"a decimal of more than {_MOST_SCALE} digits behind the point"
        )
    return number


def _ordered_dict() -> dict[str, Any]:
    return {}


VALUES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "collections.OrderedDict": _ordered_dict,
        "datetime.date": _date,
        "datetime.datetime": _datetime,
        "datetime.timedelta": _timedelta,
        "datetime.timezone": _timezone,
        "decimal.Decimal": _decimal,
        # Where PYSPARK_ENABLE_NAMEDTUPLE_PATCH is 1; else it is a class with its code.
        "pyspark.serializers._restore": _named_tuple,
    }
)
"""What a pickle may name, module and name, to what is called in its place."""
