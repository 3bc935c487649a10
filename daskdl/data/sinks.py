"""Sinks for results: part files that appear all at once, or not at all.

A sink is found by entry point (group ``daskdl.sinks``), so that this package need not
know what HDFS or Spark is. The life of an output: `prepare` on the driver, `write_part`
on the workers, `commit` on the driver; `abort` on the driver if anything failed.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from daskdl.entry_points import entry_points
from daskdl.errors import OptionError

__all__ = ["NestedColumn", "Sink", "SinkOpener", "open_sink"]


@dataclass(frozen=True, eq=False)
class NestedColumn:
    """A column of arrays of doubles whose lengths differ.

    Parameters
    ----------
    rows : ndarray of shape (rows,)
        Of arrays of doubles, or of lists of those; None where a row is null.
    depth : int
        1 for arrays, 2 for arrays of arrays: rows may be none, or all null.
    """

    rows: NDArray[Any]
    depth: int


class Sink(ABC):
    """A place that takes part files; picklable, since workers write to it.

    Attributes
    ----------
    url : str
        The directory that readers will see.
    """

    url: str

    @abstractmethod
    def prepare(self) -> None:
        """Make room for the parts, on the driver, before any work is done.

        Raises
        ------
        OutputExistsError
            If there is something at `url` and overwriting was not asked for.
        """

    @abstractmethod
    def check_columns(self, columns: Mapping[str, Any]) -> None:
        """Refuse columns that could not be written, on the driver.

        Parameters
        ----------
        columns : mapping of str to array
            As `write_part` takes them, without rows. Where a source does not know the
            type of its keys, that column is of none.

        Raises
        ------
        DataError
            If the format has no form for a column.
        """

    @abstractmethod
    def write_part(self, index: int, columns: Mapping[str, Any]) -> str:
        """Write one part under a temporary name, on a worker.

        May be called again for the same `index`, by another worker too; only what
        `commit` is given counts.

        Parameters
        ----------
        index : int
            Number of the part; the parts in this order are the output.
        columns : mapping of str to array
            Columns of equal length: pyarrow arrays, ndarrays of shape (rows,), or
            float ndarrays of shape (rows, width), one vector a row, of which those
            that are masked are null, or a `NestedColumn`.

        Returns
        -------
        str
            The path written, for `commit`.
        """

    @abstractmethod
    def commit(self, paths: Sequence[str]) -> list[str]:
        """Move exactly these parts into place, then mark the output as finished.

        What they replace stands aside until then.

        Returns
        -------
        list of str
            The final paths, in the order of the parts.
        """

    @abstractmethod
    def abort(self) -> None:
        """Remove the written parts, and bring back the output that was there before.

        Harmless if nothing was written, and after a commit.
        """


class SinkOpener(Protocol):
    """Interface of the entry points ``daskdl.sinks``: an object or a class."""

    def accepts(self, url: str) -> bool:
        """Say whether this opener knows how to write to the URL."""

    def open(
        self, url: str, *, format: str, overwrite: bool, storage_options: dict[str, Any]
    ) -> Sink:
        """Return a sink for the URL without touching existing output.

        Raises
        ------
        OptionError
            If it does not know the format.
        """


def open_sink(
    url: str,
    *,
    format: str = "parquet",
    overwrite: bool = False,
    storage_options: dict[str, Any] | None = None,
) -> Sink:
    """Return the sink for a URL; nothing is written yet.

    Parameters
    ----------
    url : str
        Directory to write: a plain path, ``file://`` or ``hdfs://``, ...
    format : str
        Of the part files: ``parquet``, ``sequence_file``, ``pickle``, ``csv`` or
        ``json``.
    overwrite : bool
        Replace what is there when the output is committed.
    storage_options : dict, optional
        Handed to the file system.

    Raises
    ------
    OptionError
        If no installed package knows how to write to the URL, or not in that format.
    """
    for entry_point in entry_points("daskdl.sinks"):
        loaded = entry_point.load()
        opener: SinkOpener = loaded() if isinstance(loaded, type) else loaded
        if opener.accepts(url):
            return opener.open(
                url,
                format=format,
                overwrite=overwrite,
                storage_options=dict(storage_options or {}),
            )
    raise OptionError(
        f"open_sink: url must name a place that an installed sink can write to, "
        f"got {url!r}."
    )
