"""Results as part files in a directory, the way Spark writes its own.

Workers write below ``_temporary``; only what the driver commits is moved into place,
and ``_SUCCESS`` comes last. An earlier output stands aside until then, and comes back
if it does not come so far. So no reader sees half an output, whoever died on the way.
"""

import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daskdl.checks import check_one_of, some
from daskdl.data.directory_lock import DirectoryLock
from daskdl.data.retries import with_retries
from daskdl.data.sinks import Sink
from daskdl.data.store import entries_of, is_one_of, kind_of, move
from daskdl.errors import OptionError, OutputExistsError, UnfinishedOutputError
from daskdl_bridge.output_directory import SUCCESS, OutputDirectory, naming_output
from daskdl_bridge.storage import filesystem, is_hidden, join_url, url_of
from daskdl_bridge.writers.formats import WRITERS

__all__ = ["PathSink", "PathSinks"]

_PIECE_BYTES = 4 << 20

_EMPTY = "-empty"


class PathSinks:
    """Opens paths and URLs for writing: the entry point ``path`` of daskdl.sinks."""

    def accepts(self, url: Any) -> bool:
        """Say whether `url` is a path or a URL."""
        return isinstance(url, str | os.PathLike)

    def open(
        self,
        url: str | os.PathLike[str],
        *,
        format: str = "parquet",
        overwrite: bool = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> "PathSink":
        """Return a sink for a directory of part files; nothing is touched yet.

        Raises
        ------
        OptionError
            If `format` is no format that can be written.
        """
        return PathSink(
            format=check_one_of("open_sink", "format", format, WRITERS),
            url=_whole(os.fspath(url)),
            overwrite=overwrite,
            storage_options=dict(storage_options or {}),
        )


def _whole(url: str) -> str:
    """Return a path as it is called from any folder: workers have one of their own."""
    return url.rstrip("/") if ":/" in url else os.path.abspath(url)


@dataclass(frozen=True, kw_only=True)
class PathSink(Sink):
    """A directory of part files with ``_SUCCESS``.

    Parameters
    ----------
    url : str
        Path or URL of the directory.
    format : str
        A key of :data:`daskdl_bridge.writers.formats.WRITERS`.
    overwrite : bool
        Replace the part files that are there, when the new ones are committed.
    storage_options : dict
        See :func:`daskdl_bridge.storage.filesystem`.
    run_id : str
        Uuid of this output, in the names of its files.
    retry_waits_s : tuple of float, optional
        Seconds before the second, third, ... try at writing a part; those of
        :mod:`daskdl.data.retries` if not given.
    """

    url: str
    format: str = "parquet"
    overwrite: bool = False
    storage_options: dict[str, Any] = field(default_factory=dict)
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    retry_waits_s: tuple[float, ...] | None = None
    # Of the process that prepared it: says that it still lives.
    _locks: list[DirectoryLock] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_locks": []}

    def check_columns(self, columns: Mapping[str, Any]) -> None:
        """Refuse columns that the format has no form for."""
        WRITERS[self.format].encode(columns)

    def prepare(self) -> None:
        """Make the directory for temporary parts.

        What a job that was killed while it replaced an output has left is put back,
        what it left of a first output is removed, on a local file system.

        Raises
        ------
        OutputExistsError
            If something is at `url` and `overwrite` is False, or if it is something
            else than the output of a job.
        """
        fs, path = self._place()
        directory = self._directory()
        if not self.overwrite and kind_of(fs, path) == "directory":
            directory.remove_abandoned()
        if kind_of(fs, path) is not None:
            self._check_replaceable(fs, path)
            directory.put_back_all()
        with naming_output(self.url, "its directory must be made"):
            with_retries(
                f"{self.url}: making it",
                lambda: fs.makedirs(directory.temporary, exist_ok=True),
            )
        if is_one_of(fs, "file", "local"):
            self._locks.append(DirectoryLock(directory.temporary))

    def write_part(self, index: int, columns: Mapping[str, Any]) -> str:
        """Write a file under a temporary name, the whole again on error.

        Parameters
        ----------
        index : int
            Number of the part.
        columns : mapping of str to array
            See :func:`daskdl_bridge.writers.parquet.to_table`.

        Returns
        -------
        str
            The path written, for `commit`.

        Raises
        ------
        DataError
            If the columns cannot be written.
        StorageError
            If the last try failed too.
        """
        writer = WRITERS[self.format]
        encoded, rows = writer.encode(columns)
        data = memoryview(encoded)
        ending = writer.ending if rows else _EMPTY

        def write() -> str:
            return self._write(f"part-{index:05d}-{uuid.uuid4()}{ending}", data)

        with naming_output(self.url, f"part {index} must be written"):
            what = f"{self.url}: writing part {index}"
            return with_retries(what, write, waits_s=self.retry_waits_s)

    def commit(self, paths: Sequence[str]) -> list[str]:
        """Replace the output by exactly these parts, and mark it as finished.

        Parameters
        ----------
        paths : sequence of str
            What `write_part` returned, one for each part, in order. Parts without rows
            are left out unless there is no other.

        Returns
        -------
        list of str
            Final paths, in the same order.

        Raises
        ------
        OptionError
            If a path is given twice.
        """
        if len(set(paths)) != len(paths):
            raise OptionError(
                f"PathSink.commit: paths must differ, got {some(sorted(paths))}."
            )
        fs, path = self._place()
        directory = self._directory()
        with naming_output(self.url, "its parts must be moved there"):
            final = self._moved(fs, path, directory, paths)
            with_retries(
                f"{self.url}: finishing it", lambda: fs.touch(f"{path}/{SUCCESS}")
            )
        directory.remove_temporary()
        self._leave()
        return final

    def _moved(
        self, fs: Any, path: str, directory: OutputDirectory, paths: Sequence[str]
    ) -> list[str]:
        if self.overwrite:
            directory.stand_aside()
        # As Spark does: a file without rows only tells the schema.
        kept = [p for p in paths if not p.endswith(_EMPTY)] or list(paths[:1])
        final = []
        ending = WRITERS[self.format].ending
        for number, temporary in enumerate(kept):
            name = f"part-{number:05d}-{self.run_id}-c000{ending}"
            move(fs, filesystem(temporary, self.storage_options)[1], f"{path}/{name}")
            final.append(join_url(self.url, name))
        return final

    def abort(self) -> None:
        """Remove the written parts, and bring back an earlier output."""
        self._directory().put_back()
        self._leave()

    def _leave(self) -> None:
        while self._locks:
            self._locks.pop().release()

    def _directory(self) -> OutputDirectory:
        return OutputDirectory(*self._place(), self.run_id)

    def _place(self) -> tuple[Any, str]:
        return filesystem(self.url, self.storage_options)

    def _check_replaceable(self, fs: Any, path: str) -> None:
        url = url_of(fs, path)
        if not self.overwrite:
            self._check_finished(fs, path, url)
            raise OutputExistsError(
                f"{url}: must not exist yet, got something there. Pass overwrite=True "
                "to replace it."
            )
        names = [p.rpartition("/")[2] for p in entries_of(fs, path)]
        foreign = [n for n in names if not n.startswith("part-") and not is_hidden(n)]
        if foreign or kind_of(fs, path) != "directory":
            raise OutputExistsError(
                f"{url}: only the output of a job can be replaced, a directory of part "
                f"files; got {some(sorted(foreign))} there."
            )

    def _check_finished(self, fs: Any, path: str, url: str) -> None:
        directory = self._directory()
        if kind_of(fs, path) != "directory" or not directory.holds_nothing_finished:
            return
        if directory.has_replaced:
            raise UnfinishedOutputError(
                f"{url}: must not exist yet, got an output that another job replaces, "
                "or was about to when it was killed. Pass overwrite=True if it has "
                "ended."
            )
        raise UnfinishedOutputError(
            f"{url}: must not exist yet, got only _temporary there, of a job that goes "
            "on or was killed. If it has ended, remove the directory, or pass "
            "overwrite=True."
        )

    def _write(self, name: str, data: memoryview) -> str:
        fs, _ = self._place()
        target = f"{self._directory().temporary}/{name}"
        with fs.open(target, "wb") as stream:
            for start in range(0, len(data), _PIECE_BYTES):
                stream.write(data[start : start + _PIECE_BYTES])
        return url_of(fs, target)
