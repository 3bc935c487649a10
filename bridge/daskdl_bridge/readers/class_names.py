"""Names of classes that Spark ML leaves with a label column, as StringIndexer does."""

import json
from typing import Any

import pyarrow.parquet as pq

from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.place import reading
from daskdl_bridge.storage import open_input

__all__ = ["class_names_of"]

_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_DEFAULT_LABEL = "label"


def class_names_of(
    part: Part, form: str, options: SourceOptions
) -> tuple[str, ...] | None:
    """Return the names of the classes of the label column, None if there are none.

    Parameters
    ----------
    part : Part
        One of the files; all have the same.
    form : str
        Only Parquet files of Spark keep the attributes of columns.
    options : SourceOptions
        Their `label` names the column.
    """
    label = _DEFAULT_LABEL if options.label is None else options.label
    if form != "parquet" or not options.require_labels or not isinstance(label, str):
        return None
    with (
        reading(part.url, "Parquet"),
        open_input(part.url, options.storage_options) as stream,
    ):
        stored = pq.ParquetFile(stream).schema_arrow.metadata or {}
    return _names(stored.get(_SCHEMA, b""), label)


def _names(schema: bytes, label: str) -> tuple[str, ...] | None:
    """Read them from the schema that Spark keeps as JSON beside Parquet's own."""
    try:
        fields: list[Any] = json.loads(schema or b"{}").get("fields", [])
        found: list[Any] = [f["metadata"] for f in fields if f["name"] == label]
        attribute = found[0]["ml_attr"]
        kind, names = attribute["type"], attribute["vals"]
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        # Most columns have none, and damaged ones are no more than comments.
        return None
    if kind not in ("nominal", "binary") or not isinstance(names, list):
        return None
    return tuple(names) if all(isinstance(name, str) for name in names) else None
