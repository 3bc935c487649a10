"""Files for pyarrow to read."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from daskdl.data.store import is_one_of
from daskdl_bridge.storage import Location, filesystem, not_found

__all__ = ["open_for_arrow"]


def open_for_arrow(
    url: Location, storage_options: Mapping[str, Any] | None = None
) -> Any:
    """Open a file for pyarrow, which reads local ones without Python, a fifth faster.

    Raises
    ------
    SourceNotFoundError
        If there is no such file.
    """
    fs, path = filesystem(url, storage_options)
    try:
        return pa.OSFile(path) if is_one_of(fs, "file") else fs.open(path, "rb")
    except FileNotFoundError as error:
        raise not_found(fs, path) from error
