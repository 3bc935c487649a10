"""The directory that a run leaves: on disk, or wherever fsspec reaches."""

import contextlib
import os
import posixpath
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from daskdl.cli.directory_replacement import (
    DirectoryReplacement,
    finish_broken_off,
    is_one_of_names,
    unfinished_of,
)
from daskdl.cli.output_errors import output_error
from daskdl.cli.retried_save import save_with_retries
from daskdl.data.directory_lock import DirectoryLock, is_abandoned, is_held
from daskdl.data.files import is_local, write_output
from daskdl.data.filesystems import filesystem
from daskdl.data.retries import BROKEN, in_words
from daskdl.data.store import entries_of, kind_of, remove
from daskdl.errors import (
    DaskdlError,
    OptionError,
    OutputError,
    OutputExistsError,
    SourceNotFoundError,
)
from daskdl.formats.run_network import MODEL
from daskdl.nn.fitting.checkpoint_directory import CHECKPOINTS, checkpoints_in
from daskdl.training.boards.event_file import EVENTS

__all__ = ["RunDirectory", "is_of_one_run"]

JOB = "job.yaml"
EVALUATION, STATISTICS, REPORT = "evaluation.json", "statistics.json", "report.html"
TIMELINE, PAGE = "timeline.jsonl", "page.json"

_OURS = (
    *(JOB, CHECKPOINTS, EVENTS, STATISTICS, TIMELINE, PAGE, EVALUATION, REPORT),
    MODEL,
)


def _to_nobody(text: str) -> None:
    pass


def is_of_one_run(fs: Any, directory: str) -> bool:
    """Tell whether a directory holds a job as it ran, and nothing that no run leaves.

    Others keep a job of that name beside their data.
    """
    names = {posixpath.basename(entry) for entry in entries_of(fs, directory)}
    return JOB in names and all(
        is_one_of_names(name, _OURS) or name.startswith(".") for name in names
    )


def run_to_resume(fs: Any, path: str, url: str, unfinished: Sequence[str]) -> str:
    """Return the directory of the run that is to go on, or that is complete.

    Parameters
    ----------
    fs : fsspec.AbstractFileSystem
    path, url : str
        Where the run is to be, as `fs` and as messages call it.
    unfinished : sequence of str
        Directories beside it that are to take its place.

    Raises
    ------
    SourceNotFoundError
        If there is none.
    OptionError
        If there are several, or it still goes on.
    """

    def holds(made: str, name: str) -> bool:
        return kind_of(fs, f"{made}/{name}") is not None

    found = [made for made in unfinished if holds(made, JOB)]
    if not found and holds(path, JOB):
        found = [path]
    names = ", ".join(map(posixpath.basename, found))
    if not found:
        advice = (
            " A run that ends before its first checkpoint leaves nothing: begin it "
            f"anew, with its job file and --output {url}."
        )
        raise SourceNotFoundError(
            f"run: --resume must be the directory of a run (with {JOB}), got none: "
            f"{url}.{advice if kind_of(fs, path) is None else ''}"
        )
    if len(found) > 1:
        raise OptionError(
            f"run: --resume must be one run, got several: {names}. Remove the others."
        )
    if is_local(url) and is_held(found[0]):
        raise _goes_on(names)
    return found[0]


def _goes_on(name: str) -> OptionError:
    return OptionError(
        f"run: --resume must be a run that has ended, got {name}, which goes on."
    )


class RunDirectory:
    """The directory of a run's results, made beside its place until all is there.

    Parameters
    ----------
    url : str
        Path or URL; nothing is touched yet.
    overwrite : bool
        Replace an earlier run. What else is there is carried over.
    resume : bool
        Go on with the run that was to be there, and is not finished.
    tell : callable
        Takes a line for people.
    """

    def __init__(
        self,
        url: str,
        *,
        overwrite: bool = False,
        resume: bool = False,
        tell: Callable[[str], None] = _to_nobody,
    ) -> None:
        self.url = url.rstrip("/")
        self._overwrite = overwrite
        self._resumes = resume
        self._tell = tell
        self._has_model = False
        self._fs, self._path = filesystem(self.url)
        self._root = self.url
        if is_local(url):
            # A link stays; what it points to is replaced.
            self._root = self._path = os.path.realpath(self._path)
        self._is_local = is_local(url)
        self._lock: DirectoryLock | None = None
        self._superseded: list[str] = []
        self._use(None)

    def _use(self, made: str | None) -> None:
        """Make the run in a new directory, or in one that is there."""
        self._replacement = DirectoryReplacement(
            self._fs, self._path, _OURS, MODEL, made
        )
        self.here = self._root + self._replacement.made.removeprefix(self._path)

    def path(self, name: str) -> str:
        """Return the path or URL of a file, as it is now."""
        return f"{self.here}/{name}"

    def checkpoints(self) -> list[str]:
        """Return the names of the run's checkpoints, the newest first."""
        return checkpoints_in(self._fs, self._replacement.made)

    @property
    def is_complete(self) -> bool:
        """Whether a run that was to be gone on with has nothing left to do."""
        made = self._replacement.made
        has_model = kind_of(self._fs, f"{made}/{MODEL}") is not None
        return self._resumes and has_model and not self.checkpoints()

    def check(self) -> None:
        """Refuse a place that is taken; tidy up after runs that were killed.

        Raises
        ------
        OutputExistsError
            Unless overwriting was asked for and what is there is a run directory.
        SourceNotFoundError, OptionError
            If there is no run to go on with, or it still goes on.
        """
        for aside in finish_broken_off(self._fs, self._path, _OURS, MODEL):
            self._tell(
                f"{self.url} is restored from {posixpath.basename(aside)}: its "
                "replacement was broken off"
            )
        unfinished = unfinished_of(self._fs, self._path)
        if self._resumes:
            made = run_to_resume(self._fs, self._path, self.url, unfinished)
            unfinished = [one for one in unfinished if one != made]
            self._use(made)
        for made in unfinished:
            self._look_at_unfinished(made)
        is_in_place = self._replacement.made == self._path
        if is_in_place or kind_of(self._fs, self._path) is None:
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
                "go on with it (--resume) or remove it"
            )
        elif kind_of(self._fs, f"{made}/{MODEL}") or checkpoints_in(self._fs, made):
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
            If the store does not let it be made, or another process goes on with the
            run since this one looked.
        OutputError
            If the store is full, or does not answer.
        """
        try:
            self._replacement.make()
        except BROKEN as error:
            raise output_error("run: output", self.url, error) from error
        if self._is_local:
            self._lock = DirectoryLock(self._replacement.made)
            if self._is_of_another():
                raise _goes_on(posixpath.basename(self._replacement.made))

    def _is_of_another(self) -> bool:
        return self._lock is not None and self._lock.is_of_another

    def write(self, name: str, text: str) -> None:
        """Write a text file; it appears whole or not at all."""
        # A path that is no text in this locale stands in some files.
        content = text.encode(errors="surrogateescape")
        with self._writing(name):
            write_output(
                self.path(name), lambda out: out.write(content), overwrite=True
            )

    def save_model(self, network: Any) -> None:
        """Save the trained network, with retries."""
        save_with_retries(
            lambda url: network.save(url, overwrite=True),
            self.path(MODEL),
            name=posixpath.basename(self.url) or "model",
            tell=self._tell,
        )
        self._has_model = True

    @property
    def model(self) -> str | None:
        """Path or URL of the trained network, if it is saved."""
        return self.path(MODEL) if self._has_model else None

    @property
    def kept(self) -> str | None:
        """In words: the network that is here, or the last checkpoint; None if none."""
        if self._has_model:
            return f"model kept: {self.model}"
        with contextlib.suppress(*BROKEN):
            if found := checkpoints_in(self._fs, filesystem(self.here)[1]):
                return (
                    f"checkpoint kept: {self.path(found[0])}; go on with: daskdl run "
                    f"--resume {self.url}"
                )
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
        is_in_place = self._replacement.made == self._path
        is_taken = not is_in_place and kind_of(self._fs, self._path) is not None
        if is_taken and not self._overwrite:
            raise OutputExistsError(
                f"run: output must not exist yet, got {self.url}, which came while "
                f"this run went on. It is complete in {self.here}: move it from there."
            )
        self._drop_claim()
        with contextlib.suppress(*BROKEN):
            # Until now they were what the run could go on from.
            for name in self.checkpoints():
                remove(self._fs, f"{self._replacement.made}/{name}")
        try:
            self._replacement.put_in_place()
        except BROKEN as error:
            raise OutputError(
                f"run: {self.url} must be put in its place, the store does not let it: "
                f"{in_words(error)}. The run is complete in {self.here}: move it from "
                "there."
            ) from error
        self.here = self.url
        for made in self._superseded:
            if is_abandoned(made):
                self._remove_abandoned(made)

    def _drop_claim(self) -> None:
        if self._lock is not None:
            self._lock.remove()

    def leave(self) -> None:
        """Leave a run that did not end well: with its network, or without a trace.

        Where nothing was before, the network lies there; else beside the earlier run.
        One that was gone on with stays in any case.
        """
        if self._is_of_another():
            return
        if not (self._resumes or self.kept):
            self._drop_claim()
            self._replacement.discard()
            return
        with contextlib.suppress(*BROKEN):
            is_in_place = self._replacement.made == self._path
            if is_in_place or kind_of(self._fs, self._path) is None:
                self._drop_claim()
                self._replacement.put_in_place()
                self.here = self.url
            elif kind_of(self._fs, self._replacement.made) is None:
                self.here = self.url
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
