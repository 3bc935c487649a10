"""Small files of every form, written without Spark."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from daskdl.data.sources.partition import Source
from daskdl.data.sources.source import SourceOptions
from daskdl_bridge.source import PathSources


def write_parquet(path: Path, columns: dict[str, Any], **options: Any) -> str:
    pq.write_table(pa.table(columns), path, **options)
    return str(path)


def write_orc(path: Path, columns: dict[str, Any]) -> str:
    orc.write_table(pa.table(columns), path)
    return str(path)


def write_json(path: Path, rows: list[dict[str, Any]]) -> str:
    return write_text(path, "".join(json.dumps(row) + "\n" for row in rows))


def write_text(path: Path, text: str) -> str:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def open_path(data: Any, **options: Any) -> Source:
    return PathSources().open(data, SourceOptions(**options))


def load_one(data: Any, **options: Any) -> Any:
    """Load the only partition of a source."""
    (partition,) = open_path(data, **options).partitions
    return partition.load()
