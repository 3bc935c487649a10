"""Read a network from a file of any format that is installed."""

import posixpath
from typing import Any, BinaryIO

from daskdl.data.files import open_input
from daskdl.data.filesystems import filesystem
from daskdl.data.store import kind_of
from daskdl.entry_points import entry_points
from daskdl.errors import FormatError, SourceNotFoundError
from daskdl.formats.run_network import network_in
from daskdl.nn.network import Network

GROUP = "daskdl.formats"


def load(path_or_url: str) -> Network[Any]:
    """Read a network, whatever wrote it: the content decides, not the name.

    Parameters
    ----------
    path_or_url : str or path
        A plain path, ``file://``, ``hdfs://``, or what else fsspec opens. Of the
        directory of a run, its network is read, or else its last checkpoint.

    Returns
    -------
    MultiLayerNetwork or ComputationGraph
        With its normalizer, or None, as attribute `normalizer`.

    Raises
    ------
    SourceNotFoundError
        If there is no file, and no directory of a run.
    FormatError
        If no installed format knows the file, or it is damaged; with its path.

    Notes
    -----
    A format is a module (or object) named in the entry-point group
    ``daskdl.formats``, with ``recognizes(stream) -> bool`` and ``load(path_or_url)``.
    """
    try:
        return _read(path_or_url)
    except SourceNotFoundError:
        # Only now: most paths are those of files, and stores charge for each look.
        found = _in_run_directory(str(path_or_url))
        if found is None:
            raise
    return _read(found)


def _in_run_directory(path: str) -> str | None:
    """Return the path of the network in the directory of a run; None if it is none."""
    fs, inside = filesystem(path)
    name = network_in(fs, inside) if kind_of(fs, inside) == "directory" else None
    return None if name is None else posixpath.join(path, name)


def _read(path_or_url: str) -> Network[Any]:
    with open_input(path_or_url) as stream:
        format_module = _format_of(stream)
        if format_module is not None:
            network: Network[Any] = format_module.load(path_or_url)
            return network
        stream.seek(0)
        beginning = stream.read(4)
    names = ", ".join(sorted(found.name for found in entry_points(GROUP)))
    raise FormatError(
        f"{path_or_url}: must be a network of a known format ({names}), got "
        f"{_guess(beginning)}."
    )


def is_network(path_or_url: str, storage_options: dict[str, Any] | None = None) -> bool:
    """Tell from its content whether a file is one that :func:`load` reads.

    Parameters
    ----------
    path_or_url : str
    storage_options : dict, optional
        Handed to the file system.

    Raises
    ------
    SourceNotFoundError
        If there is no file.
    """
    with open_input(path_or_url, storage_options=storage_options) as stream:
        return _format_of(stream) is not None


def _format_of(stream: BinaryIO) -> Any:
    """Return the first format, by name, that knows the file; None if none does."""
    for found in sorted(entry_points(GROUP), key=lambda found: found.name):
        stream.seek(0)
        format_module = found.load()
        if format_module.recognizes(stream):
            return format_module
    return None


def _guess(beginning: bytes) -> str:
    if not beginning:
        return "an empty file"
    if beginning == b"PK\x03\x04":
        return "a zip file without a network in it, or a damaged one"
    return f"a file that begins with {beginning!r}"
