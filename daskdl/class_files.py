"""Readers and writers of files by the name of a class, from entry points.

A data set, an evaluation or an array goes to a file of a format that knows the class,
so that the class must not know the format. Formats are entry points of the group
``daskdl.class_files``, each under the name of its class.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from daskdl.entry_points import entry_points
from daskdl.errors import MissingExtraError

__all__ = ["GROUP", "ClassFile", "class_file"]

GROUP = "daskdl.class_files"
"""Group of the entry points."""


@dataclass(frozen=True)
class ClassFile:
    """Reader and writer for files that hold objects of a class.

    Parameters
    ----------
    read, write : function
        Of what, is a matter of the class: streams of data sets and arrays, text of
        evaluations.
    """

    read: Callable[..., Any]
    write: Callable[..., Any]


# Every minibatch in a file of its own comes along here.
@cache
def class_file(name: str) -> ClassFile:
    """Return the reader and writer of files of the class of that name.

    Raises
    ------
    MissingExtraError
        If nothing is installed for it.
    """
    for found in entry_points(group=GROUP, name=name):
        loaded: ClassFile = found.load()
        return loaded
    raise MissingExtraError(
        f"{name}: an entry point of {GROUP!r} must be installed for its files, got "
        "none. Install the package with `pip install daskdl`."
    )
