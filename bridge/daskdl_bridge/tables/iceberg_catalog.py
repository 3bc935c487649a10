"""Iceberg tables in a catalog that pyiceberg is configured for, by their URL.

A dotted name would be taken for a path, which jobs look for beside their file.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import unquote

from daskdl.data.sources.source import SourceOptions
from daskdl.errors import OptionError, SourceNotFoundError, StorageError
from daskdl_bridge.tables.iceberg import check_package, snapshot_of
from daskdl_bridge.tables.iceberg_storage import IcebergStorage
from daskdl_bridge.tables.snapshot import Snapshot

__all__ = ["catalog_snapshot", "is_in_catalog"]

_SCHEME = "iceberg://"


def is_in_catalog(url: str) -> bool:
    """Tell whether a URL begins with ``iceberg://``."""
    return url.startswith(_SCHEME)


def catalog_snapshot(url: str, options: SourceOptions) -> Snapshot:
    """Read a snapshot of a table that a catalog keeps.

    Parameters
    ----------
    url : str
        ``iceberg://catalog/namespace.table``, with the name of a catalog in
        pyiceberg's configuration: ``.pyiceberg.yaml``, or variables
        ``PYICEBERG_CATALOG__...``. Names of namespaces and tables may be
        percent-encoded: a dot in one is ``%2E``, a per cent sign ``%25``.
    options : SourceOptions
        With `snapshot_id` or `timestamp`; the current snapshot if neither is given.

    Raises
    ------
    MissingExtraError
        Without pyiceberg.
    OptionError
        If the URL is of another form, no such catalog is configured, or there is no
        such snapshot.
    SourceNotFoundError
        If the catalog does not have the table.
    StorageError
        If it does not answer.
    DataError
        See `daskdl_bridge.tables.iceberg.iceberg_snapshot`.
    """
    check_package(url)
    with _loaded(url) as table:
        location = table.metadata.location
        io = IcebergStorage(location, location, options.storage_options)
        # The catalog may reach the files otherwise, with options of its own.
        table.io = io
        return snapshot_of(table, io, url, options)


@contextmanager
def _loaded(url: str) -> Iterator[Any]:
    """Yield a table of pyiceberg, with its catalog open."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import (
        NoSuchNamespaceError,
        NoSuchTableError,
        NotInstalledError,
        RESTError,
    )

    catalog, _, identifier = url.removeprefix(_SCHEME).partition("/")
    if not catalog or "." not in identifier:
        raise OptionError(
            f"{url}: must be iceberg://catalog/namespace.table, it is not."
        )
    try:
        opened = load_catalog(catalog)
    except (NotInstalledError, ValueError) as error:
        raise OptionError(
            f"{url}: pyiceberg must be configured for the catalog {catalog!r}, it is "
            f"not: {error}. See its .pyiceberg.yaml."
        ) from error
    with closing(opened):
        try:
            # As a tuple: a text would be cut at all dots.
            table = opened.load_table(tuple(map(unquote, identifier.split("."))))
        except (NoSuchNamespaceError, NoSuchTableError) as error:
            raise SourceNotFoundError(
                f"{url}: the catalog {catalog!r} must have the table {identifier!r}, "
                "it does not."
            ) from error
        except (OSError, RESTError) as error:
            raise StorageError(
                f"{url}: the catalog {catalog!r} must give the table, it does not: "
                f"{error}"
            ) from error
        yield table
