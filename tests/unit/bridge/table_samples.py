"""Tables that Spark wrote, and the rows that Spark reads of each version."""

import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from tests.unit.bridge.table_files import open_path

TABLES = Path(__file__).parents[2] / "data" / "tables"
MANIFEST = json.loads((TABLES / "manifest.json").read_text())


def column_of(path: Any, column: str, **options: Any) -> list[Any]:
    """Read a column as the key of examples, which may be of any type, or null."""
    source = open_path(path, features="id", key=column, require_labels=False, **options)
    values = []
    for partition in source.partitions:
        batch = partition.load()
        assert batch.num_examples == partition.rows
        values += [plain(key) for key in batch.keys.tolist()]
    return values


def rows_of(path: Any, columns: list[str], **options: Any) -> list[list[Any]]:
    """Read rows in the order of their ids."""
    read = [column_of(path, column, **options) for column in columns]
    return sorted(map(list, zip(*read, strict=True)), key=lambda row: row[0])


def told_rows(found: dict[str, Any], columns: list[str]) -> list[list[Any]]:
    """Return some columns of the manifest's rows."""
    names = [name for name, _ in found["columns"]]
    return [[row[names.index(one)] for one in columns] for row in found["rows"]]


def features_of(path: Any, features: Any, **options: Any) -> dict[Any, list[float]]:
    """Read features by the id of their row."""
    source = open_path(
        path,
        features=features,
        key="id",
        require_labels=False,
        dtype="float64",
        **options,
    )
    found: dict[Any, list[float]] = {}
    for partition in source.partitions:
        batch = partition.load()
        found |= dict(
            zip(np.asarray(batch.keys).tolist(), batch.features.tolist(), strict=True)
        )
    return found


def plain(value: Any) -> Any:
    """Return a value as the manifest has it."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat()
    return value.isoformat() if isinstance(value, date) else value
