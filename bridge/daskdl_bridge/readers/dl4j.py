"""Minibatches that DL4J saved, as single files or entries of a zip."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from daskdl.data.dataset import DataSet
from daskdl.data.fingerprint import Fingerprint
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.data.sources.partition import Partition
from daskdl.data.sources.source import SourceOptions
from daskdl.data.sources.unused_options import COLUMN_OPTIONS
from daskdl.dl4j.datasets.file_batch import dataset_of_bytes, entries_of_files
from daskdl.dl4j.datasets.streams import holds_multi_dataset
from daskdl.dl4j.java.counted_stream import CountedStream
from daskdl.dl4j.zip_files import ZipEntries
from daskdl.errors import OptionError
from daskdl_bridge.fingerprint import unchanged
from daskdl_bridge.listing import Part
from daskdl_bridge.readers.error_location import naming_damaged_file
from daskdl_bridge.storage import open_input

__all__ = [
    "FileBatchPartition",
    "MinibatchPartition",
    "open_dataset_parts",
    "open_file_batch_parts",
    "open_multi_dataset_parts",
]


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
    is_multi : bool, optional
        Whether it must be a ``MultiDataSet``; if not given, its first byte tells.
    fingerprint : Fingerprint, optional
        Of the file when it was listed.
    """

    name: str
    rows: int | None = None
    options: SourceOptions
    is_multi: bool | None = None
    fingerprint: Fingerprint | None = None

    def load(self) -> DataSet | MultiDataSet:
        """Read the minibatch, without its metadata: training has no use for them.

        Raises
        ------
        CorruptFileError
            If the file is cut short, damaged, or something else; with the offset.
        """
        storage_options = self.options.storage_options
        with (
            unchanged(self.name, self.fingerprint, storage_options),
            naming_damaged_file(self.name, "DL4J"),
            open_input(self.name, storage_options) as stream,
        ):
            counted: Any = CountedStream(stream, self.name)
            is_multi = self.is_multi
            if is_multi is None:
                is_multi = holds_multi_dataset(counted.look_ahead())
            kind = MultiDataSet if is_multi else DataSet
            return kind.read_from(counted, name=self.name, with_metadata=False)


@dataclass(frozen=True, kw_only=True)
class FileBatchPartition(Partition):
    """One of the minibatches in the zip of a ``FileBatch``.

    Parameters
    ----------
    name : str
        URL of the zip and name of the entry.
    rows : int or None
        Never known without reading.
    options : SourceOptions
        As the user gave them.
    url, entry : str
        Of the zip, and in it.
    fingerprint : Fingerprint, optional
        Of the zip when it was listed.
    """

    name: str
    rows: int | None = None
    options: SourceOptions
    url: str
    entry: str
    fingerprint: Fingerprint | None = None

    def load(self) -> DataSet | MultiDataSet:
        """Read the minibatch, a ``DataSet`` or a ``MultiDataSet``.

        Raises
        ------
        CorruptFileError
            If the zip or the entry is damaged or something else.
        """
        storage_options = self.options.storage_options
        with (
            unchanged(self.url, self.fingerprint, storage_options),
            naming_damaged_file(self.url, "DL4J"),
            open_input(self.url, storage_options) as stream,
        ):
            content = ZipEntries(stream, self.url).read(self.entry)
        return dataset_of_bytes(content, name=self.name, with_metadata=False)


def open_dataset_parts(
    parts: Sequence[Part], options: SourceOptions
) -> list[MinibatchPartition]:
    """Make a partition of each ``DataSet`` or ``MultiDataSet``; nothing is read.

    Raises
    ------
    OptionError
        If a column is named: minibatches have none.
    """
    return _open(parts, options)


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


def open_file_batch_parts(
    parts: Sequence[Part], options: SourceOptions
) -> list[FileBatchPartition]:
    """Make a partition of each file in the zips; only their lists of entries are read.

    Raises
    ------
    OptionError
        If a column is named: minibatches have none.
    CorruptFileError
        If a zip is damaged or no ``FileBatch``.
    """
    _refuse_columns(parts, options)
    partitions = []
    for part in parts:
        with (
            naming_damaged_file(part.url, "DL4J"),
            open_input(part.url, options.storage_options) as stream,
        ):
            entries = entries_of_files(ZipEntries(stream, part.url))
        partitions += [
            FileBatchPartition(
                name=f"{part.url}: {entry}",
                options=options,
                url=part.url,
                entry=entry,
                fingerprint=part.fingerprint,
            )
            for entry in entries
        ]
    return partitions


def _open(
    parts: Sequence[Part], options: SourceOptions, *, is_multi: bool | None = None
) -> list[MinibatchPartition]:
    _refuse_columns(parts, options)
    return [
        MinibatchPartition(
            name=part.url,
            options=options,
            is_multi=is_multi,
            fingerprint=part.fingerprint,
        )
        for part in parts
    ]


def _refuse_columns(parts: Sequence[Part], options: SourceOptions) -> None:
    for option in COLUMN_OPTIONS:
        if getattr(options, option) is not None:
            raise OptionError(
                f"{parts[0].url}: {option} must not be given, because minibatches of "
                f"DL4J have no columns, got {getattr(options, option)!r}."
            )
