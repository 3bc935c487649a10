"""Files of Iceberg tables through the bridge's own file systems, for pyiceberg."""

import re
from collections.abc import Mapping
from typing import Any

from daskdl_bridge.storage import filesystem, join_url

__all__ = ["IcebergStorage"]

# Hadoop writes file:/warehouse and file:///warehouse for the same place.
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):/*")


class IcebergStorage:
    """What pyiceberg reads through: its ``FileIO``, as far as reading goes.

    Parameters
    ----------
    location : str
        Of the table, as its metadata have it.
    url : str
        Where the table is. A table names its files in full, so that a copy of it names
        those of the original.
    storage_options : mapping
        See :func:`daskdl_bridge.storage.filesystem`.
    """

    def __init__(
        self, location: str, url: str, storage_options: Mapping[str, Any]
    ) -> None:
        self._location = _plain(location).rstrip("/") + "/"
        self._url = url
        self._storage_options = storage_options
        self.properties: dict[str, str] = {}

    def place(self, location: str) -> str:
        """Return the URL of a file that the table names."""
        plain = _plain(location)
        if plain.startswith(self._location):
            return join_url(self._url, plain.removeprefix(self._location))
        return f"/{plain.removeprefix('file:')}" if _is_local(plain) else location

    def new_input(self, location: str) -> "_Input":
        """Return what opens a file that the table names."""
        return _Input(location, self.place(location), self._storage_options)


class _Input:
    """What pyiceberg takes for its ``InputFile``."""

    def __init__(
        self, location: str, url: str, storage_options: Mapping[str, Any]
    ) -> None:
        self.location = location
        self._fs, self._path = filesystem(url, storage_options)

    def __len__(self) -> int:
        return int(self._fs.info(self._path)["size"])

    def exists(self) -> bool:
        return bool(self._fs.exists(self._path))

    def open(self, seekable: bool = True) -> Any:
        return self._fs.open(self._path, "rb")


def _plain(location: str) -> str:
    """Return a location with no slash after its scheme, to compare it with others."""
    found = _SCHEME.match(location)
    if found is None:
        return f"file:{location.lstrip('/')}"
    return f"{found[1]}:{location[found.end() :]}"


def _is_local(plain: str) -> bool:
    return plain.startswith("file:")
