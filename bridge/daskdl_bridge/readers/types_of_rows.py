"""Types of columns that rows tell, where nothing else of a file does."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from daskdl_bridge.readers.arrays import innermost

__all__ = ["fits", "types_of_rows"]


def types_of_rows(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the types of columns as the first rows have them.

    Parameters
    ----------
    rows : iterable of dict of str to pyarrow.DataType
        Types of the values of each row, of null for None and of lists of null for
        those without elements. No more are taken than are needed.

    Returns
    -------
    dict of str to pyarrow.DataType
        Of the columns of the first row; what is unknown there is as in the first row
        that tells. Lists that have no element anywhere are of numbers.
    """
    each = iter(rows)
    settled = dict(next(each, {}))
    while any(map(_is_unknown, settled.values())):
        row = next(each, None)
        if row is None:
            break
        for name, kind in settled.items():
            told = row.get(name)
            if told is not None and _is_unknown(kind) and fits(kind, told):
                settled[name] = told
    return {name: _as_numbers(kind) for name, kind in settled.items()}


def fits(kind: Any, expected: Any) -> bool:
    """Tell whether a value of one type can stand in a column of another."""
    if kind == expected or pa.types.is_null(kind):
        return True
    if pa.types.is_list(kind) and pa.types.is_list(expected):
        return fits(kind.value_type, expected.value_type)
    return bool(kind == pa.int64() and expected == pa.float64())


def _is_unknown(kind: Any) -> bool:
    return bool(pa.types.is_null(innermost(kind)))


def _as_numbers(kind: Any) -> Any:
    if not pa.types.is_list(kind):
        return kind
    is_empty = pa.types.is_null(kind.value_type)
    return pa.list_(pa.float64() if is_empty else _as_numbers(kind.value_type))
