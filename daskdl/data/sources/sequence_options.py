"""Options of SequenceFiles and the pickles in them, and their values."""

import re
from typing import Any

from daskdl.errors import OptionError

__all__ = ["SEQUENCE_OPTIONS", "allowed_names", "check_element_class"]

SEQUENCE_OPTIONS = ("allow", "element_class")
"""Those that say what the bytes of records mean."""

_WHO = "SourceOptions"

# Module and name; the name may be one within a class.
_GLOBAL = re.compile(r"\w+(\.\w+)+")


def allowed_names(given: Any) -> tuple[str, ...]:
    """Return the names of classes and functions that pickles may name.

    Raises
    ------
    OptionError
        If one is no name with its module.
    """
    names = [given] if isinstance(given, str) else given
    is_several = isinstance(names, list | tuple)
    for name in names if is_several else [given]:
        if not isinstance(name, str) or not _GLOBAL.fullmatch(name):
            raise OptionError(
                f"{_WHO}: allow must hold names of classes or functions with their "
                f"module, such as 'shapes.Point', got {name!r}."
            )
    return tuple(names)


def check_element_class(given: Any) -> None:
    """Refuse what is no name of a class.

    Raises
    ------
    OptionError
    """
    if given is not None and not (isinstance(given, str) and given):
        raise OptionError(
            f"{_WHO}: element_class must be the name of a class of Hadoop, such as "
            f"'DoubleWritable', got {given!r}."
        )
