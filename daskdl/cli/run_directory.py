"""The directory that a run leaves: on disk, or wherever fsspec reaches."""

import contextlib
from collections.abc import Iterator
from typing import Any

from daskdl.data.files import open_output
from daskdl.data.filesystems import filesystem
from daskdl.errors import DaskdlError, OptionError, OutputError, OutputExistsError

__all__ = ["RunDirectory"]

JOB = "job.yaml"
MODEL, CHECKPOINT = "model.safetensors", "checkpoint.safetensors"
EVALUATION, STATISTICS, REPORT = "evaluation.json", "statistics.json", "report.html"


class RunDirectory:
    """Where a run puts what it makes.

    Parameters
    ----------
    url : str
        Path or URL; nothing is touched yet.
    overwrite : bool
        Replace the files of an earlier run. Other files there are left alone.
    """

    def __init__(self, url: str, *, overwrite: bool = False) -> None:
        self.url = url.rstrip("/")
        self._overwrite = overwrite
        self._made = False
        self._kept: set[str] = set()
        self._fs, self._path = filesystem(self.url)

    def path(self, name: str) -> str:
        """Return the path or URL of a file in here."""
        return f"{self.url}/{name}"

    def check(self) -> None:
        """Refuse a place where something is already.

        Raises
        ------
        OutputExistsError
            Unless overwriting was asked for and what is there is a run directory.
        """
        if not self._fs.exists(self._path):
            return
        if not self._overwrite:
            raise OutputExistsError(
                f"run: output must not exist yet, got {self.url}. "
                "Choose another --output, or replace it with --overwrite."
            )
        # A mistyped path must not cost somebody's data.
        if not self._fs.exists(f"{self._path}/{JOB}"):
            raise OutputExistsError(
                f"run: --overwrite must meet a run directory (with {JOB}), "
                f"got {self.url}, which is something else. Choose another --output."
            )

    def make(self) -> None:
        """Make the directory and remove the results of an earlier run.

        Raises
        ------
        OptionError
            If the store does not let it be made, or written.
        """
        try:
            self._made = not self._fs.exists(self._path)
            self._fs.makedirs(self._path, exist_ok=True)
            for name in (MODEL, CHECKPOINT, EVALUATION, STATISTICS, REPORT):
                self.remove(name)
        except OSError as error:
            raise OptionError(
                f"run: output must be a directory that can be made and written, got "
                f"{self.url} ({error.strerror or error})."
            ) from error

    def write(self, name: str, text: str) -> None:
        """Write a text file; it appears whole or not at all."""
        with self._writing(name), open_output(self.path(name), overwrite=True) as out:
            # A path that is no text in this locale stands in some files.
            out.write(text.encode(errors="surrogateescape"))

    def save(self, name: str, network: Any) -> str:
        """Save a network and return its path or URL."""
        with self._writing(name):
            network.save(self.path(name), overwrite=True)
        self._kept.add(name)
        return self.path(name)

    def remove(self, name: str) -> None:
        """Remove a file if it is there."""
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm(f"{self._path}/{name}")
        self._kept.discard(name)

    @property
    def kept(self) -> str | None:
        """In words: the network that is here, or the last checkpoint; None if none."""
        if MODEL in self._kept:
            return f"model kept: {self.path(MODEL)}"
        if CHECKPOINT in self._kept:
            return f"checkpoint kept: {self.path(CHECKPOINT)}"
        return None

    @contextlib.contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        """Say which file it was that the store did not take."""
        try:
            yield
        except DaskdlError:
            raise
        except OSError as error:
            raise OutputError(
                f"run: {self.path(name)} must be written, the store does not take it: "
                f"{error.strerror or error}."
            ) from error

    def discard_if_empty(self) -> None:
        """Remove the directory again if it was made here and holds no network.

        So a job that was refused can be corrected and run again without --overwrite.
        """
        if not self._made or self._kept:
            return
        self.remove(JOB)
        with contextlib.suppress(OSError):  # somebody else put something there
            self._fs.rmdir(self._path)
