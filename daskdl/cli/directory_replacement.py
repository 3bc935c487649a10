"""Directories that are made beside their place, and swapped in when complete.

Where a directory is renamed in one operation, the old one steps aside, the new one
takes its name, and the old one goes. Elsewhere files are copied one by one, and the
file that says that all others are there is the first to go and the last to come. In
both cases it is known at any moment which of the two is whole, and where: whoever is
killed leaves `NAME.unfinished-ID` or `NAME.replaced-ID`, which the next run finds.
"""

import contextlib
import fnmatch
import logging
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from daskdl.data.retries import BROKEN, with_retries
from daskdl.data.store import entries_of, kind_of, move, remove, renames_directories

__all__ = [
    "DirectoryReplacement",
    "finish_broken_off",
    "is_one_of_names",
    "place_of_unfinished",
    "unfinished_of",
]

logger = logging.getLogger(__name__)

_UNFINISHED, _REPLACED = "unfinished", "replaced"
_ID = "[0-9a-f]{8}"


class DirectoryReplacement:
    """A directory that is made beside a path and then takes its place.

    Parameters
    ----------
    fs : fsspec.AbstractFileSystem
    path : str
        The place, as `fs` calls it.
    names : sequence of str
        Files that belong to such a directory, with ``*`` for whatever stands there.
        Others in an old one are carried over.
    mark : str
        The one of them without which a directory is not whole.
    made : str, optional
        One that an earlier process left, to be gone on with; it may be in its place.
    """

    def __init__(
        self,
        fs: Any,
        path: str,
        names: Sequence[str],
        mark: str,
        made: str | None = None,
    ) -> None:
        run_id = uuid.uuid4().hex[:8]
        self.made = made or f"{path}.{_UNFINISHED}-{run_id}"
        self._aside = f"{path}.{_REPLACED}-{run_id}"
        self._fs = fs
        self._path = path
        self._names = names
        self._mark = mark
        self._parents: list[str] = []

    def make(self) -> None:
        """Make the directory beside the place."""
        self._parents = _missing_parents(self._fs, self._path)
        with_retries(
            f"{self.made}: making it",
            lambda: self._fs.makedirs(self.made, exist_ok=True),
        )

    def discard(self) -> None:
        """Remove the new directory, and empty parents that `make` made."""
        with contextlib.suppress(*BROKEN):
            self._fs.rm(self.made, recursive=True)
        with contextlib.suppress(*BROKEN):
            for parent in self._parents:
                self._fs.rmdir(parent)

    def put_in_place(self) -> None:
        """Move the new directory to its place, and remove the old one.

        Raises
        ------
        OSError
            If the store does not let it; what was there is there again, if the store
            allows that, and else found by the next :func:`finish_broken_off`.
        """
        fs, path = self._fs, self._path
        if self.made == path:
            return
        if renames_directories(fs):
            self._swap_by_renaming()
        else:
            self._swap_by_copying()
        try:
            finish_broken_off(fs, path, self._names, self._mark)
        except BROKEN as error:
            logger.warning("%s must be removed, it is not: %s", self._aside, error)

    def _swap_by_renaming(self) -> None:
        fs, path, aside = self._fs, self._path, self._aside
        try:
            if kind_of(fs, path) is not None:
                move(fs, path, aside)
            move(fs, self.made, path)
        except BaseException:
            with contextlib.suppress(*BROKEN):
                # Asked of the store, since an interrupt may come at any moment.
                if kind_of(fs, path) is None and kind_of(fs, aside) is not None:
                    move(fs, aside, path)
            raise

    def _swap_by_copying(self) -> None:
        fs, path, names = self._fs, self._path, _mark_last(self._names, self._mark)
        if kind_of(fs, path) is not None:
            _copy_files(fs, path, self._aside, names)
        try:
            _remove_files(fs, path, reversed(names))
            _copy_files(fs, self.made, path, names)
        except BaseException:
            with contextlib.suppress(*BROKEN):
                _remove_files(fs, path, reversed(names))
                _restore(fs, self._aside, path, names)
            raise
        with contextlib.suppress(*BROKEN):
            fs.rm(self.made, recursive=True)


def finish_broken_off(fs: Any, path: str, names: Sequence[str], mark: str) -> list[str]:
    """Finish replacements whose process was killed in between.

    Parameters
    ----------
    fs, path, names, mark
        See :class:`DirectoryReplacement`.

    Returns
    -------
    list of str
        Directories from which what was at `path` has been restored.
    """
    restored = []
    for aside in _siblings(fs, path, _REPLACED):
        is_whole = kind_of(fs, f"{path}/{mark}") is not None
        if is_whole:
            _carry_over(fs, aside, path, names)
        elif not renames_directories(fs):
            if kind_of(fs, f"{aside}/{mark}") is not None:
                # The copy is whole, so what is at the place is half of the new.
                _remove_files(fs, path, names)
            _restore(fs, aside, path, _mark_last(names, mark))
            restored.append(aside)
        elif kind_of(fs, path) is None:
            move(fs, aside, path)
            restored.append(aside)
    return restored


def is_one_of_names(name: str, names: Sequence[str]) -> bool:
    """Tell whether a file belongs to a directory; see :class:`DirectoryReplacement`."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in names)


def unfinished_of(fs: Any, path: str) -> list[str]:
    """Return the directories that were to become the one at `path`, and have not."""
    return _siblings(fs, path, _UNFINISHED)


def place_of_unfinished(path: str) -> str | None:
    """Return where a directory that is not finished belongs; None for any other."""
    found = re.fullmatch(rf"(.+)\.{_UNFINISHED}-{_ID}", path)
    return None if found is None else found[1]


def _carry_over(fs: Any, aside: str, path: str, names: Sequence[str]) -> None:
    """Move files of others from the old directory into the new; remove the old one."""
    for entry in entries_of(fs, aside):
        name = entry.rpartition("/")[2]
        if not is_one_of_names(name, names) and kind_of(fs, f"{path}/{name}") is None:
            move(fs, entry, f"{path}/{name}")
    _remove_files(fs, aside, names)
    with contextlib.suppress(*BROKEN):  # two of the same name: both are kept
        fs.rmdir(aside)


def _restore(fs: Any, aside: str, path: str, names: Sequence[str]) -> None:
    if kind_of(fs, aside) is not None:
        _copy_files(fs, aside, path, names)
        remove(fs, aside, recursive=True)


def _copy_files(fs: Any, source: str, target: str, names: Sequence[str]) -> None:
    with_retries(f"{target}: making it", lambda: fs.makedirs(target, exist_ok=True))
    for name in _present(fs, source, names):
        _copy(fs, f"{source}/{name}", f"{target}/{name}")


def _copy(fs: Any, source: str, target: str) -> None:
    with_retries(f"{source}: copying it", lambda: fs.cp_file(source, target))


def _remove_files(fs: Any, path: str, names: Iterable[str]) -> None:
    for name in _present(fs, path, names):
        remove(fs, f"{path}/{name}")


def _present(fs: Any, path: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the names in a directory that are among `names`, in their order."""
    found = [entry.rpartition("/")[2] for entry in entries_of(fs, path)]
    for pattern in names:
        yield from fnmatch.filter(found, pattern)


def _mark_last(names: Sequence[str], mark: str) -> list[str]:
    return [*(name for name in names if name != mark), mark]


def _siblings(fs: Any, path: str, what: str) -> list[str]:
    parent, _, name = path.rpartition("/")
    pattern = re.compile(rf"{re.escape(name)}\.{what}-{_ID}")
    try:
        found = entries_of(fs, parent or "/")
    except PermissionError:
        return []  # who may not list the folder may still write there
    return sorted(
        entry for entry in found if pattern.fullmatch(entry.rpartition("/")[2])
    )


def _missing_parents(fs: Any, path: str) -> list[str]:
    """Return the folders above `path` that do not exist, the innermost first."""
    if not renames_directories(fs):
        return []  # there are none
    found = []
    parent = path.rpartition("/")[0]
    while parent and kind_of(fs, parent) is None:
        found.append(parent)
        parent = parent.rpartition("/")[0]
    return found
