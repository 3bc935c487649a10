"""Snapshots of Iceberg tables, whose metadata the package pyiceberg reads."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import DataError, MissingExtraError, OptionError
from daskdl_bridge.storage import url_of
from daskdl_bridge.tables.iceberg_deletes import deleted_rows
from daskdl_bridge.tables.iceberg_metadata import metadata_file
from daskdl_bridge.tables.iceberg_storage import IcebergStorage
from daskdl_bridge.tables.snapshot import DataFile, FindColumns, Snapshot

__all__ = ["check_package", "iceberg_snapshot", "snapshot_of"]


def iceberg_snapshot(fs: Any, path: str, options: SourceOptions) -> Snapshot:
    """Read a snapshot of an Iceberg table: its metadata, but no data file.

    Parameters
    ----------
    fs : fsspec.AbstractFileSystem
        Where it is.
    path : str
        What `fs` calls the table's directory, or one of its metadata files.
    options : SourceOptions
        With `snapshot_id` or `timestamp`; the current snapshot if neither is given.

    Raises
    ------
    MissingExtraError
        Without pyiceberg.
    OptionError
        If there is no such snapshot.
    DataError
        If the table has a feature that is not honoured, which is named, or its
        metadata are not whole.
    """
    url = url_of(fs, path)
    check_package(url)
    from pyiceberg.catalog.noop import NoopCatalog
    from pyiceberg.serializers import FromInputFile
    from pyiceberg.table import StaticTable

    root, file = metadata_file(fs, path)
    place = url_of(fs, file)
    plain = IcebergStorage(place, place, options.storage_options)
    with _naming_table(url):
        metadata = FromInputFile.table_metadata(plain.new_input(place))
    io = IcebergStorage(metadata.location, url_of(fs, root), options.storage_options)
    table = StaticTable(
        identifier=("daskdl", place),
        metadata=metadata,
        metadata_location=place,
        io=io,
        catalog=NoopCatalog("daskdl"),
    )
    return snapshot_of(table, io, url_of(fs, root), options)


def check_package(url: str) -> None:
    """Refuse to go on without pyiceberg.

    Raises
    ------
    MissingExtraError
    """
    try:
        import pyiceberg  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"{url}: the package pyiceberg must be installed to read Iceberg tables. "
            "Run: pip install 'daskdl[iceberg]'"
        ) from error


def snapshot_of(
    table: Any, io: IcebergStorage, url: str, options: SourceOptions
) -> Snapshot:
    """Do as `iceberg_snapshot`, for a table of pyiceberg."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    with _naming_table(url):
        scan = table.scan(snapshot_id=_snapshot_id(table, url, options))
        schema = scan.projection()
        arrow = schema_to_pyarrow(schema, include_field_ids=False)
        tasks = list(scan.plan_files())
        deleted = deleted_rows(tasks, io, options)
    files = [
        DataFile(
            url=io.place(task.file.file_path),
            size=task.file.file_size_in_bytes,
            find_columns=_find_columns(table.metadata, schema, task.file, io),
            values=_values(table.metadata, schema, task.file),
            deleted=rows,
        )
        for task, rows in zip(tasks, deleted, strict=True)
    ]
    return Snapshot(
        url=url,
        types={field.name: _small(field.type) for field in arrow},
        files=tuple(files),
    )


@contextmanager
def _naming_table(url: str) -> Iterator[None]:
    """Name the table in what pyiceberg says, such as features that it does not know."""
    from pyiceberg.exceptions import ValidationError

    try:
        yield
    except (
        ValidationError,
        EOFError,
        FileNotFoundError,
        LookupError,
        NotImplementedError,
        TypeError,
        ValueError,
    ) as error:
        if isinstance(error, DataError | OptionError):
            raise
        reason = " ".join(str(error).split())
        raise DataError(
            f"{url}: must be an Iceberg table that pyiceberg can read, it is not: "
            f"{reason}"
        ) from error


def _snapshot_id(table: Any, url: str, options: SourceOptions) -> int | None:
    """Return the snapshot that the options name; None for the current one."""
    if options.timestamp is not None:
        milliseconds = int(options.timestamp.timestamp() * 1000)
        found = table.snapshot_as_of_timestamp(milliseconds)
        if found is None:
            raise OptionError(
                f"{url}: timestamp must not be before the table's first snapshot, got "
                f"{options.timestamp.isoformat()}."
            )
        return int(found.snapshot_id)
    wanted = options.snapshot_id
    if wanted is not None and table.snapshot_by_id(wanted) is None:
        known = ", ".join(str(one.snapshot_id) for one in table.snapshots()[-5:])
        raise OptionError(
            f"{url}: snapshot_id must be one that the table has, got {wanted!r}. The "
            f"last are {known or 'none'}."
        )
    return wanted


def _find_columns(
    metadata: Any, schema: Any, file: Any, io: IcebergStorage
) -> FindColumns:
    """Return what finds columns by their ids, whatever their names were once."""
    url = io.place(file.file_path)
    name = str(getattr(file.file_format, "value", file.file_format))
    if name != "PARQUET":
        raise DataError(
            f"{url}: data files of an Iceberg table must be Parquet to be "
            f"read, got {name}. Set write.format.default to parquet and rewrite them."
        )

    def find(stored: Any) -> Mapping[str, str]:
        there = _ids(metadata, stored, url)
        return {
            field.name: there[field.field_id]
            for field in schema.fields
            if field.field_id in there
        }

    return find


def _ids(metadata: Any, stored: Any, url: str) -> dict[int, str]:
    from pyiceberg.io.pyarrow import pyarrow_to_schema

    try:
        known = pyarrow_to_schema(
            stored,
            name_mapping=metadata.name_mapping(),
            format_version=metadata.format_version,
            downcast_ns_timestamp_to_us=True,
        )
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{url}: must be a data file whose columns pyiceberg knows, it is not: "
            f"{error}"
        ) from error
    return {field.field_id: field.name for field in known.fields}


def _values(metadata: Any, schema: Any, file: Any) -> dict[str, Any]:
    """Return what a file without a column holds in it: its partition, or a default."""
    partition = _of_partition(metadata, file)
    return {
        field.name: partition.get(field.field_id, field.initial_default)
        for field in schema.fields
        if field.field_id in partition or field.initial_default is not None
    }


def _of_partition(metadata: Any, file: Any) -> dict[int, Any]:
    from pyiceberg.transforms import IdentityTransform

    spec = metadata.specs()[file.spec_id]
    return {
        one.source_id: file.partition[at]
        for at, one in enumerate(spec.fields)
        if isinstance(one.transform, IdentityTransform)
    }


def _small(kind: Any) -> Any:
    """Return a type as Parquet files have it, where pyiceberg takes the large one."""
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_large_list(kind):
        element = kind.value_field
        return pa.list_(element.with_type(_small(element.type)))
    if pa.types.is_struct(kind):
        return pa.struct([one.with_type(_small(one.type)) for one in kind])
    return kind
