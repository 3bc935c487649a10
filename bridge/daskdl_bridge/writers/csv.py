r"""CSV that Spark's reader gives the same texts of, with a header in each part.

Null is an empty cell and an empty text is ``""``; Spark tells them apart where its
``nullValue`` is another text than the empty one. Quotes and backslashes are escaped by
a backslash, within quotes only. What has no form as a cell (vectors, lists, structs and
maps) is JSON in a cell, which Spark's ``from_json`` reads.
"""

import datetime
import decimal
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from daskdl.errors import DataError
from daskdl_bridge.writers.json import (
    check_map_keys,
    float_text,
    interval_text,
    json_text,
)
from daskdl_bridge.writers.parquet import to_table
from daskdl_bridge.writers.python_values import python_values

__all__ = ["encode_csv"]

# Else Spark takes it for an end of the cell or of the line, or for something around the
# text: what Java calls blank are all characters up to the space.
_NEEDS_QUOTES = re.compile(r'[",\r\n]|^[\0- ]|[\0- ]$|^$')
_ESCAPED = str.maketrans({'"': '\\"', "\\": "\\\\"})


def encode_csv(columns: Mapping[str, Any]) -> tuple[bytes, int]:
    """Encode columns as CSV with a header.

    Parameters
    ----------
    columns : mapping of str to array
        As :func:`daskdl_bridge.writers.parquet.to_table` takes them.

    Returns
    -------
    data : bytes
        In UTF-8.
    rows : int
        How many rows there are, beside the header.

    Raises
    ------
    DataError
        As `to_table`, and for a column of bytes, or a map whose keys are no texts.
    """
    table = to_table(columns)
    for field in table.schema:
        _check_type(field)
    rows = [
        tuple(map(_text, table.column_names)),
        *zip(*map(_cells, table.columns), strict=True),
    ]
    # Spark skips empty lines.
    lines = "".join(f"{','.join(row) or _text('')}\n" for row in rows)
    return lines.encode(), table.num_rows


def _check_type(field: Any) -> None:
    if field.type == pa.binary():
        raise DataError(
            f"encode_csv: column {field.name!r} must hold no bytes, which have no form "
            "in CSV, got binary. Write JSON, which has them in Base64, or Parquet."
        )
    check_map_keys(field.type, "encode_csv", field.name)


def _cells(column: Any) -> list[str]:
    return [_CELLS[type(value)](value) for value in python_values(column)]


def _text(value: str) -> str:
    if _NEEDS_QUOTES.search(value):
        return f'"{value.translate(_ESCAPED)}"'
    return value


def _json(value: Any) -> str:
    return _text(json_text(value))


def _time(value: datetime.date) -> str:
    return value.isoformat()


def _decimal(value: decimal.Decimal) -> str:
    return format(value, "f")


_CELLS: Mapping[type, Callable[[Any], str]] = MappingProxyType(
    {
        type(None): lambda _: "",
        bool: lambda value: "true" if value else "false",
        int: str,
        float: float_text,
        str: _text,
        decimal.Decimal: _decimal,
        datetime.date: _time,
        datetime.datetime: _time,
        datetime.timedelta: interval_text,
        list: _json,
        dict: _json,
    }
)
