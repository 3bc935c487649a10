"""Open data as a network needs them."""

from typing import Any

from daskdl.data.sources.source import Source, SourceOptions, open_source
from daskdl.nn.network import Network
from daskdl.training.preparation import options_for

__all__ = ["open_for"]


def open_for(
    network: Network[Any], paths: str | tuple[str, ...], options: SourceOptions
) -> Source:
    """Open data with what the network knows of them: classes, widths, shapes.

    Parameters
    ----------
    network : Network
        What the data are for.
    paths : str or tuple of str
        Paths or URLs.
    options : SourceOptions
        What the user said of them.

    Raises
    ------
    DataError, OptionError
        What can be refused without reading the data through: a path, a column.
    """
    data = paths if isinstance(paths, str) else list(paths)
    return open_source(data, options_for(network, options, data))
