"""Snapshots of Delta tables, whose log the package deltalake reads."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from daskdl.checks import some
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import DataError, MissingExtraError, OptionError
from daskdl_bridge.storage import join_url, url_of
from daskdl_bridge.tables.deleted_rows import DeletedRows
from daskdl_bridge.tables.delta_log import (
    LOG,
    copied_log,
    copy_deletion_vectors,
    has_version,
    local_log,
    version_at,
)
from daskdl_bridge.tables.delta_user_types import has_user_types, replace_user_types
from daskdl_bridge.tables.delta_vacuum import without_files, without_log
from daskdl_bridge.tables.snapshot import DataFile, FindColumns, Snapshot

__all__ = ["delta_snapshot"]

# What readers have to heed, and what heeds it: names of columns and vectors are looked
# up here, checkpoints by deltalake, wider types are cast to, and the rest is not about
# rows.
_HEEDED = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
    }
)
_MOST_READER_VERSION = 3
_IN_COMMIT = "delta.enableInCommitTimestamps"


def delta_snapshot(fs: Any, root: str, options: SourceOptions) -> Snapshot:
    """Read a snapshot of a Delta table: its log, but no data file.

    Parameters
    ----------
    fs : fsspec.AbstractFileSystem
        Where it is. Of other stores than a local one, the log is copied for a while.
    root : str
        What `fs` calls the table's directory.
    options : SourceOptions
        With `version` or `timestamp`; the newest version if neither is given.

    Raises
    ------
    MissingExtraError
        Without deltalake.
    OptionError
        If there is no such version, or the log does not have all of it any more.
    DataError
        If the table has a feature that is not honoured, which is named, or its log is
        not whole.
    """
    url = url_of(fs, root)
    _package(url)
    try:
        with local_log(fs, root, options) as directory:
            return _read(fs, root, directory, options)
    except _UnreadLogError as error:
        with copied_log(fs, root, options) as directory:
            log = f"{directory}/{LOG}"
            if not has_user_types(log):
                raise DataError(str(error)) from error
            replace_user_types(log)
            return _read(fs, root, directory, options)


class _UnreadLogError(DataError):
    """deltalake cannot read a log, for what it says."""


def _read(fs: Any, root: str, directory: str, options: SourceOptions) -> Snapshot:
    """Read a snapshot with a log in a local directory, which is the root or another."""
    url = url_of(fs, root)
    deltalake = _package(url)
    with _naming_table(url):
        table = deltalake.DeltaTable(directory)
    if options.timestamp is not None:
        _refuse_times_in_commits(table, url)
    version = _version(fs, root, table, options)
    if version != table.version():
        try:
            with _naming_table(url):
                table = deltalake.DeltaTable(directory, version=version)
        except _UnreadLogError as error:
            if has_version(fs, root, version):
                raise
            raise OptionError(without_log(fs, root, version, options)) from error
    _check_features(table.protocol(), url)
    if "deletionVectors" in _features(table):
        copy_deletion_vectors(fs, root, directory)
    return replace(
        _snapshot(table, url),
        without_files=partial(without_files, fs, root, version, options),
    )


def _package(url: str) -> Any:
    try:
        import deltalake
    except ImportError as error:
        raise MissingExtraError(
            f"{url}: the package deltalake must be installed to read Delta tables. "
            "Run: pip install 'daskdl[delta]'"
        ) from error
    return deltalake


@contextmanager
def _naming_table(url: str) -> Iterator[None]:
    from deltalake.exceptions import DeltaError

    try:
        yield
    except (DeltaError, FileNotFoundError, ValueError) as error:
        # A backtrace may follow.
        reason = str(error).partition("\n")[0]
        raise _UnreadLogError(
            f"{url}: must be a Delta table that deltalake can read, it is not: {reason}"
        ) from error


def _version(fs: Any, root: str, table: Any, options: SourceOptions) -> int:
    newest = int(table.version())
    if options.timestamp is not None:
        return version_at(fs, root, options.timestamp)
    if options.version is None:
        return newest
    if options.version > newest:
        raise OptionError(
            f"{url_of(fs, root)}: version must be at most {newest}, the newest of the "
            f"table, got {options.version!r}."
        )
    return options.version


def _refuse_times_in_commits(table: Any, url: str) -> None:
    if table.metadata().configuration.get(_IN_COMMIT) == "true":
        raise OptionError(
            f"{url}: timestamp must go with times of files, got a table with "
            f"{_IN_COMMIT}. Give the version, which DESCRIBE HISTORY tells."
        )


def _features(table: Any) -> frozenset[str]:
    return frozenset(table.protocol().reader_features or ())


def _check_features(protocol: Any, url: str) -> None:
    unknown = sorted(set(protocol.reader_features or ()) - _HEEDED)
    if protocol.min_reader_version > _MOST_READER_VERSION:
        unknown.append(f"reader version {protocol.min_reader_version}")
    if unknown:
        raise DataError(
            f"{url}: the Delta table must have features that are honoured here, got "
            f"{some(unknown, len(unknown))}. Have Spark write it out as Parquet and "
            "give that path."
        )


def _snapshot(table: Any, url: str) -> Snapshot:
    metadata = table.metadata()
    with _naming_table(url):
        schema = table.schema()
        types = {field.name: field.type for field in pa.schema(schema.to_arrow())}
        spark_schema = schema.to_json()
        added = pa.table(table.get_add_actions(flatten=False)).to_pylist()
    find_columns = _find_columns(json.loads(spark_schema), metadata.configuration, url)
    deleted = _deleted(table, url)
    # In the order in which they were written, and the same one every time.
    files = [
        DataFile(
            url=_place(url, path),
            size=add["size_bytes"],
            find_columns=find_columns,
            values=add.get("partition") or {},
            deleted=deleted.pop(path, None),
        )
        for add in sorted(added, key=lambda a: (a["modification_time"], a["path"]))
        for path in [unquote(add["path"])]
    ]
    if deleted:
        raise DataError(
            f"{url}: every deletion vector must belong to a data file of the table, "
            f"got {some(sorted(deleted), 2)}."
        )
    return Snapshot(
        url=url,
        types=types,
        files=tuple(files),
        partition_columns=tuple(metadata.partition_columns),
        spark_schema=spark_schema,
    )


def _find_columns(
    schema: Mapping[str, Any], configuration: Mapping[str, str], url: str
) -> FindColumns:
    """Return what finds columns by name, or by the physical name or id of a mapping."""
    mode = configuration.get("delta.columnMapping.mode", "none")
    metadata = {field["name"]: field["metadata"] for field in schema["fields"]}
    if mode == "id":
        ids = {n: m["delta.columnMapping.id"] for n, m in metadata.items()}
        return lambda stored: _by_id(stored, ids, url)
    physical = {
        name: name if mode == "none" else found["delta.columnMapping.physicalName"]
        for name, found in metadata.items()
    }
    return lambda stored: _by_name(stored.names, physical)


def _by_name(stored: list[str], physical: Mapping[str, str]) -> dict[str, str]:
    """Find columns by their names, as Spark does without regard to case."""
    folded = {name.lower(): name for name in stored}
    there = {**folded, **{name: name for name in stored}}
    found = {n: there.get(p, there.get(p.lower())) for n, p in physical.items()}
    return {name: one for name, one in found.items() if one is not None}


def _by_id(stored: Any, ids: Mapping[str, int], url: str) -> dict[str, str]:
    there = {
        int(field.metadata[b"PARQUET:field_id"]): field.name
        for field in stored
        if field.metadata and b"PARQUET:field_id" in field.metadata
    }
    if not there:
        raise DataError(
            f"{url}: data files must have ids of columns, as the table's "
            "delta.columnMapping.mode is id, got one without."
        )
    return {name: there[number] for name, number in ids.items() if number in there}


def _deleted(table: Any, url: str) -> dict[str, DeletedRows]:
    """Return the deleted rows of files that have any, by the path in the log."""
    if "deletionVectors" not in _features(table):
        return {}
    root = f"{unquote(table.table_uri).rstrip('/')}/"
    deleted = {}
    with _naming_table(url):
        for batch in pa.RecordBatchReader.from_stream(table.deletion_vectors()):
            selections = batch.column("selection_vector")
            for path, is_kept in zip(
                batch.column("filepath").to_pylist(), selections, strict=True
            ):
                flags = np.asarray(is_kept.values)
                deleted[unquote(path).removeprefix(root)] = DeletedRows.of(~flags)
    return deleted


def _place(url: str, path: str) -> str:
    # A shallow clone names the files of the other table in full.
    return path if ":/" in path else join_url(url, path)
