"""Names of classes that Spark ML leaves with a label column, as StringIndexer does."""

import json
from collections.abc import Mapping
from typing import Any

from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.row_metadata import ROW_METADATA

__all__ = ["class_names_of_schema", "stored_class_names"]

_DEFAULT_LABEL = "label"


def stored_class_names(
    stored: Mapping[bytes, bytes] | None, options: SourceOptions
) -> tuple[str, ...] | None:
    """Return the names of the classes of the label column, None if there are none.

    Parameters
    ----------
    stored : mapping of bytes to bytes, or None
        What a Parquet file holds beside its columns. Only Spark's keep the attributes
        of columns there.
    options : SourceOptions
        Their `label` names the column.
    """
    return class_names_of_schema((stored or {}).get(ROW_METADATA, b""), options)


def class_names_of_schema(
    schema: bytes | str, options: SourceOptions
) -> tuple[str, ...] | None:
    """Do as `stored_class_names`, for a schema of Spark as JSON, or empty."""
    label = _DEFAULT_LABEL if options.label is None else options.label
    if not schema or not options.require_labels or not isinstance(label, str):
        return None
    return _names(schema, label)


def _names(schema: bytes | str, label: str) -> tuple[str, ...] | None:
    """Read them from the schema that Spark keeps as JSON beside Parquet's own."""
    try:
        fields: list[Any] = json.loads(schema).get("fields", [])
        found: list[Any] = [f["metadata"] for f in fields if f["name"] == label]
        attribute = found[0]["ml_attr"]
        kind, names = attribute["type"], attribute["vals"]
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        # Most columns have none, and damaged ones are no more than comments.
        return None
    if kind not in ("nominal", "binary") or not isinstance(names, list):
        return None
    return tuple(names) if all(isinstance(name, str) for name in names) else None
