"""Directories of classes without a file: their names count among those of the others.

A training set may have images of a class that a test set lacks. Were its empty
directory passed over, all classes behind it would get other numbers.
"""

from collections.abc import Iterable
from typing import Any

from daskdl.data.store import entries_of, kind_of
from daskdl_bridge.listing import Part
from daskdl_bridge.storage import expand_locations, is_hidden, url_of

__all__ = ["empty_folders"]


def empty_folders(
    data: Any, parts: Iterable[Part], storage_options: dict[str, Any]
) -> list[str]:
    """Return the names of empty directories beside those that hold files.

    Parameters
    ----------
    data : str, path, or list of them
        Where the files were looked for: nothing above is looked at.
    parts : iterable of Part
        The files.
    storage_options : dict
        Handed to the file system.
    """
    holding = {part.url.rpartition("/")[0] for part in parts}
    names: set[str] = set()
    for fs, path, _ in expand_locations(data, storage_options):
        if kind_of(fs, path) != "directory":
            continue
        root = url_of(fs, path).rstrip("/")
        above = {
            one.rpartition("/")[0] for one in holding if one.startswith(f"{root}/")
        }
        for url in {root, *above}:
            names.update(_empty_in(fs, path + url[len(root) :], holding))
    return sorted(names)


def _empty_in(fs: Any, directory: str, holding: set[str]) -> list[str]:
    return [
        name
        for entry in entries_of(fs, directory)
        for name in [entry.rstrip("/").rpartition("/")[2]]
        if not is_hidden(name)
        and url_of(fs, entry) not in holding
        and kind_of(fs, entry) == "directory"
        and all(is_hidden(one.rpartition("/")[2]) for one in entries_of(fs, entry))
    ]
