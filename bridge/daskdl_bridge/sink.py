"""Results as part files in a directory, the way Spark writes its own.

Workers write below ``_temporary``; only what the driver commits is moved into place,
and ``_SUCCESS`` comes last. So no reader sees half an output, whoever died on the way.
"""

import logging
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daskdl.checks import some
from daskdl.data.sinks import Sink
from daskdl.errors import OptionError, OutputExistsError
from daskdl_bridge.errors import StorageError
from daskdl_bridge.storage import filesystem, is_hidden, join_url, url_of
from daskdl_bridge.writers.parquet import encode_parquet

__all__ = ["PathSink", "PathSinks"]

logger = logging.getLogger(__name__)

# hdfs-native's writer does not survive the death of a DataNode, and a NameNode may hand
# out the dead one until it notices: so the whole file again, and not at once.
_RETRY_WAITS_S = (0.5, 5.0, 15.0)

_PIECE_BYTES = 4 << 20

_EMPTY = "-empty.parquet"


class PathSinks:
    """Opens paths and URLs for writing: the entry point ``path`` of daskdl.sinks."""

    def accepts(self, url: Any) -> bool:
        """Say whether `url` is a path or a URL."""
        return isinstance(url, str | os.PathLike)

    def open(
        self,
        url: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> "PathSink":
        """Return a sink for a directory of Parquet files; nothing is touched yet."""
        return PathSink(
            url=_whole(os.fspath(url)),
            overwrite=overwrite,
            storage_options=dict(storage_options or {}),
        )


def _whole(url: str) -> str:
    """Return a path as it is called from any folder: workers have one of their own."""
    return url.rstrip("/") if ":/" in url else os.path.abspath(url)


@dataclass(frozen=True, kw_only=True)
class PathSink(Sink):
    """A directory of Parquet files with ``_SUCCESS``.

    Parameters
    ----------
    url : str
        Path or URL of the directory.
    overwrite : bool
        Replace the part files that are there, when the new ones are committed.
    storage_options : dict
        See :func:`daskdl_bridge.storage.filesystem`.
    run_id : str
        Uuid of this output, in the names of its files.
    retry_waits_s : tuple of float
        Seconds before the second, third, ... try at writing a part.
    """

    url: str
    overwrite: bool = False
    storage_options: dict[str, Any] = field(default_factory=dict)
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    retry_waits_s: tuple[float, ...] = _RETRY_WAITS_S

    def prepare(self) -> None:
        """Make the directory for temporary parts.

        Raises
        ------
        OutputExistsError
            If something is at `url` and `overwrite` is False, or if it is something
            else than the output of a job.
        """
        fs, path = self._place()
        if fs.exists(path):
            self._check_replaceable(fs, path)
        fs.makedirs(self._temporary(path), exist_ok=True)

    def write_part(self, index: int, columns: Mapping[str, Any]) -> str:
        """Write a Parquet file under a temporary name, the whole again on error.

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
        encoded, rows = encode_parquet(columns)
        data = memoryview(encoded)
        ending = ".parquet" if rows else _EMPTY
        failures: list[OSError] = []
        for wait_s in (0.0, *self.retry_waits_s):
            time.sleep(wait_s)
            name = f"part-{index:05d}-{uuid.uuid4()}{ending}"
            try:
                return self._write(name, data)
            except (PermissionError, FileNotFoundError):
                raise
            except OSError as error:
                logger.warning("%s: writing part %d failed: %s", self.url, index, error)
                failures.append(error)
        raise StorageError(
            f"{self.url}: part {index} could not be written in {len(failures)} tries; "
            f"the last error was: {failures[-1]}"
        ) from failures[-1]

    def commit(self, paths: Sequence[str]) -> list[str]:
        """Replace what is there by exactly these parts and mark the output as finished.

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
        self._remove_old(fs, path)
        # As Spark does: a file without rows only tells the schema.
        kept = [p for p in paths if not p.endswith(_EMPTY)] or list(paths[:1])
        final = []
        for number, temporary in enumerate(kept):
            name = f"part-{number:05d}-{self.run_id}-c000.snappy.parquet"
            fs.mv(filesystem(temporary, self.storage_options)[1], f"{path}/{name}")
            final.append(join_url(self.url, name))
        fs.rm(f"{path}/_temporary", recursive=True)
        fs.touch(f"{path}/_SUCCESS")
        return final

    def abort(self) -> None:
        """Remove what was written; the directory too if nothing else is in it."""
        fs, path = self._place()
        if not fs.exists(path):
            return
        fs.invalidate_cache(path)
        if fs.exists(f"{path}/_temporary"):
            fs.rm(f"{path}/_temporary", recursive=True)
        if not fs.ls(path, detail=False):
            fs.rmdir(path)

    def _place(self) -> tuple[Any, str]:
        return filesystem(self.url, self.storage_options)

    def _temporary(self, path: str) -> str:
        return f"{path}/_temporary/{self.run_id}"

    def _check_replaceable(self, fs: Any, path: str) -> None:
        url = url_of(fs, path)
        if not self.overwrite:
            raise OutputExistsError(
                f"{url}: must not exist yet, got something there. Pass overwrite=True "
                "to replace it."
            )
        names = [p.rstrip("/").rpartition("/")[2] for p in fs.ls(path, detail=False)]
        foreign = [n for n in names if not n.startswith("part-") and not is_hidden(n)]
        if foreign or not fs.isdir(path):
            raise OutputExistsError(
                f"{url}: only the output of a job can be replaced, a directory of part "
                f"files; got {some(sorted(foreign))} there."
            )

    def _write(self, name: str, data: memoryview) -> str:
        fs, path = self._place()
        target = f"{self._temporary(path)}/{name}"
        with fs.open(target, "wb") as stream:
            for start in range(0, len(data), _PIECE_BYTES):
                stream.write(data[start : start + _PIECE_BYTES])
        return url_of(fs, target)

    def _remove_old(self, fs: Any, path: str) -> None:
        if not self.overwrite:
            return
        fs.invalidate_cache(path)
        names = [p.rstrip("/").rpartition("/")[2] for p in fs.ls(path, detail=False)]
        # First the mark: from here on readers are told that the output is unfinished.
        for name in sorted(names, key=lambda n: n != "_SUCCESS"):
            if name != "_temporary":
                fs.rm(f"{path}/{name}", recursive=True)
