"""File formats of networks, by the ending of a file name."""

import os
import posixpath
from typing import Any

from daskdl.checks import check_one_of, check_type
from daskdl.entry_points import entry_points
from daskdl.errors import MissingExtraError, OptionError

__all__ = ["ENDINGS", "format_of_ending", "settled_format", "writer_of"]

ENDINGS = {
    "daskdl": (".safetensors",),
    "dl4j": (".zip",),
    "onnx": (".onnx",),
    "dl4j-json": (".json",),
    "dl4j-yaml": (".yaml", ".yml"),
}
"""The formats that networks are written in, each with the endings of its files."""


def format_of_ending(path_or_url: str | os.PathLike[str]) -> str | None:
    """Return the format that the ending of a name means; None if it means none.

    Examples
    --------
    >>> format_of_ending("hdfs://nameservice/models/digits.onnx")
    'onnx'
    """
    ending = posixpath.splitext(os.fspath(path_or_url))[1].lower()
    return next((name for name, own in ENDINGS.items() if ending in own), None)


def settled_format(
    who: str, path_or_url: str | os.PathLike[str], given: str | None
) -> str | None:
    """Return the format that was given, or else that of the ending.

    Parameters
    ----------
    who : str
        For messages: the call, and what it names the format.
    path_or_url : str or path
        Where the network is to be written.
    given : str or None
        None for what the ending says.

    Returns
    -------
    str or None
        None if nothing was given, and the ending says nothing.

    Raises
    ------
    OptionError
        If the ending is that of another format: whoever reads the file goes by it.
    """
    meant = format_of_ending(path_or_url)
    if given is not None and meant is not None and given != meant:
        raise OptionError(
            f"{who} must be {meant!r}, as the ending of the name says, got {given!r} "
            f"for {os.fspath(path_or_url)!r}. Leave it out, or give another name."
        )
    return meant if given is None else given


def writer_of(who: str, path_or_url: str | os.PathLike[str], given: str | None) -> Any:
    """Return the module that writes networks in a format.

    Parameters
    ----------
    who, path_or_url, given
        As of :func:`settled_format`; ``"daskdl"`` where nothing says which.

    Raises
    ------
    OptionError
        If it is no path, no such format is installed, or the ending is that of another.
    MissingExtraError
        If the package itself is not installed.
    """
    check_type(who, "path_or_url", path_or_url, str, os.PathLike)
    # By entry point: formats know networks, so networks must not know formats.
    known = {entry.name: entry for entry in entry_points("daskdl.formats")}
    if not known:
        raise MissingExtraError(
            f"{who}: the entry points of 'daskdl.formats' must be installed, got none. "
            "Install the package with `pip install daskdl`."
        )
    known |= {entry.name: entry for entry in entry_points("daskdl.exports")}
    if given is not None:
        check_one_of(who, "format", given, known)
    settled = settled_format(f"{who}: format", path_or_url, given) or "daskdl"
    check_one_of(who, "format", settled, known)
    return known[settled].load()
