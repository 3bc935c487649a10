"""Formats of tables that are read at a snapshot, and what reads them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.tables.delta import delta_snapshot
from daskdl_bridge.tables.iceberg import iceberg_snapshot
from daskdl_bridge.tables.snapshot import Snapshot

__all__ = ["OPTIONS_OF_TABLE", "SNAPSHOTS"]

SNAPSHOTS: Mapping[str, Callable[[Any, str, SourceOptions], Snapshot]] = (
    MappingProxyType({"delta": delta_snapshot, "iceberg": iceberg_snapshot})
)
"""Name of a format to the function that reads a snapshot of a table."""

OPTIONS_OF_TABLE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"delta": ("version", "timestamp"), "iceberg": ("snapshot_id", "timestamp")}
)
"""Name of a format to the options that name a snapshot of it."""
