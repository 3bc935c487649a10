"""Data that another program holds, as Spark does, on their way to the workers."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from daskdl.data.sources.partition import Source
from daskdl.data.sources.source import SourceOptions, opened_by

__all__ = ["handed_over", "with_defaults"]


def with_defaults(
    data: Any, options: SourceOptions, defaults: Mapping[str, Any]
) -> SourceOptions:
    """Return options with defaults for those that were not given.

    Parameters
    ----------
    data : object
        As the user gave them.
    options : SourceOptions
        Of the call; what is given there counts.
    defaults : mapping of str to object
        By the names of options. Those that mean nothing for the data are left out.

    Raises
    ------
    OptionError
        If no source accepts the data.
    """
    if isinstance(data, Source):
        return options
    heeds = getattr(opened_by(data), "heeds", None)
    known = () if heeds is None else heeds(data)
    changes = {
        name: value
        for name, value in defaults.items()
        if name in known and getattr(options, name) is None
    }
    return replace(options, **changes) if changes else options


@contextmanager
def handed_over(
    data: Any, options: SourceOptions, client: Any
) -> Iterator[tuple[Any, SourceOptions]]:
    """Bring data to the workers before they are opened, if the options say so.

    Parameters
    ----------
    data : object
    options : SourceOptions
    client : distributed.Client
        Of the cluster whose workers are to have them.

    Yields
    ------
    object, SourceOptions
        What to open in their place and how, within the block.

    Raises
    ------
    OptionError
        If no source accepts the data.
    """
    opener = None if isinstance(data, Source) else opened_by(data)
    hand_over = getattr(opener, "handed_over", None)
    if hand_over is None:
        yield data, options
        return
    with hand_over(data, options, client) as there:
        yield there
