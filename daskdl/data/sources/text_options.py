"""Options of text files, named after Spark's reader, and their values."""

import re
from typing import Any

from daskdl.checks import check_type
from daskdl.errors import OptionError

__all__ = ["TEXT_OPTIONS", "check_text_options", "delimiter_of"]

TEXT_OPTIONS = (
    "header",
    "delimiter",
    "quote",
    "escape",
    "char_to_escape_quote_escaping",
    "null_value",
    "empty_value",
    "comment",
    "encoding",
    "multi_line",
    "ignore_leading_white_space",
    "ignore_trailing_white_space",
)
"""Those that say how text becomes cells."""

_WHO = "SourceOptions"

# One character each, or nothing: there is none.
_CHARACTERS = ("quote", "escape", "char_to_escape_quote_escaping", "comment")

# What Spark takes for one character in a delimiter: YAML in single quotes has no tab.
_SPELLED = {"t": "\t", "b": "\b", "f": "\f", "'": "'", '"': '"', "\\": "\\"}


def check_text_options(options: Any) -> None:
    """Refuse options of text files that cannot be right.

    Parameters
    ----------
    options : SourceOptions

    Raises
    ------
    OptionError
        If one is of the wrong length, holds a line end, or there is no such encoding.
    """
    for option in ("delimiter", "null_value", "empty_value", "encoding"):
        check_type(_WHO, option, getattr(options, option), str)
    if not delimiter_of(options) or re.search(r"[\r\n]", options.delimiter):
        raise OptionError(
            f"{_WHO}: delimiter must be one character or several, and no line end, got "
            f"{options.delimiter!r}."
        )
    for option in _CHARACTERS:
        value = getattr(options, option)
        is_one = isinstance(value, str) and len(value) == 1 and value not in "\r\n"
        if value and not is_one:
            raise OptionError(
                f"{_WHO}: {option} must be one character, and no line end, got "
                f"{value!r}."
            )
    try:
        "".encode(options.encoding)
    except LookupError as error:
        raise OptionError(
            f"{_WHO}: encoding must be a known encoding of text, got "
            f"{options.encoding!r}."
        ) from error


def delimiter_of(options: Any) -> str:
    r"""Return the delimiter with ``\t`` and the like made one character, as in Spark.

    Raises
    ------
    OptionError
        If a backslash stands before anything else.
    """

    def character(found: re.Match[str]) -> str:
        if found[1] not in _SPELLED:
            raise OptionError(
                rf"{_WHO}: delimiter must hold a backslash as \\ or in \t, \b, \f, got "
                f"{options.delimiter!r}."
            )
        return _SPELLED[found[1]]

    return re.sub(r"(?s)\\(.?)", character, options.delimiter)
