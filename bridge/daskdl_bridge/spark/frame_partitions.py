"""What Spark wrote of a DataFrame, in messages that name the DataFrame.

Nobody can look at the files, which are gone by then, nor at the number of a row in one.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from daskdl.data.row_number import NoRowNumber
from daskdl.data.sources.partition import Partition, Source
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import DaskdlError
from daskdl_bridge.readers.reader_at import ReaderAt
from daskdl_bridge.readers.table_reader import TablePartition
from daskdl_bridge.source import PathSources
from daskdl_bridge.spark.export import Export

__all__ = ["frame_source"]


def frame_source(there: Export, options: SourceOptions) -> Source:
    """Open what was exported of a DataFrame, or of an RDD of rows.

    Raises
    ------
    As `PathSources.open`.
    """
    called = there.called
    with _naming(there.url, called):
        source = PathSources().open(there.url, options)
    partitions = [_called(one, called) for one in source.partitions]
    return replace(source, name=called, partitions=tuple(partitions))


def _called(partition: Partition, name: str) -> Partition:
    """Return a partition of which messages tell by another name.

    Its own name stays: a training that goes on knows its data by that.
    """
    if not isinstance(partition, TablePartition):
        return partition
    part = partition.part
    return replace(
        partition,
        part=replace(part, url=name, fingerprint=None),
        reader=ReaderAt(partition.reader, part),
        first_row=NoRowNumber(),
    )


@contextmanager
def _naming(url: str, name: str) -> Iterator[None]:
    """Have errors of the block say a name in place of files below `url`."""
    try:
        yield
    except DaskdlError as error:
        _, _, folder = url.rpartition("/")
        said = [
            re.sub(rf"\S*{re.escape(folder)}[^\s:]*", name, one)
            if isinstance(one, str)
            else one
            for one in error.args
        ]
        error.args = tuple(said)
        raise
