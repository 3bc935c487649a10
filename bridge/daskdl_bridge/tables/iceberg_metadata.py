"""Which metadata file of an Iceberg table is the current one."""

import re
from typing import Any

from daskdl.data.store import entries_of, kind_of
from daskdl.errors import DataError
from daskdl_bridge.storage import url_of

__all__ = ["METADATA_ENDINGS", "metadata_file"]

METADATA_ENDINGS = (".metadata.json", ".metadata.json.gz")

# Of tables that Hadoop's renaming keeps in order, and of no catalog's.
_OF_HADOOP = re.compile(r"v(\d+)(?:\.gz)?\.metadata\.json(?:\.gz)?")
_HINT = "version-hint.text"


def metadata_file(fs: Any, path: str) -> tuple[str, str]:
    """Find the current metadata file of a table.

    Parameters
    ----------
    fs : fsspec.AbstractFileSystem
    path : str
        The table's directory, or the metadata file itself.

    Returns
    -------
    (str, str)
        The table's directory and the file, as `fs` calls them.

    Raises
    ------
    DataError
        If the files alone do not tell, because a catalog keeps the table.
    """
    if path.endswith(METADATA_ENDINGS):
        return path.rpartition("/")[0].rpartition("/")[0], path
    names = [one.rpartition("/")[2] for one in entries_of(fs, f"{path}/metadata")]
    versions = {
        int(found[1]): name for name in names if (found := _OF_HADOOP.fullmatch(name))
    }
    if not versions:
        raise DataError(
            f"{url_of(fs, path)}: must be an Iceberg table of Hadoop, with "
            "metadata/v1.metadata.json, got one that a catalog keeps, and only that "
            "knows which of its metadata files counts. Give the path of that "
            "*.metadata.json."
        )
    return path, f"{path}/metadata/{versions[_current(fs, path, versions)]}"


def _current(fs: Any, path: str, versions: dict[int, str]) -> int:
    """Return the current version: the hint's, or one that came after it."""
    hint = f"{path}/metadata/{_HINT}"
    if kind_of(fs, hint) is None:
        return max(versions)
    text = fs.cat_file(hint).decode().strip()
    version = int(text) if text.isdigit() else max(versions)
    while version + 1 in versions:
        version += 1
    if version not in versions:
        raise DataError(
            f"{hint}: must name a metadata file that is there, got {text!r}. Copy the "
            "table again."
        )
    return version
