"""Files that a function of the user's turns into minibatches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from daskdl.data.dataset import DataSet
from daskdl.data.fingerprint import Fingerprint
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.partition import Partition
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import DataError
from daskdl_bridge.fingerprint import unchanged
from daskdl_bridge.listing import Part

__all__ = ["LoadedPartition", "open_loaded_parts"]

Loader: TypeAlias = Callable[[str], Any]


@dataclass(frozen=True, kw_only=True)
class LoadedPartition(Partition):
    """A file that a loader reads.

    Parameters
    ----------
    name : str
        URL of the file.
    rows : int or None
        Never known without reading.
    options : SourceOptions
        As the user gave them.
    loader : callable
        See `SourceOptions`.
    fingerprint : Fingerprint, optional
        Of the file when it was listed.
    """

    name: str
    rows: int | None = None
    options: SourceOptions
    loader: Loader
    fingerprint: Fingerprint | None = None

    def load(self) -> DataSet | MultiDataSet:
        """Return what the loader makes of the file.

        Raises
        ------
        DataError
            If that is neither a DataSet nor a MultiDataSet.
        """
        with unchanged(self.name, self.fingerprint, self.options.storage_options):
            loaded = self.loader(self.name)
        if not isinstance(loaded, DataSet | MultiDataSet):
            raise DataError(
                f"{self.name}: the loader must return a DataSet or a MultiDataSet, got "
                f"{type(loaded).__module__}.{type(loaded).__qualname__}."
            )
        return loaded


def open_loaded_parts(
    parts: Sequence[Part], options: SourceOptions, loader: Loader
) -> list[LoadedPartition]:
    """Make a partition of each file; nothing is read."""
    return [
        LoadedPartition(
            name=one.url, options=options, loader=loader, fingerprint=one.fingerprint
        )
        for one in parts
    ]
