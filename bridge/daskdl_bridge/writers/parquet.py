"""Parquet files that Spark reads as its own, vectors included.

Spark knows a vector column by a JSON schema in the file's metadata and by nothing else.
Where that schema stands, it must describe every column.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from daskdl.checks import some
from daskdl.data.sinks import NestedColumn
from daskdl.errors import DataError
from daskdl_bridge.readers.arrays import is_list
from daskdl_bridge.readers.buffers import as_arrow
from daskdl_bridge.readers.vectors import VECTOR, encode_vectors, is_vector
from daskdl_bridge.row_metadata import ROW_METADATA

__all__ = ["encode_parquet", "to_table"]


_PLAIN_TYPES = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.duration("us"): "interval day to second",
}

# What Spark does not read, or reads as another type, and what holds the same values.
_SUBSTITUTES = {
    pa.null(): pa.string(),
    pa.float16(): pa.float32(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.large_string(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.date64(): pa.date32(),
}


def encode_parquet(columns: Mapping[str, Any]) -> tuple[Any, int]:
    """Encode columns as a Parquet file in memory.

    Parameters
    ----------
    columns : mapping of str to array
        As `to_table` takes them.

    Returns
    -------
    data : pyarrow.Buffer
        The bytes of the file.
    rows : int
        How many rows it holds.

    Raises
    ------
    DataError
        As `to_table`.
    """
    table = to_table(columns)
    sink = pa.BufferOutputStream()
    # Spark reads INT96 too, but writes and prefers microseconds.
    pq.write_table(table, sink, compression="snappy", coerce_timestamps="us")
    return sink.getvalue(), table.num_rows


def to_table(columns: Mapping[str, Any]) -> Any:
    """Make a table that carries Spark's schema.

    Parameters
    ----------
    columns : mapping of str to array
        Columns of equal length: pyarrow arrays, ndarrays of shape (rows,), or float
        ndarrays of shape (rows, width), which become vectors. Masked rows are null.
        A `NestedColumn` becomes arrays.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    DataError
        If columns differ in length, or one holds what Spark has no type for.
    """
    arrays = {name: _as_array(name, column) for name, column in columns.items()}
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"to_table: columns must have one length, got {lengths!r}.")
    fields = [
        {"name": name, "type": _spark_type(name, a.type), "nullable": True}
        for name, a in arrays.items()
    ]
    schema = {
        "type": "struct",
        "fields": [{**field, "metadata": {}} for field in fields],
    }
    return pa.table(arrays).replace_schema_metadata(
        {ROW_METADATA: json.dumps(schema).encode()}
    )


def _as_array(name: str, column: Any) -> Any:
    if isinstance(column, NestedColumn):
        nested = pa.list_(pa.float64())
        for _ in range(column.depth - 1):
            nested = pa.list_(nested)
        return pa.array(column.rows, nested)
    if isinstance(column, np.ma.MaskedArray):
        is_masked = np.ma.getmaskarray(column).reshape(len(column), -1)
        is_null: NDArray[np.bool_] = np.any(is_masked, axis=1)
        if column.ndim == 2:
            return encode_vectors(column.data, is_null)
        return pc.if_else(pa.array(~is_null), _as_array(name, column.data), None)
    if isinstance(column, np.ndarray) and column.ndim == 2:
        return encode_vectors(column)
    if isinstance(column, np.ndarray) and column.ndim != 1:
        raise DataError(
            f"to_table: column {name!r} must have shape (rows,) or (rows, width), got "
            f"{column.shape}."
        )
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    try:
        array = column if isinstance(column, pa.Array) else _inferred(column)
        return array.cast(_writable(array.type))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise DataError(
            f"to_table: column {name!r} must hold values of one type that Spark knows: "
            f"{error}"
        ) from error


def _inferred(values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.dtype != object:
        return as_arrow(values)
    array = pa.array(values)
    first = next((value for value in values if value is not None), None)
    if not pa.types.is_struct(array.type) or not isinstance(first, dict):
        return array
    # pyarrow 18 sorts the fields by name; Spark's struct had them in this order.
    names = [field.name for field in array.type]
    in_order = sorted(names, key=[*first, *names].index)
    return pa.array(values, pa.struct([array.type.field(name) for name in in_order]))


def _writable(arrow_type: Any) -> Any:
    """Return the type that Spark reads for values of a type."""
    if pa.types.is_dictionary(arrow_type):
        return _writable(arrow_type.value_type)
    if is_vector(arrow_type):
        return VECTOR
    if pa.types.is_timestamp(arrow_type):
        return pa.timestamp("us", arrow_type.tz)
    if pa.types.is_duration(arrow_type):
        return pa.duration("us")
    if pa.types.is_time(arrow_type):
        # Only Spark 4.1 has times of day. As texts they sort alike.
        return pa.string()
    if pa.types.is_fixed_size_binary(arrow_type):
        return pa.binary()
    if is_list(arrow_type):
        return pa.list_(_writable(arrow_type.value_type))
    if pa.types.is_map(arrow_type):
        return pa.map_(_writable(arrow_type.key_type), _writable(arrow_type.item_type))
    if pa.types.is_struct(arrow_type):
        return pa.struct(
            [
                pa.field(field.name, _writable(field.type), field.nullable)
                for field in arrow_type
            ]
        )
    return _SUBSTITUTES.get(arrow_type, arrow_type)


def _spark_type(name: str, arrow_type: Any) -> Any:
    """Return Spark's JSON for a type."""
    if arrow_type in _PLAIN_TYPES:
        return _PLAIN_TYPES[arrow_type]
    if arrow_type == VECTOR:
        return _VECTOR_UDT
    if pa.types.is_decimal(arrow_type):
        return f"decimal({arrow_type.precision},{arrow_type.scale})"
    if pa.types.is_timestamp(arrow_type):
        return "timestamp" if arrow_type.tz else "timestamp_ntz"
    if pa.types.is_list(arrow_type):
        element = _spark_type(name, arrow_type.value_type)
        return {"type": "array", "elementType": element, "containsNull": True}
    if pa.types.is_map(arrow_type):
        return {
            "type": "map",
            "keyType": _spark_type(name, arrow_type.key_type),
            "valueType": _spark_type(name, arrow_type.item_type),
            "valueContainsNull": True,
        }
    if pa.types.is_struct(arrow_type):
        return {"type": "struct", "fields": [_spark_field(f) for f in arrow_type]}
    raise DataError(
        f"output: column {name!r} must have a type that Spark knows, such as "
        f"{some(_PLAIN_TYPES.values(), 9)}, got {arrow_type}. Convert it, or leave it "
        "out: keep takes the names of the columns to keep."
    )


def _spark_field(field: Any) -> dict[str, Any]:
    return {
        "name": field.name,
        "type": _spark_type(field.name, field.type),
        "nullable": field.nullable,
        "metadata": {},
    }


def _array_of(element: str) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": False}


_VECTOR_UDT = {
    "type": "udt",
    "class": "org.apache.spark.ml.linalg.VectorUDT",
    "pyClass": "pyspark.ml.linalg.VectorUDT",
    "sqlType": {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": name != "type", "metadata": {}}
            for name, kind in (
                ("type", "byte"),
                ("size", "integer"),
                ("indices", _array_of("integer")),
                ("values", _array_of("double")),
            )
        ],
    },
}
