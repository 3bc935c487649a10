"""Exported blocks of an RDD as partitions, of the row groups of Parquet files."""

import io
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from daskdl.data.blocks import joined_examples
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.partition import Partition, Source
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import DataError
from daskdl_bridge.element_kinds import Keys
from daskdl_bridge.fingerprint import unchanged
from daskdl_bridge.listing import Part, list_parts
from daskdl_bridge.readers.block_examples import examples_of_block
from daskdl_bridge.readers.error_location import naming_damaged_file
from daskdl_bridge.spark.pickled_keys import unpickled_keys
from daskdl_bridge.storage import open_input

__all__ = ["BlockPartition", "BlockReader", "open_blocks"]


def open_blocks(
    url: str,
    name: str,
    options: SourceOptions,
    *,
    minibatches: bool,
    keys: Keys | None = None,
) -> Source:
    """Open blocks that Spark wrote, by :mod:`daskdl_bridge.element_blocks`.

    Parameters
    ----------
    url : str
        Directory of Parquet files with a block in each row.
    name : str
        What messages call the data.
    options : SourceOptions
    minibatches : bool
        Whether each block is a minibatch as it is; else it is some of the examples.
    keys : {"values", "pickles"}, optional
        What stands for keys in a predictions file; None if there are none.
    """
    partitions: list[BlockPartition] = []
    for part in list_parts(url, storage_options=options.storage_options):
        with _opened(part, options) as file:
            groups = file.num_row_groups
        partitions += [
            BlockPartition(
                f"{part.url} [{group}]", _RowGroup(part, group), options, keys
            )
            for group in range(groups)
        ]
    return Source(name, tuple(partitions), minibatches)


class BlockReader(ABC):
    """Reads rows with a block each; picklable, a subclass for each place."""

    @abstractmethod
    def rows(self, options: SourceOptions) -> Iterator[dict[str, Any]]:
        """Yield rows as they were made, one by one."""


@dataclass(frozen=True)
class _RowGroup(BlockReader):
    part: Part
    group: int

    def rows(self, options: SourceOptions) -> Iterator[dict[str, Any]]:
        part = self.part
        with (
            unchanged(part.url, part.fingerprint, options.storage_options),
            _opened(part, options) as file,
        ):
            for table in file.iter_batches(1, row_groups=[self.group]):
                yield from table.to_pylist()


@contextmanager
def _opened(part: Part, options: SourceOptions) -> Iterator[Any]:
    with (
        naming_damaged_file(part.url, "Parquet"),
        open_input(part.url, options.storage_options) as stream,
    ):
        yield pq.ParquetFile(stream, page_checksum_verification=True, pre_buffer=False)


@dataclass(frozen=True)
class BlockPartition(Partition):
    """Some blocks that are stored together.

    Parameters
    ----------
    name : str
    reader : BlockReader
    options : SourceOptions
    keys : {"values", "pickles"}, optional
        See `open_blocks`.
    """

    name: str
    reader: BlockReader
    options: SourceOptions
    keys: Keys | None = None
    rows: int | None = None

    def load(self) -> DataSet | MultiDataSet:
        """Load all examples; see `Partition.load`."""
        blocks = list(self.load_blocks())
        return joined_examples(blocks, [self.name] * len(blocks))

    def load_blocks(self) -> Iterator[DataSet | MultiDataSet]:
        """Yield the blocks one by one; see `Partition.load_blocks`."""
        yield from map(self._block, self.reader.rows(self.options))

    def has_keys(self) -> bool:
        """Say whether the blocks have keys; see `Partition.has_keys`."""
        return self.keys is not None

    def told_keys(self, keys: Any) -> Any:
        """Return what the pickles hold; see `Partition.told_keys`.

        Raises
        ------
        DataError
            If there are none, though the first element of the RDD has some; see
            `unpickled_keys`.
        """
        if keys is not None:
            return unpickled_keys(keys, self.name)
        if self.keys is not None:
            raise DataError(
                f"{self.name}: all elements of an RDD must have keys if the first has, "
                "got some without."
            )
        return None

    def stored_keys(self, keys: Any, number: int = 0) -> Any:
        """Return values, or the pickles if those are wanted; see `Partition`."""
        return keys if self.keys == "pickles" else self.told_keys(keys)

    def _block(self, row: dict[str, Any]) -> DataSet | MultiDataSet:
        with np.load(io.BytesIO(row["arrays"]), allow_pickle=False) as saved:
            arrays = {name: saved[name] for name in saved.files}
        return examples_of_block(row["keys"], arrays, self.options)
