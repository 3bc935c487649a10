"""Lines of JSON as Spark writes them, an object for each row.

Columns that are null are left out. What JSON has no form for is a text that Spark's
reader takes for that value: NaN and Infinity, dates and times in ISO 8601, time
differences as SQL has them, bytes in Base64.
"""

import base64
import datetime
import decimal
import json
import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from daskdl.errors import DataError
from daskdl_bridge.readers.arrays import is_list
from daskdl_bridge.writers.parquet import to_table
from daskdl_bridge.writers.python_values import python_values

__all__ = ["check_map_keys", "encode_json", "float_text", "interval_text", "json_text"]


def encode_json(columns: Mapping[str, Any]) -> tuple[bytes, int]:
    """Encode columns as lines of JSON.

    Parameters
    ----------
    columns : mapping of str to array
        As :func:`daskdl_bridge.writers.parquet.to_table` takes them.

    Returns
    -------
    data : bytes
        In UTF-8. Vectors are arrays of numbers.
    rows : int
        How many lines there are.

    Raises
    ------
    DataError
        As `to_table`, and for a map whose keys are no texts.
    """
    table = to_table(columns)
    for field in table.schema:
        check_map_keys(field.type, "encode_json", field.name)
    names = [f"{_text(name)}:" for name in table.column_names]
    rows = zip(*map(python_values, table.columns), strict=True)
    lines = "".join(f"{{{','.join(_fields(names, row))}}}\n" for row in rows)
    return lines.encode(), table.num_rows


def json_text(value: Any) -> str:
    """Return a value of a column as JSON.

    Parameters
    ----------
    value : object
        As `python_values` returns them.
    """
    return _TEXTS[type(value)](value)


def float_text(value: float) -> str:
    """Return a float as Java writes it where that is no number."""
    if math.isfinite(value):
        return repr(value)
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def interval_text(value: datetime.timedelta) -> str:
    """Return a time difference as SQL has it, which Spark writes and reads."""
    sign = "-" if value < datetime.timedelta() else ""
    size = abs(value)
    minutes, second = divmod(size.seconds, 60)
    hour, minute = divmod(minutes, 60)
    fraction = f".{size.microseconds:06d}" if size.microseconds else ""
    time = f"{hour:02d}:{minute:02d}:{second:02d}{fraction}"
    return f"INTERVAL '{sign}{size.days} {time}' DAY TO SECOND"


def check_map_keys(arrow_type: Any, who: str, column: str) -> None:
    """Refuse maps whose keys are no texts; Spark does not read them from JSON.

    Raises
    ------
    DataError
    """
    if pa.types.is_map(arrow_type):
        if arrow_type.key_type != pa.string():
            raise DataError(
                f"{who}: maps of column {column!r} must have texts for keys in JSON, "
                f"got {arrow_type}. Write Parquet."
            )
        check_map_keys(arrow_type.item_type, who, column)
    elif pa.types.is_struct(arrow_type):
        for field in arrow_type:
            check_map_keys(field.type, who, column)
    elif is_list(arrow_type):
        check_map_keys(arrow_type.value_type, who, column)


def _fields(names: list[str], row: tuple[Any, ...]) -> Iterator[str]:
    for name, value in zip(names, row, strict=True):
        if value is not None:
            yield name + json_text(value)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'"{float_text(value)}"'


def _decimal(value: decimal.Decimal) -> str:
    return format(value, "f")


def _bytes(value: bytes) -> str:
    return f'"{base64.b64encode(value).decode()}"'


def _time(value: datetime.date) -> str:
    return f'"{value.isoformat()}"'


def _array(values: list[Any]) -> str:
    return f"[{','.join(map(json_text, values))}]"


def _object(values: dict[str, Any]) -> str:
    fields = (f"{_text(name)}:{json_text(value)}" for name, value in values.items())
    return f"{{{','.join(fields)}}}"


_TEXTS: Mapping[type, Callable[[Any], str]] = MappingProxyType(
    {
        type(None): lambda _: "null",
        bool: lambda value: "true" if value else "false",
        int: str,
        float: _number,
        str: _text,
        bytes: _bytes,
        decimal.Decimal: _decimal,
        datetime.date: _time,
        datetime.datetime: _time,
        datetime.timedelta: lambda value: f'"{interval_text(value)}"',
        list: _array,
        dict: _object,
    }
)
