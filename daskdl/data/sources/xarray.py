"""Labelled data sets of xarray: in memory, lazy, or stored as Zarr or NetCDF.

Examples lie along one dimension; its chunks are the partitions. Stored ones are opened
again on the worker, which reads its rows and nothing else.
"""

import importlib.util
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from daskdl.data.columns import check_columns_named, columns_of, examples_from_columns
from daskdl.data.dataset import DataSet
from daskdl.data.files import is_local, open_input
from daskdl.data.filesystems import filesystem
from daskdl.data.fingerprint import Fingerprint, fingerprint_of, unchanged
from daskdl.data.labelled_arrays import (
    check_dimension,
    sample_dimension,
    variable_values,
)
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.dask import array_chunks
from daskdl.data.sources.partition import Partition, Source
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.summary import DataSummary
from daskdl.data.sources.unused_options import refuse_unused
from daskdl.data.store import naming
from daskdl.errors import DataError, MissingExtraError, OptionError, SourceNotFoundError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["LabelledPartition", "StoredPartition", "XarraySources"]

# Ending of a path to the engine that opens it; the engine is also the package's name.
_ENGINES = {
    ".zarr": "zarr",
    ".nc": "h5netcdf",
    ".nc4": "h5netcdf",
    ".netcdf": "h5netcdf",
}
_FORMATS = {"zarr": "zarr", "netcdf": "h5netcdf"}

# Rows of a partition where the file does not say: as many as make about this much.
_PARTITION_BYTES = 64 * 2**20


class XarraySources:
    """Opens an ``xarray.Dataset``, or a path that ends in .zarr, .nc, .nc4, .netcdf."""

    def accepts(self, data: Any) -> bool:
        """Say whether the data is one of these."""
        return _is_dataset(data) or _engine_of(data) is not None

    def open(self, data: Any, options: SourceOptions) -> Source:
        """Make one partition of each chunk along the dimension of the examples.

        Raises
        ------
        OptionError
            If the options do not name features, or labels where they are needed.
        ColumnError
            If a variable or the dimension is missing.
        MissingExtraError
            If the package that reads the format is not installed.
        SourceNotFoundError
            If nothing is stored at the path.
        """
        check_columns_named("XarraySources", options)
        refuse_unused("XarraySources", "labelled arrays", options, ("sample_dim",))
        if _is_dataset(data):
            _check_format(options, None)
            return _open_dataset(data, options)
        path, engine = os.fspath(data), str(_engine_of(data))
        _check_format(options, engine)
        with _opened(path, engine, options) as ds:
            dim = _dimension(ds, options, name=path)
            rows = ds.sizes[dim]
            step = _stored_step(ds, dim, options)
        listed = _fingerprint(path, engine, options)
        partitions = tuple(
            StoredPartition(
                *(path, engine, dim, start, min(rows, start + step), options, listed)
            )
            for start in range(0, max(1, rows), step)
        )
        return Source(path, partitions)

    def look(self, data: Any, options: SourceOptions) -> DataSummary:
        """Summarize the variables of a data set that is stored at a path.

        Raises
        ------
        As `open`, but for the columns.
        """
        path, engine = os.fspath(data), str(_engine_of(data))
        _check_format(options, engine)
        with _opened(path, engine, options) as ds:
            columns = {
                str(name): f"{ds[name].dtype} ({_in_words(ds[name].sizes)})"
                for name in ds.data_vars
            }
        return DataSummary(name=path, columns=columns, parts=((path, None),))


@dataclass(frozen=True, eq=False)
class LabelledPartition(Partition):
    """A labelled data set in memory, which travels with its partition."""

    name: str
    ds: "xr.Dataset"
    dim: Hashable
    options: SourceOptions

    @property
    def rows(self) -> int:  # type: ignore[override]
        """Number of examples."""
        return int(self.ds.sizes[self.dim])

    def load(self) -> DataSet | MultiDataSet:
        """Return the examples; see `Partition.load`."""
        return _examples(self.ds, self.dim, self.options, name=self.name)


@dataclass(frozen=True, eq=False)
class StoredPartition(Partition):
    """Rows `start` to `stop` of a data set that is stored at a path.

    With the fingerprint of the file; a Zarr store, which is many files, has none.
    """

    path: str
    engine: str
    dim: Hashable
    start: int
    stop: int
    options: SourceOptions
    fingerprint: Fingerprint | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        """Path and rows."""
        return f"{self.path}[{self.start}:{self.stop}]"

    @property
    def rows(self) -> int:  # type: ignore[override]
        """Number of examples."""
        return self.stop - self.start

    def load(self) -> DataSet | MultiDataSet:
        """Open the store and read these rows; see `Partition.load`."""
        with (
            self._unchanged(),
            _opened(self.path, self.engine, self.options) as ds,
        ):
            chosen = ds.isel({self.dim: slice(self.start, self.stop)})
            return _examples(chosen, self.dim, self.options, name=self.name)

    def _unchanged(self) -> AbstractContextManager[None]:
        if self.fingerprint is None:
            return nullcontext()
        fs, path = filesystem(self.path, self.options.storage_options)
        return unchanged(fs, path, self.path, self.fingerprint)


def _fingerprint(path: str, engine: str, options: SourceOptions) -> Fingerprint | None:
    if engine == "zarr":
        return None
    fs, inside = filesystem(path, options.storage_options)
    fs.invalidate_cache(inside)
    with naming(path):
        return fingerprint_of(fs, fs.info(inside))


def _open_dataset(ds: "xr.Dataset", options: SourceOptions) -> Source:
    name = "xarray dataset"
    dim = _dimension(ds, options, name=name)
    columns = columns_of(options)
    lazy = {}
    for column in columns:
        check_dimension(ds, column, dim, name=name)
        if ds[column].chunks is not None:
            lazy[column] = ds[column].transpose(dim, ...).data
    if not lazy:
        held = LabelledPartition(name, ds[columns], dim, options)
        return Source(name, (held,), in_memory=True)
    values = {
        column: variable_values(ds, column, dim, name=name)
        for column in columns
        if column not in lazy
    }
    return Source(name, array_chunks(lazy, values, options, name="xarray chunk"))


def _examples(
    ds: "xr.Dataset", dim: Hashable, options: SourceOptions, *, name: str
) -> DataSet | MultiDataSet:
    def read(column: str) -> NDArray[Any]:
        return variable_values(ds, column, dim, name=name)

    return examples_from_columns(read, options, name=name)


def _dimension(ds: "xr.Dataset", options: SourceOptions, *, name: str) -> Hashable:
    first = options.features
    if isinstance(first, dict):
        first = next(iter(first.values()))
    dim = sample_dimension(ds, first or (), options.sample_dim, name=name)
    for column in columns_of(options):
        check_dimension(ds, column, dim, name=name)
    return dim


@contextmanager
def _opened(path: str, engine: str, options: SourceOptions) -> Iterator["xr.Dataset"]:
    """Open a store for the length of a block; no values are read yet."""
    if importlib.util.find_spec(engine) is None:
        raise MissingExtraError(
            f"{path}: the package {engine!r} must be installed to read this format, "
            f"got none. Run: pip install {engine}"
        )
    import xarray as xr

    with ExitStack() as exits:
        target, extra = _target(path, engine, options, exits)
        try:
            ds = xr.open_dataset(target, engine=engine, chunks=None, **extra)
        except ImportError as error:
            raise MissingExtraError(
                f"{path}: all that {engine!r} needs must be installed, got: {error}"
            ) from error
        except FileNotFoundError as error:
            raise SourceNotFoundError(
                f"{path}: something must be stored there, got nothing."
            ) from error
        except (OSError, ValueError, KeyError) as error:
            raise DataError(
                f"{path}: must be readable with {engine!r}, got {error}."
            ) from error
        yield exits.enter_context(ds)


def _target(
    path: str, engine: str, options: SourceOptions, exits: ExitStack
) -> tuple[Any, dict[str, Any]]:
    storage = options.storage_options
    if is_local(path):
        return path.removeprefix("file://"), {}
    if engine == "zarr":
        return path, {"backend_kwargs": {"storage_options": storage}}
    # HDF5 needs a file that can seek.
    return exits.enter_context(open_input(path, storage_options=storage)), {}


def _stored_step(ds: "xr.Dataset", dim: Hashable, options: SourceOptions) -> int:
    columns = columns_of(options)
    for column in columns:
        encoding = ds[column].encoding
        # A shard of Zarr 3 is the least that can be read at once.
        sizes: Sequence[int] | None = (
            encoding.get("shards")
            or encoding.get("chunks")
            or encoding.get("chunksizes")
        )
        if sizes and ds[column].ndim == len(sizes):
            return max(1, int(sizes[ds[column].dims.index(dim)]))
    rows = max(1, ds.sizes[dim])
    row_bytes = sum(ds[column].nbytes for column in columns) / rows
    return max(1, int(_PARTITION_BYTES / max(1.0, row_bytes)))


def _check_format(options: SourceOptions, engine: str | None) -> None:
    if options.format is not None and _FORMATS.get(options.format) != engine:
        raise OptionError(
            f"XarraySources: format must be one of {sorted(_FORMATS)} that agrees with "
            f"the ending of the path, or None, got {options.format!r}."
        )


def _in_words(sizes: Mapping[Any, int]) -> str:
    return ", ".join(f"{dim}: {size}" for dim, size in sizes.items())


def _is_dataset(data: Any) -> bool:
    kind = type(data)
    return kind.__module__.partition(".")[0] == "xarray" and kind.__name__ == "Dataset"


def _engine_of(data: Any) -> str | None:
    if not isinstance(data, str | os.PathLike):
        return None
    path = os.fspath(data)
    ending = os.path.splitext(path.rstrip("/"))[1] if isinstance(path, str) else ""
    return _ENGINES.get(ending)
