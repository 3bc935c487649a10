"""A directory of checkpoints of one run: numbered files, of which the last are kept."""

import logging
import os
import posixpath
import re
from collections.abc import Callable
from typing import Any, TypeVar

from daskdl.data.files import make_folder
from daskdl.data.filesystems import filesystem
from daskdl.data.retries import BROKEN
from daskdl.data.store import entries_of, kind_of, remove
from daskdl.errors import FormatError, SourceNotFoundError

__all__ = ["CHECKPOINTS", "CheckpointDirectory", "checkpoints_in", "read_newest"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

CHECKPOINTS = "checkpoint-*.safetensors"
"""The pattern of their names."""

_NAME = re.compile(r"checkpoint-(\d{6,})\.safetensors")
# As they are called until they are complete.
_UNFINISHED = re.compile(rf"\.{_NAME.pattern}\.[0-9a-f]{{32}}")


def checkpoints_in(fs: Any, directory: str) -> list[str]:
    """Return the names of the checkpoints in a directory, the newest first."""
    names = [posixpath.basename(entry) for entry in entries_of(fs, directory)]
    return sorted(filter(_NAME.fullmatch, names), key=_number, reverse=True)


def read_newest(who: str, path_or_url: str, read: Callable[[str], T]) -> tuple[str, T]:
    """Read a checkpoint, or of a directory of them the newest that is whole.

    Parameters
    ----------
    who : str
        For messages.
    path_or_url : str
        Of a file or a directory.
    read : callable
        Reads the file of that name.

    Returns
    -------
    path_or_url : str
        Of the file.
    object
        What `read` returned.

    Raises
    ------
    SourceNotFoundError
        If there is no checkpoint.
    FormatError
        If no one is whole; over the newest.
    """
    url = path_or_url.rstrip("/")
    fs, path = filesystem(url)
    kind = kind_of(fs, path)
    if kind == "file":
        return url, read(url)
    names = checkpoints_in(fs, path)
    if not names:
        there = "a directory without one" if kind else "nothing there"
        raise SourceNotFoundError(
            f"{who}: resume must be a checkpoint of a run or a directory of them, got "
            f"{there}: {url}. Leave it out to begin anew."
        )
    damage: list[FormatError] = []
    for name in names:
        found = _read_or_warn(f"{url}/{name}", read, damage)
        if found is not None:
            if damage:
                logger.warning("%s: it goes on from %s/%s.", who, url, name)
            return f"{url}/{name}", found
    raise FormatError(
        f"{who}: resume must have a checkpoint that is whole, got {len(names)} damaged "
        f"in {url}. The newest: {damage[0]}"
    ) from damage[0]


def _read_or_warn(
    url: str, read: Callable[[str], T], damage: list[FormatError]
) -> T | None:
    try:
        return read(url)
    except FormatError as error:
        damage.append(error)
        logger.warning("%s The checkpoint before it is taken, if there is one.", error)
        return None


class CheckpointDirectory:
    """The checkpoints that a run writes.

    Parameters
    ----------
    path_or_url : str or path
        Made with the first checkpoint.
    keep_last : int
        How many are kept.
    """

    def __init__(self, path_or_url: str | os.PathLike[str], keep_last: int) -> None:
        self.url = os.fspath(path_or_url).rstrip("/")
        self._keep_last = keep_last
        self._fs, self._path = filesystem(self.url)
        self._numbers: list[int] = []  # of this run, in order
        # Of other runs, what they did not complete, and what was replaced.
        self._surplus: list[str] = []
        self._next = 1

    def holds(self, checkpoint: str | None) -> bool:
        """Tell whether a path or URL is that of a file in this directory."""
        if checkpoint is None:
            return False
        fs, path = filesystem(checkpoint)
        return type(fs) is type(self._fs) and posixpath.dirname(path) == self._path

    def names(self) -> list[str]:
        """Return the names of what is there, the newest first."""
        return checkpoints_in(self._fs, self._path)

    def begin(self, resumed_from: str | None) -> None:
        """Take the directory for one run, whose checkpoints up to one are there.

        Parameters
        ----------
        resumed_from : str or None
            The checkpoint that it goes on from. Later ones and those of other runs go
            when the first of this run is written.
        """
        found = self.names()
        last = -1
        if resumed_from is not None and self.holds(resumed_from):
            last = _number(posixpath.basename(resumed_from))
        self._numbers = sorted(one for one in map(_number, found) if one <= last)
        self._surplus = [one for one in found if _number(one) > last]
        entries = map(posixpath.basename, entries_of(self._fs, self._path))
        self._surplus += filter(_UNFINISHED.fullmatch, entries)
        self._next = 1 + max(map(_number, found), default=0)

    def add(
        self, write: Callable[[str], object], *, replaces_last: bool = False
    ) -> str:
        """Write the next checkpoint, and remove those that are not kept.

        Parameters
        ----------
        write : callable
            Writes the file of that name, at once or not at all.
        replaces_last : bool
            Remove the last one of this run, too, which this one stands for. It goes
            once this one is written: not all stores replace a file at once.

        Returns
        -------
        str
            Its path or URL.

        Raises
        ------
        OutputError
            If the store does not take it; those before stay.
        """
        url = f"{self.url}/{_named(self._next)}"
        make_folder(self.url)
        write(url)
        if replaces_last:
            self._surplus.append(_named(self._numbers.pop()))
        self._numbers.append(self._next)
        self._next += 1
        self._prune()
        return url

    def _prune(self) -> None:
        old = [_named(number) for number in self._numbers[: -self._keep_last]]
        try:
            for name in [*self._surplus, *old]:
                remove(self._fs, f"{self._path}/{name}")
        except BROKEN as error:
            # One too many does no harm; the next time they are tried again.
            logger.warning("%s: old checkpoints are not removed: %s", self.url, error)
            return
        self._surplus = []
        del self._numbers[: -self._keep_last]


def _named(number: int) -> str:
    return f"checkpoint-{number:06}.safetensors"


def _number(name: str) -> int:
    found = _NAME.fullmatch(name)
    return -1 if found is None else int(found[1])
