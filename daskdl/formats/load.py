"""Read a network from a file of any format that is installed."""

from importlib.metadata import entry_points
from typing import Any

from daskdl.data.files import open_input
from daskdl.errors import FormatError
from daskdl.nn.network import Network

GROUP = "daskdl.formats"


def load(path_or_url: str) -> Network[Any]:
    """Read a network, whatever wrote it: the content decides, not the name.

    Parameters
    ----------
    path_or_url : str or path
        A plain path, ``file://``, ``hdfs://``, or what else fsspec opens.

    Returns
    -------
    MultiLayerNetwork or ComputationGraph
        With its normalizer, or None, as attribute `normalizer`.

    Raises
    ------
    SourceNotFoundError
        If there is no file.
    FormatError
        If no installed format knows the file, or it is damaged; with its path.

    Notes
    -----
    A format is a module (or object) named in the entry-point group
    ``daskdl.formats``, with ``recognizes(stream) -> bool`` and ``load(path_or_url)``.
    """
    formats = {found.name: found for found in entry_points(group=GROUP)}
    with open_input(path_or_url) as stream:
        for name in sorted(formats):
            stream.seek(0)
            format_module = formats[name].load()
            if format_module.recognizes(stream):
                network: Network[Any] = format_module.load(path_or_url)
                return network
        stream.seek(0)
        beginning = stream.read(4)
    raise FormatError(
        f"{path_or_url}: must be a network of a known format "
        f"({', '.join(sorted(formats))}), got {_guess(beginning)}."
    )


def _guess(beginning: bytes) -> str:
    if not beginning:
        return "an empty file"
    if beginning == b"PK\x03\x04":
        return "a zip file without a network in it, or one that was cut off"
    return f"a file that begins with {beginning!r}"
