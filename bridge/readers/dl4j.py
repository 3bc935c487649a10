"""Minibatches that DL4J saved: ``DataSet`` and ``MultiDataSet`` files, one each."""

from collections.abc import Sequence
from dataclasses import dataclass

from bridge.listing import Part
from bridge.readers.place import reading
from bridge.storage import open_input
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.source import Partition, SourceOptions
from daskdl.errors import CorruptFileError, OptionError, ShapeError

__all__ = ["MinibatchPartition", "open_dataset_parts", "open_multi_dataset_parts"]

# Options about columns: a minibatch has none.
_ABOUT_COLUMNS = ("features", "label", "key", "features_mask", "labels_mask")


@dataclass(frozen=True, kw_only=True)
class MinibatchPartition(Partition):
    """A file that holds one minibatch.

    Parameters
    ----------
    name : str
        URL of the file.
    rows : int or None
        Never known without reading.
    options : SourceOptions
        As the user gave them.
    is_multi : bool
        Whether it is a ``MultiDataSet``.
    """

    name: str
    rows: int | None = None
    options: SourceOptions
    is_multi: bool = False

    def load(self) -> DataSet | MultiDataSet:
        """Read the minibatch.

        Raises
        ------
        CorruptFileError
            If the file is cut short, damaged, or something else; with the offset.
        """
        kind = MultiDataSet if self.is_multi else DataSet
        with (
            reading(self.name, "DL4J"),
            open_input(self.name, self.options.storage_options) as stream,
        ):
            try:
                return kind.read_from(stream, name=self.name)
            except ShapeError as error:
                # What was read bears no name: a damaged number of rows, say.
                raise CorruptFileError(
                    f"{self.name}: must be a whole DL4J file, it is damaged: {error}"
                ) from error


def open_dataset_parts(
    parts: Sequence[Part], options: SourceOptions
) -> list[MinibatchPartition]:
    """Make a partition of each ``DataSet`` file; nothing is read.

    Raises
    ------
    OptionError
        If a column is named: minibatches have none.
    """
    return _open(parts, options, is_multi=False)


def open_multi_dataset_parts(
    parts: Sequence[Part], options: SourceOptions
) -> list[MinibatchPartition]:
    """Make a partition of each ``MultiDataSet`` file; nothing is read.

    Raises
    ------
    OptionError
        If a column is named: minibatches have none.
    """
    return _open(parts, options, is_multi=True)


def _open(
    parts: Sequence[Part], options: SourceOptions, *, is_multi: bool
) -> list[MinibatchPartition]:
    for option in _ABOUT_COLUMNS:
        if getattr(options, option) is not None:
            raise OptionError(
                f"{parts[0].url}: {option} must not be given, because minibatches of "
                f"DL4J have no columns, got {getattr(options, option)!r}."
            )
    return [
        MinibatchPartition(name=part.url, options=options, is_multi=is_multi)
        for part in parts
    ]
