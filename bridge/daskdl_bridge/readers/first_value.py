"""The first value of a label that is text, for the message that refuses it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from daskdl.data.sources.partition import Partition
from daskdl.data.sources.source import SourceOptions
from daskdl.errors import DaskdlError
from daskdl_bridge.readers.text_labels import TextLabelError

__all__ = ["showing_first_value"]

P = TypeVar("P", bound=Partition)


def showing_first_value(
    open_parts: Callable[[SourceOptions], Sequence[P]], options: SourceOptions
) -> Sequence[P]:
    """Return the partitions that are opened with the options.

    Parameters
    ----------
    open_parts : callable
        Called again for the first value, with the label as the key.
    options : SourceOptions

    Raises
    ------
    TextLabelError
        If the label is text, with its first value.
    """
    try:
        return open_parts(options)
    except TextLabelError as error:
        as_key = replace(
            options, label=None, key=error.name, keep=None, require_labels=False
        )
        value = None
        # What else is wrong is told when the label is right.
        with suppress(DaskdlError):
            value = _first_value(open_parts(as_key))
        raise (error if value is None else error.showing(value)) from None


def _first_value(partitions: Sequence[Partition]) -> Any:
    for partition in partitions:
        for block in partition.load_blocks():
            if block.keys is not None and len(block.keys):
                return block.keys[0]
    return None
