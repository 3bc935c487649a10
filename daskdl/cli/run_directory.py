"""The directory that a run leaves: on disk, or wherever fsspec reaches."""

import contextlib
import os
import posixpath
from collections.abc import Callable, Iterator
from typing import Any

from daskdl.cli.directory_replacement import (
    DirectoryReplacement,
    finish_broken_off,
    unfinished_of,
)
from daskdl.cli.output_errors import output_error
from daskdl.cli.retried_save import save_with_retries
from daskdl.data.directory_lock import DirectoryLock, is_abandoned
from daskdl.data.files import is_local, write_output
from daskdl.data.filesystems import filesystem
from daskdl.data.retries import BROKEN, in_words
from daskdl.data.store import entries_of, kind_of, remove
from daskdl.errors import DaskdlError, OutputError, OutputExistsError

__all__ = ["RunDirectory", "is_of_one_run"]

JOB = "job.yaml"
MODEL, CHECKPOINT = "model.safetensors", "checkpoint.safetensors"
EVALUATION, STATISTICS, REPORT = "evaluation.json", "statistics.json", "report.html"

_OURS = (JOB, CHECKPOINT, STATISTICS, EVALUATION, REPORT, MODEL)


def _to_nobody(text: str) -> None:
    pass


def is_of_one_run(fs: Any, directory: str) -> bool:
    """Tell whether a directory holds a job as it ran, and nothing that no run leaves.

    Others keep a job of that name beside their data.
    """
    names = {posixpath.basename(entry) for entry in entries_of(fs, directory)}
    return JOB in names and all(name in _OURS or name.startswith(".") for name in names)


class RunDirectory:
    """The directory of a run's results, made beside its place until all is there.

    Parameters
    ----------
    url : str
        Path or URL; nothing is touched yet.
    overwrite : bool
        Replace an earlier run. What else is there is carried over.
    tell : callable
        Takes a line for people.
    """

    def __init__(
        self,
        url: str,
        *,
        overwrite: bool = False,
        tell: Callable[[str], None] = _to_nobody,
    ) -> None:
        self.url = url.rstrip("/")
        self._overwrite = overwrite
        self._tell = tell
        self._kept: set[str] = set()
        self._fs, self._path = filesystem(self.url)
        root = self.url
        if is_local(url):
            # A link stays; what it points to is replaced.
            root = self._path = os.path.realpath(self._path)
        self._is_local = is_local(url)
        self._lock: DirectoryLock | None = None
        self._superseded: list[str] = []
        self._replacement = DirectoryReplacement(self._fs, self._path, _OURS, MODEL)
        self._here = root + self._replacement.made.removeprefix(self._path)

    def path(self, name: str) -> str:
        """Return the path or URL of a file, as it is now."""
        return f"{self._here}/{name}"

    def check(self) -> None:
        """Refuse a place that is taken; tidy up after runs that were killed.

        Raises
        ------
        OutputExistsError
            Unless overwriting was asked for and what is there is a run directory.
        """
        for aside in finish_broken_off(self._fs, self._path, _OURS, MODEL):
            self._tell(
                f"{self.url} is restored from {posixpath.basename(aside)}: its "
                "replacement was broken off"
            )
        for made in unfinished_of(self._fs, self._path):
            self._look_at_unfinished(made)
        if kind_of(self._fs, self._path) is None:
            return
        if not self._overwrite:
            raise OutputExistsError(
                f"run: output must not exist yet, got {self.url}. "
                "Choose another --output, or replace it with --overwrite."
            )
        # A mistyped path must not cost somebody's data. An empty directory is what is
        # left of a run that was stopped as it took its place in a store that copies.
        is_run = kind_of(self._fs, f"{self._path}/{JOB}") is not None
        is_file = kind_of(self._fs, self._path) == "file"
        if not is_run and (is_file or entries_of(self._fs, self._path)):
            raise OutputExistsError(
                f"run: --overwrite must meet a run directory (with {JOB}), "
                f"got {self.url}, which is something else. Choose another --output."
            )

    def _look_at_unfinished(self, made: str) -> None:
        """Remove the directory of a dead run, unless there is a network in it."""
        beside = f"beside {self.url} lies {posixpath.basename(made)}"
        if not (self._is_local and is_abandoned(made)):
            self._tell(
                f"{beside}, a run that is not finished: unless it goes on elsewhere, "
                "use its checkpoint or remove it"
            )
        elif any(kind_of(self._fs, f"{made}/{name}") for name in (MODEL, CHECKPOINT)):
            self._tell(
                f"{beside}, of a run that has ended, with its network: it is removed "
                "when this run is good"
            )
            self._superseded.append(made)
        else:
            self._remove_abandoned(made)

    def _remove_abandoned(self, made: str) -> None:
        with contextlib.suppress(*BROKEN):
            self._fs.rm(made, recursive=True)

    def make(self) -> None:
        """Make a directory beside the place; an earlier run stays as it is.

        Raises
        ------
        OptionError
            If the store does not let it be made.
        OutputError
            If the store is full, or does not answer.
        """
        try:
            self._replacement.make()
        except BROKEN as error:
            raise output_error("run: output", self.url, error) from error
        if self._is_local:
            self._lock = DirectoryLock(self._replacement.made)

    def write(self, name: str, text: str) -> None:
        """Write a text file; it appears whole or not at all."""
        # A path that is no text in this locale stands in some files.
        content = text.encode(errors="surrogateescape")
        with self._writing(name):
            write_output(
                self.path(name), lambda out: out.write(content), overwrite=True
            )

    def save(self, name: str, network: Any) -> None:
        """Save a network."""
        with self._writing(name):
            network.save(self.path(name), overwrite=True)
        self._kept.add(name)

    def save_model(self, network: Any) -> None:
        """Save the trained network, with retries, and remove the checkpoint."""
        save_with_retries(
            lambda url: network.save(url, overwrite=True),
            self.path(MODEL),
            name=posixpath.basename(self.url) or "model",
            tell=self._tell,
        )
        self._kept.add(MODEL)
        self.remove(CHECKPOINT)

    def remove(self, name: str) -> None:
        """Remove a file if it is there, and the store lets it be removed."""
        path = f"{self._replacement.made}/{name}"
        with contextlib.suppress(*BROKEN):
            remove(self._fs, path)
            self._kept.discard(name)

    @property
    def kept(self) -> str | None:
        """In words: the network that is here, or the last checkpoint; None if none."""
        if MODEL in self._kept:
            return f"model kept: {self.path(MODEL)}"
        if CHECKPOINT in self._kept:
            return f"checkpoint kept: {self.path(CHECKPOINT)}"
        return None

    def finish(self) -> None:
        """Let the run take its place, instead of an earlier one.

        Raises
        ------
        OutputExistsError
            If something came there meanwhile, and is not to be overwritten.
        OutputError
            If the store does not let it; the message says where the run is.
        """
        if not self._overwrite and kind_of(self._fs, self._path) is not None:
            raise OutputExistsError(
                f"run: output must not exist yet, got {self.url}, which came while "
                f"this run went on. It is complete in {self._here}: move it from there."
            )
        self._drop_claim()
        try:
            self._replacement.put_in_place()
        except BROKEN as error:
            raise OutputError(
                f"run: {self.url} must be put in its place, the store does not let it: "
                f"{in_words(error)}. The run is complete in {self._here}: move it from "
                "there."
            ) from error
        self._here = self.url
        for made in self._superseded:
            if is_abandoned(made):
                self._remove_abandoned(made)

    def _drop_claim(self) -> None:
        if self._lock is not None:
            self._lock.remove()

    def leave(self) -> None:
        """Leave a run that did not end well: with its network, or without a trace.

        Where nothing was before, the network lies there; else beside the earlier run.
        """
        if not self._kept:
            self._drop_claim()
            self._replacement.discard()
            return
        with contextlib.suppress(*BROKEN):
            if kind_of(self._fs, self._path) is None:
                self._drop_claim()
                self._replacement.put_in_place()
            if kind_of(self._fs, self._replacement.made) is None:
                self._here = self.url
        if self._lock is not None:
            self._lock.release()

    @contextlib.contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        """Say which file it was that the store did not take."""
        try:
            yield
        except BROKEN as error:
            if isinstance(error, DaskdlError) and not isinstance(error, OutputError):
                raise
            # Not what is kept under a temporary name: that goes with the directory.
            cause = error.__cause__ or error
            raise OutputError(
                f"run: {self.path(name)} must be written, the store does not take it: "
                f"{in_words(cause)}."
            ) from error
