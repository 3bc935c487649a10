"""FileBatch: several small files in one zip, as DL4J bundles them for a cluster."""

import io
import re
import urllib.parse
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from daskdl.data.dataset import DataSet
from daskdl.data.files import is_local, open_input, write_output
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.dl4j.datasets.streams import holds_multi_dataset
from daskdl.dl4j.zip_files import MOST_BYTES, MOST_ENTRIES, ZipEntries
from daskdl.errors import CorruptFileError, OptionError

__all__ = ["FileBatch", "dataset_of_bytes", "entries_of_files"]

_URIS = "originalUris.txt"
# DL4J takes what stands between the first underscore and the first dot.
_FILE = re.compile(r"[^_.]*_(\d{1,9})\.")
# The earliest time that a zip can hold: the clock must not change the bytes.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class FileBatch:
    """The contents of some files, and where they came from.

    Parameters
    ----------
    file_bytes : tuple of bytes
        One content a file.
    original_uris : tuple of str
        One path or URL a file.

    Raises
    ------
    OptionError
        If there is not one URI a file, or a URI holds a line break.

    References
    ----------
    ``org.nd4j.common.loader.FileBatch`` of Deeplearning4j 1.0.0-M2.1.
    """

    file_bytes: tuple[bytes, ...]
    original_uris: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "file_bytes", tuple(self.file_bytes))
        object.__setattr__(self, "original_uris", tuple(self.original_uris))
        if len(self.file_bytes) != len(self.original_uris):
            raise OptionError(
                "FileBatch: original_uris must have one entry for each of "
                f"{len(self.file_bytes)} files, got {len(self.original_uris)}."
            )
        for uri in self.original_uris:
            if "\n" in uri:
                raise OptionError(
                    f"FileBatch: original_uris must hold no line break, got {uri!r}."
                )

    @classmethod
    def for_files(
        cls,
        paths_or_urls: Sequence[str | Path],
        *,
        storage_options: dict[str, Any] | None = None,
    ) -> "FileBatch":
        """Read some files.

        Parameters
        ----------
        paths_or_urls : sequence of (str or path)
            Anything that fsspec opens.
        storage_options : dict, optional
            Handed to the file system.

        Raises
        ------
        SourceNotFoundError
            If one is not there.
        """
        contents = []
        for path in paths_or_urls:
            with open_input(path, storage_options=storage_options) as stream:
                contents.append(stream.read())
        return cls(tuple(contents), tuple(map(_uri, paths_or_urls)))

    @classmethod
    def read_from_zip(
        cls,
        path_or_url: str | Path,
        *,
        most_bytes: int = MOST_BYTES,
        storage_options: dict[str, Any] | None = None,
    ) -> "FileBatch":
        """Read a zip that DL4J or `write_as_zip` wrote.

        Parameters
        ----------
        path_or_url : str or path
            Anything that fsspec opens.
        most_bytes : int
            Refuse a zip whose files take more together.
        storage_options : dict, optional
            Handed to the file system.

        Raises
        ------
        SourceNotFoundError
            If there is no file.
        CorruptFileError
            If it is damaged, no such zip, or larger; with file, entry and offset.
        """
        with open_input(path_or_url, storage_options=storage_options) as stream:
            return cls.read_from(stream, name=str(path_or_url), most_bytes=most_bytes)

    @classmethod
    def read_from(
        cls, stream: BinaryIO, *, name: str, most_bytes: int = MOST_BYTES
    ) -> "FileBatch":
        """Read the zip of `read_from_zip` from an open, seekable stream."""
        entries = ZipEntries(
            stream, name, most_bytes=most_bytes, most_entries=MOST_ENTRIES + 1
        )
        files = entries_of_files(entries)
        try:
            text = entries.read(_URIS).decode("utf-8")
        except UnicodeDecodeError as error:
            raise CorruptFileError(
                f"{name}: entry {_URIS!r} must be UTF-8 text, got {error}."
            ) from error
        uris = text.split("\n") if files else []
        if len(uris) != len(files):
            raise CorruptFileError(
                f"{name}: entry {_URIS!r} must name each of {len(files)} files, got "
                f"{len(uris)} lines."
            )
        return cls(tuple(entries.read(file) for file in files), tuple(uris))

    def write_as_zip(
        self,
        path_or_url: str | Path,
        *,
        overwrite: bool = False,
        storage_options: dict[str, Any] | None = None,
    ) -> None:
        """Write a zip that DL4J's ``FileBatch.readFromZip`` reads.

        Parameters
        ----------
        path_or_url : str or path
            Anything that fsspec opens.
        overwrite : bool
            Replace what is there.
        storage_options : dict, optional
            Handed to the file system.

        Raises
        ------
        OutputExistsError
            If there is a file and `overwrite` is False.
        """
        write_output(
            path_or_url,
            self.write_to,
            overwrite=overwrite,
            storage_options=storage_options,
        )

    def write_to(self, stream: BinaryIO) -> None:
        """Write the zip of `write_as_zip` to an open stream.

        The same files give the same bytes; the time is left out.
        """
        with zipfile.ZipFile(stream, "w") as archive:
            uris = "\n".join(self.original_uris).encode("utf-8")
            _write_entry(archive, _URIS, uris)
            pairs = zip(self.file_bytes, self.original_uris, strict=True)
            for k, (content, uri) in enumerate(pairs):
                _write_entry(archive, f"file_{k}.{_extension(uri)}", content)

    def datasets(
        self, *, with_metadata: bool = True
    ) -> Iterator[DataSet | MultiDataSet]:
        """Yield the data sets that the files are, one after another.

        Raises
        ------
        CorruptFileError
            If a file is no saved ``DataSet`` or ``MultiDataSet``; with its URI.
        """
        for content, uri in zip(self.file_bytes, self.original_uris, strict=True):
            yield dataset_of_bytes(content, name=uri, with_metadata=with_metadata)

    def __len__(self) -> int:
        return len(self.file_bytes)


def entries_of_files(entries: ZipEntries) -> list[str]:
    """Return the names of the entries that are files, in the order of the batch.

    Raises
    ------
    CorruptFileError
        If an entry is something else, or a number is missing or comes twice.
    """
    numbered: dict[int, str] = {}
    for entry in entries.names:
        if entry == _URIS:
            continue
        found = _FILE.match(entry)
        if found is None or int(found[1]) in numbered:
            raise CorruptFileError(
                f"{entries.name}: entries of a FileBatch must be {_URIS!r} and "
                f"'file_<number>.<extension>' with a number each, got {entry!r}."
            )
        numbered[int(found[1])] = entry
    if sorted(numbered) != list(range(len(numbered))):
        raise CorruptFileError(
            f"{entries.name}: files of a FileBatch must be numbered from 0, got "
            f"{len(numbered)} up to number {max(numbered)}."
        )
    return [numbered[k] for k in range(len(numbered))]


def dataset_of_bytes(
    content: bytes, *, name: str, with_metadata: bool = True
) -> DataSet | MultiDataSet:
    """Return the data set that a saved file holds, of either kind.

    Raises
    ------
    CorruptFileError
        If it holds none.
    """
    kind = MultiDataSet if holds_multi_dataset(content[:1]) else DataSet
    return kind.read_from(io.BytesIO(content), name=name, with_metadata=with_metadata)


def _write_entry(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _NO_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def _uri(path: str | Path) -> str:
    """Return a local path as Java's ``File.toURI`` does; URLs as they are."""
    if "://" in str(path) or not is_local(path):
        return str(path)
    return "file:" + urllib.parse.quote(str(Path(path).absolute()))


def _extension(uri: str) -> str:
    """Return the extension of the last part of a URI, else ``bin``."""
    name = re.split(r"[/\\]", uri)[-1]
    return name.rpartition(".")[2] or "bin" if "." in name else "bin"
