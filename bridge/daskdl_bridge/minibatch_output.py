"""Minibatches in DL4J's files, written by tasks that others may try again.

::

    URL/data/dataset_0_RUN.bin, dataset_1_RUN.bin, ...   one minibatch each
    URL/_SUCCESS

Tasks write below ``_temporary``; only what the driver commits gets a name in ``data``,
which holds nothing else, since DL4J takes every file of a directory for a minibatch.
"""

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from daskdl.checks import some
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.retries import with_retries
from daskdl.data.store import entries_of, kind_of, move
from daskdl.errors import OutputExistsError, StorageError, UnfinishedOutputError
from daskdl_bridge.output_directory import (
    DATA,
    SUCCESS,
    OutputDirectory,
    naming_output,
)
from daskdl_bridge.storage import filesystem, is_hidden, url_of

__all__ = ["MinibatchOutput"]

# Numbers go on behind those of earlier outputs, so that their order is that of reading.
_NAME = re.compile(r"(?:dataset|mds)_(\d+)\w*(?:-\w+)*\.bin")


@dataclass(frozen=True, kw_only=True)
class MinibatchOutput:
    """A directory of minibatches with ``_SUCCESS``; picklable, since tasks write to it.

    Parameters
    ----------
    url : str
        Path or URL of the directory.
    overwrite : bool
        Replace the minibatches that are there when the new ones are committed. If not,
        those are added to them.
    storage_options : dict
        See :func:`daskdl_bridge.storage.filesystem`.
    run_id : str
        Uuid of this output, in the names of its files.
    """

    url: str
    overwrite: bool = False
    storage_options: dict[str, Any] = field(default_factory=dict)
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def prepare(self) -> None:
        """Make the directory for temporary files, before any task runs.

        What a job that was killed while it replaced an output has left is put back.

        Raises
        ------
        OutputExistsError
            If something else than minibatches of an earlier output is at `url`.
        UnfinishedOutputError
            If minibatches are to be added to some without ``_SUCCESS``.
        """
        fs, path = self._place()
        directory = self._directory()
        if kind_of(fs, path) is not None:
            self._check_is_output(fs, path)
            directory.put_back_all()
            self._check_finished(fs, path)
        with naming_output(self.url, "its directory must be made"):
            with_retries(
                f"{self.url}: making it",
                lambda: fs.makedirs(directory.temporary, exist_ok=True),
            )

    def write(self, minibatch: DataSet | MultiDataSet) -> str:
        """Write a minibatch under a temporary name, the whole again on error.

        Returns
        -------
        str
            Name of the file, for `commit`.

        Raises
        ------
        StorageError
            If the last try failed too, or the job has ended without this task.
        """
        fs, _ = self._place()
        folder = self._directory().temporary
        # Stores make directories by themselves, and nobody would remove this one.
        if kind_of(fs, folder) is None:
            raise StorageError(
                f"{self.url}: a task must write before its job ends, got a job that "
                "was given up."
            )
        kind = "dataset" if isinstance(minibatch, DataSet) else "mds"

        def write() -> str:
            name = f"{kind}-{uuid.uuid4()}"
            with fs.open(f"{folder}/{name}", "wb") as stream:
                minibatch.write_to(stream)
            return name

        with naming_output(self.url, "a minibatch must be written"):
            return with_retries(f"{self.url}: writing a minibatch", write)

    def commit(self, names: Sequence[str]) -> None:
        """Replace or extend the output by exactly these files; mark it as finished.

        Parameters
        ----------
        names : sequence of str
            What `write` returned, in the order of the examples.
        """
        fs, path = self._place()
        directory = self._directory()
        with naming_output(self.url, "its minibatches must be moved there"):
            directory.stand_aside(None if self.overwrite else (SUCCESS,))
            fs.makedirs(f"{path}/{DATA}", exist_ok=True)
            for number, name in enumerate(names, _next_number(fs, path)):
                kind = name.partition("-")[0]
                target = f"{path}/{DATA}/{kind}_{number}_{self.run_id}.bin"
                move(fs, f"{directory.temporary}/{name}", target)
            with_retries(
                f"{self.url}: finishing it", lambda: fs.touch(f"{path}/{SUCCESS}")
            )
        directory.remove_own_temporary()

    def abort(self) -> None:
        """Remove the written minibatches, and bring back an earlier output."""
        self._directory().put_back()

    def _place(self) -> tuple[Any, str]:
        return filesystem(self.url, self.storage_options)

    def _directory(self) -> OutputDirectory:
        return OutputDirectory(*self._place(), self.run_id)

    def _check_is_output(self, fs: Any, path: str) -> None:
        names = [name for name in _names(fs, path) if not is_hidden(name)]
        within = _names(fs, f"{path}/{DATA}")
        foreign = [name for name in names if name != DATA]
        foreign += [f"{DATA}/{n}" for n in within if not _NAME.fullmatch(n)]
        if foreign or kind_of(fs, path) != "directory":
            what = "replaced" if self.overwrite else "extended"
            raise OutputExistsError(
                f"{url_of(fs, path)}: only minibatches that were written like this can "
                f"be {what}, those in {DATA}; got {some(sorted(foreign)) or 'a file'} "
                "there. Choose another directory."
            )

    def _check_finished(self, fs: Any, path: str) -> None:
        names = _names(fs, path)
        if not self.overwrite and DATA in names and SUCCESS not in names:
            raise UnfinishedOutputError(
                f"{url_of(fs, path)}: minibatches must be added to finished ones, got "
                f"some without {SUCCESS}, of a job that goes on or was killed. If it "
                "has ended, use mode('overwrite')."
            )


def _next_number(fs: Any, path: str) -> int:
    found = map(_NAME.fullmatch, _names(fs, f"{path}/{DATA}"))
    return max((int(one[1]) for one in found if one is not None), default=-1) + 1


def _names(fs: Any, path: str) -> list[str]:
    return [entry.rpartition("/")[2] for entry in entries_of(fs, path)]
