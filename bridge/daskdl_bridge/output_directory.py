"""The directory of an output, with an earlier output set aside and restored.

What makes room lies in ``_temporary/RUN-replaced`` until the new output has its
``_SUCCESS``. Whether that came is asked of the store and not remembered, so that who
comes after a job that was killed knows as much as the job itself.
"""

import contextlib
import logging
from collections.abc import Collection, Iterator
from typing import Any

from daskdl.data.directory_lock import is_abandoned
from daskdl.data.retries import BROKEN, in_words, is_full, is_lasting, with_retries
from daskdl.data.store import entries_of, is_one_of, kind_of, move, remove
from daskdl.errors import DaskdlError, StorageError

__all__ = ["DATA", "SUCCESS", "OutputDirectory", "naming_output"]

logger = logging.getLogger(__name__)

SUCCESS = "_SUCCESS"

DATA = "data"
"""The folder of minibatches, where DL4J takes every file for one."""

_TEMPORARY = "_temporary"
_REPLACED = "-replaced"


@contextlib.contextmanager
def naming_output(url: str, what: str) -> Iterator[None]:
    """Name the output when a store breaks off.

    What says plainly what is wrong, such as a missing permission, comes out as it
    is.
    """
    try:
        yield
    except BROKEN as error:
        is_plain = is_lasting(error) and not is_full(error)
        if isinstance(error, DaskdlError) or is_plain:
            raise
        raise StorageError(
            f"{url}: {what}, the store does not take it: {in_words(error)}."
        ) from error


class OutputDirectory:
    """A directory of part files or minibatches, and one job that writes there.

    Parameters
    ----------
    fs : fsspec.AbstractFileSystem
    path : str
        The directory, as `fs` calls it.
    run_id : str
        Of the job: in the names of its files, and of its folder of temporary ones.

    Attributes
    ----------
    temporary : str
        That folder.
    """

    def __init__(self, fs: Any, path: str, run_id: str) -> None:
        self._fs = fs
        self._path = path
        self._run_id = run_id
        self.temporary = f"{path}/{_TEMPORARY}/{run_id}"
        self._replaced = f"{self.temporary}{_REPLACED}"

    def stand_aside(self, only: Collection[str] | None = None) -> None:
        """Move an earlier output aside; readers are told that it is unfinished.

        Parameters
        ----------
        only : collection of str, optional
            What of it, by name.
        """
        fs = self._fs
        with_retries(
            f"{self._replaced}: making it",
            lambda: fs.makedirs(self._replaced, exist_ok=True),
        )
        names = [name for name in _names(fs, self._path) if name != _TEMPORARY]
        if only is not None:
            names = [name for name in names if name in only]
        for name in sorted(names, key=lambda name: name != SUCCESS):
            move(fs, f"{self._path}/{name}", f"{self._replaced}/{name}")

    @property
    def holds_nothing_finished(self) -> bool:
        """Whether the directory has only output of unfinished jobs."""
        return _names(self._fs, self._path) == [_TEMPORARY]

    @property
    def has_replaced(self) -> bool:
        """Whether an earlier output stands aside for a job."""
        return any(name.endswith(_REPLACED) for name in self._jobs())

    def remove_abandoned(self) -> None:
        """Remove a first output of jobs that have certainly ended before it was whole.

        What is not ours says nothing of that, such as the jobs of Spark.
        """
        fs, path = self._fs, self._path
        if not is_one_of(fs, "file", "local") or not self.holds_nothing_finished:
            return
        folders = [f"{path}/{_TEMPORARY}/{name}" for name in self._jobs()]
        if not folders or not all(is_abandoned(folder) for folder in folders):
            return
        for folder in folders:
            remove(fs, folder, recursive=True)
        for folder in (f"{path}/{_TEMPORARY}", path):
            _remove_if_empty(fs, folder)

    def remove_temporary(self) -> None:
        """Remove temporary files, now that the output is finished."""
        try:
            remove(self._fs, f"{self._path}/{_TEMPORARY}", recursive=True)
        except BROKEN as error:
            # Readers skip it, and the next job removes it.
            logger.warning("%s: _temporary must go, it does not: %s", self._path, error)

    def remove_own_temporary(self) -> None:
        """Remove the job's temporary files, and leave those of others."""
        try:
            self._remove_own()
        except BROKEN as error:
            logger.warning("%s: must go, it does not: %s", self.temporary, error)

    def put_back(self) -> None:
        """Remove the job's output, and move the earlier one back.

        An output that is finished stays. The directory goes if nothing is left in it,
        unless the job has not begun: then it is somebody else's.
        """
        fs, path = self._fs, self._path
        own = (self.temporary, self._replaced)
        try:
            if all(kind_of(fs, folder) is None for folder in own):
                return
            self._put_back()
            self._remove_own()
            _remove_if_empty(fs, path)
        except BROKEN as error:
            logger.warning(
                "%s: what was there before may be in %s, since the store broke off: %s",
                path,
                self._replaced,
                error,
            )

    def put_back_all(self) -> None:
        """Put back outputs of jobs that were killed while they replaced them."""
        for name in self._jobs():
            if name.endswith(_REPLACED):
                run_id = name.removesuffix(_REPLACED)
                OutputDirectory(self._fs, self._path, run_id).put_back()

    def _jobs(self) -> list[str]:
        return _names(self._fs, f"{self._path}/{_TEMPORARY}")

    def _put_back(self) -> None:
        fs, path = self._fs, self._path
        names = _names(fs, path)
        within = [f"{DATA}/{name}" for name in _names(fs, f"{path}/{DATA}")]
        own = [name for name in (*names, *within) if self._run_id in name]
        if own and SUCCESS in names:
            return
        for name in own:
            remove(fs, f"{path}/{name}")
        _remove_if_empty(fs, f"{path}/{DATA}")
        back = _names(fs, self._replaced)
        for name in sorted(back, key=lambda name: name == SUCCESS):
            move(fs, f"{self._replaced}/{name}", f"{path}/{name}")

    def _remove_own(self) -> None:
        for folder in (self.temporary, self._replaced):
            if kind_of(self._fs, folder) is not None:
                remove(self._fs, folder, recursive=True)
        _remove_if_empty(self._fs, f"{self._path}/{_TEMPORARY}")


def _names(fs: Any, path: str) -> list[str]:
    return [entry.rpartition("/")[2] for entry in entries_of(fs, path)]


def _remove_if_empty(fs: Any, path: str) -> None:
    if kind_of(fs, path) is not None and not entries_of(fs, path):
        with contextlib.suppress(FileNotFoundError):  # stores without directories
            with_retries(f"{path}: removing it", lambda: fs.rmdir(path))
