"""Spark's intervals: whole numbers in files, which Spark's own schema explains.

Those of days and smaller units are microseconds, which Arrow calls durations. Those of
years and months are months; what Arrow has for them neither Parquet nor NumPy hold.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from daskdl.errors import ColumnError
from daskdl_bridge.readers.columns import ExampleColumns
from daskdl_bridge.readers.nested import type_of
from daskdl_bridge.row_metadata import ROW_METADATA

__all__ = [
    "CATALYST_TYPE",
    "interval_type",
    "parquet_durations",
    "parquet_intervals",
    "refuse_months",
    "with_durations",
]

CATALYST_TYPE = "spark.sql.catalyst.type"
"""Where Spark notes the type of a column of ORC and Avro."""

_MONTHS = pa.month_day_nano_interval()


def interval_type(spark_type: Any) -> Any:
    """Return the type of Arrow for an interval of Spark, None if it is none.

    Parameters
    ----------
    spark_type : object
        As Spark's schemas name it: "interval day to second", "interval year".
    """
    if not isinstance(spark_type, str) or not spark_type.startswith("interval "):
        return None
    is_months = spark_type.startswith(("interval year", "interval month"))
    return _MONTHS if is_months else pa.duration("us")


def parquet_intervals(
    schema: Any, metadata: Mapping[bytes, bytes] | None, *, with_months: bool = True
) -> Any:
    """Return the schema of a Parquet file with intervals where Spark stored them.

    Parameters
    ----------
    schema : pyarrow.Schema
        As Arrow reads it.
    metadata : mapping of bytes to bytes, or None
        What the file holds beside its columns.
    with_months : bool
        Whether those of years and months are intervals, too, or stay whole numbers.

    Returns
    -------
    pyarrow.Schema
    """
    stored_schema = (metadata or {}).get(ROW_METADATA, b"")
    # To parse that of a thousand columns takes a millisecond, and few hold intervals.
    if b"interval " not in stored_schema:
        return schema
    try:
        stored = json.loads(stored_schema)["fields"]
        types = {one["name"]: one["type"] for one in stored}
        fields = [
            _with_interval(one, types.get(one.name), with_months=with_months)
            for one in schema
        ]
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        # Most files have no such schema, and a damaged one is no more than a comment.
        return schema
    return pa.schema(fields, schema.metadata)


def parquet_durations(
    schema: Any, metadata: Mapping[bytes, bytes] | None
) -> dict[str, Any]:
    """Return the types of the columns in which Spark stored durations, by their names.

    Parameters
    ----------
    schema, metadata
        Of the file, as for `parquet_intervals`.
    """
    meant = parquet_intervals(schema, metadata, with_months=False)
    if meant is schema:
        return {}
    pairs = zip(schema, meant, strict=True)
    return {one.name: other.type for one, other in pairs if one.type != other.type}


def with_durations(table: Any, durations: Mapping[str, Any]) -> Any:
    """Return a table of a Parquet file with durations where Spark stored them.

    Parameters
    ----------
    table : pyarrow.Table
        Some columns of the file.
    durations : mapping of str to pyarrow.DataType
        As `parquet_durations` returns them.
    """
    for index, field in enumerate(table.schema):
        if field.name in durations:
            meant = field.with_type(durations[field.name])
            column = table.column(index).cast(meant.type)
            table = table.set_column(index, meant, column)
    return table


def refuse_months(columns: ExampleColumns, types: Mapping[str, Any], url: str) -> None:
    """Refuse intervals of years and months as keys, or to be kept.

    Raises
    ------
    ColumnError
        They would come back as numbers, which Spark reads as no interval.
    """
    for name in (*columns.keys, *columns.kept):
        found = type_of(name, types)
        if found is not None and _holds(found, lambda kind: kind == _MONTHS):
            raise ColumnError(
                f"{url}: column {name!r} must not hold intervals of years and months "
                "to be the key, or to be kept: results have no form for them. Take "
                f"CAST({name} AS STRING) in Spark."
            )


def _with_interval(field: Any, spark_type: Any, *, with_months: bool) -> Any:
    return field.with_type(_explained(field.type, spark_type, with_months=with_months))


def _explained(arrow_type: Any, spark_type: Any, *, with_months: bool) -> Any:
    """Return a type of Arrow with the intervals of Spark's JSON for the same column."""
    interval = interval_type(spark_type)
    if interval is not None and pa.types.is_integer(arrow_type):
        return arrow_type if interval == _MONTHS and not with_months else interval
    if not isinstance(spark_type, dict):
        return arrow_type
    explained = partial(_with_interval, with_months=with_months)
    kind = spark_type["type"]
    if kind == "array" and pa.types.is_list(arrow_type):
        return pa.list_(explained(arrow_type.value_field, spark_type["elementType"]))
    if kind == "map" and pa.types.is_map(arrow_type):
        key = explained(arrow_type.key_field, spark_type["keyType"])
        return pa.map_(key, explained(arrow_type.item_field, spark_type["valueType"]))
    if kind == "struct" and pa.types.is_struct(arrow_type):
        types = {one["name"]: one["type"] for one in spark_type["fields"]}
        return pa.struct([explained(one, types.get(one.name)) for one in arrow_type])
    return arrow_type


def _holds(arrow_type: Any, is_wanted: Callable[[Any], bool]) -> bool:
    if is_wanted(arrow_type):
        return True
    children = (arrow_type.field(i).type for i in range(arrow_type.num_fields))
    return any(_holds(child, is_wanted) for child in children)
