"""Deleted rows of the data files of an Iceberg table, from its files of deletes."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import CorruptFileError, DataError
from daskdl_bridge.readers.error_location import naming_damaged_file
from daskdl_bridge.storage import open_input
from daskdl_bridge.tables.deleted_rows import DeletedRows
from daskdl_bridge.tables.iceberg_storage import IcebergStorage

__all__ = ["deleted_rows"]

# Reading them takes a round trip each.
_AT_ONCE = 8


def deleted_rows(
    tasks: Sequence[Any], io: IcebergStorage, options: SourceOptions
) -> list[DeletedRows | None]:
    """Read which rows of data files are deleted.

    Parameters
    ----------
    tasks : sequence of pyiceberg.table.FileScanTask
        Data files with the files of deletes that apply to them.
    io : IcebergStorage
    options : SourceOptions

    Returns
    -------
    list of DeletedRows or None
        One for each task; None if all rows count.

    Raises
    ------
    DataError
        If a file of deletes is of another form than positions, or damaged.
    """
    files = {one.file_path: one for task in tasks for one in task.delete_files}
    wanted = frozenset(task.file.file_path for task in tasks)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = pool.map(
            lambda one: _positions(one, io, options, wanted), files.values()
        )
        by_file = dict(zip(files, found, strict=True))
    return [_of_task(task, by_file) for task in tasks]


def _of_task(
    task: Any, by_file: Mapping[str, Mapping[str, NDArray[np.int64]]]
) -> DeletedRows | None:
    path, rows = task.file.file_path, task.file.record_count
    flags = np.zeros(rows, np.bool_)
    for file in task.delete_files:
        positions = by_file[file.file_path].get(path)
        if positions is None:
            continue
        if positions.size and not 0 <= positions.min() <= positions.max() < rows:
            raise DataError(
                f"{file.file_path}: positions must lie within the {rows} rows of "
                f"{path}, got {positions.max()}."
            )
        flags[positions] = True
    return DeletedRows.of(flags) if flags.any() else None


def _positions(
    file: Any, io: IcebergStorage, options: SourceOptions, wanted: frozenset[str]
) -> dict[str, NDArray[np.int64]]:
    """Return the positions in a file of deletes, by the data file they are of."""
    name = str(getattr(file.file_format, "value", file.file_format))
    url = io.place(file.file_path)
    with (
        naming_damaged_file(url, name),
        open_input(url, options.storage_options) as stream,
    ):
        if name == "PUFFIN":
            return _of_vectors(stream.read(), url)
        if name == "PARQUET":
            return _of_table(
                pq.read_table(stream, columns=["file_path", "pos"]), wanted
            )
    raise DataError(
        f"{url}: files of deletes of an Iceberg table must be Parquet or Puffin to be "
        f"read, got {name}. Rewrite the table's data files."
    )


def _of_vectors(data: bytes, url: str) -> dict[str, NDArray[np.int64]]:
    from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
    from pyiceberg.table.puffin import PuffinFile

    try:
        vectors = deletion_vectors_from_puffin_file(PuffinFile(data))
        return {one.referenced_data_file: _as_numpy(one.to_vector()) for one in vectors}
    except (LookupError, ValueError) as error:
        raise CorruptFileError(
            f"{url}: must be a whole Puffin file with deletion vectors, it is cut "
            f"short or damaged: {error}"
        ) from error


def _of_table(table: Any, wanted: frozenset[str]) -> dict[str, NDArray[np.int64]]:
    # Sorted by path, as such files have to be; nobody would notice if one were not.
    table = table.sort_by("file_path")
    positions = _as_numpy(table.column("pos"))
    counts = pc.value_counts(table.column("file_path")).to_pylist()
    ends = np.cumsum([one["counts"] for one in counts])
    pieces = np.split(positions, ends[:-1])
    return {
        one["values"]: piece
        for one, piece in zip(counts, pieces, strict=True)
        if one["values"] in wanted
    }


def _as_numpy(positions: Any) -> NDArray[np.int64]:
    return np.asarray(positions.cast(pa.int64()).to_numpy())
