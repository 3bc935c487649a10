"""The classes that Spark has of the data source; they travel to it by value.

Where they arrive daskdl may be missing, or another one, and they are to say so. So they
hold plain values and bytes, and import nothing of daskdl before they have looked.
"""

import importlib
import socket
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)

__all__ = ["DaskdlReader", "DaskdlSource", "DaskdlWriter", "Written"]

_VERSION = metadata.version("daskdl")


class DaskdlSource(DataSource):
    """What ``format("daskdl")`` is."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "daskdl"

    def schema(self) -> Any:
        """Return the schema of the examples, as the first ones have it."""
        return _module("data_source_reading").schema_of(dict(self.options))

    def reader(self, schema: Any) -> "DaskdlReader":
        """Return what reads rows of a schema."""
        return DaskdlReader(dict(self.options), schema)

    def writer(self, schema: Any, overwrite: bool) -> "DaskdlWriter":
        """Return what writes rows of a schema, with its directory prepared."""
        module = _module("data_source_writing")
        return DaskdlWriter(
            module.prepared(dict(self.options), schema, overwrite=overwrite)
        )


class DaskdlReader(DataSourceReader):
    """Reads examples; each partition of the source is one of Spark's."""

    def __init__(self, options: dict[str, str], schema: Any) -> None:
        self._options = options
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        """List the partitions, on the driver."""
        module = _module("data_source_reading")
        found = module.pickled_partitions(self._options)
        return [InputPartition(one) for one in found]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the rows of a partition as record batches, in a task."""
        module = _module("data_source_reading")
        yield from module.record_batches(partition.value, self._schema)


class Written(WriterCommitMessage):
    """What a task tells the driver: the names of the files that it wrote."""

    def __init__(self, names: list[str]) -> None:
        self.names = names


class DaskdlWriter(DataSourceArrowWriter):
    """Writes minibatches; what is not committed leaves nothing."""

    def __init__(self, job: bytes) -> None:
        self._job = job

    def write(self, iterator: Iterator[Any]) -> Written:
        """Write the rows of a partition under temporary names, in a task."""
        return Written(_module("data_source_writing").written(self._job, iterator))

    def commit(self, messages: list[Any]) -> None:
        """Give the files that count their names, on the driver."""
        names = [name for one in messages if one is not None for name in one.names]
        _module("data_source_writing").commit(self._job, names)

    def abort(self, messages: list[Any]) -> None:
        """Remove what was written, on the driver."""
        _module("data_source_writing").abort(self._job)


def _module(name: str) -> Any:
    """Import a module of the bridge, where daskdl is the one of the program."""
    try:
        found = metadata.version("daskdl")
    except metadata.PackageNotFoundError:
        found = "none"
    if found != _VERSION:
        raise RuntimeError(
            "format('daskdl'): Spark's Python must have the daskdl of the program, "
            f"{_VERSION}, got {found} ({sys.executable} on {socket.gethostname()}). "
            "Ship one environment with spark.archives and PYSPARK_PYTHON, or install "
            "the same everywhere."
        )
    return importlib.import_module(f"daskdl_bridge.spark.{name}")
