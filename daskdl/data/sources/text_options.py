"""Options of text files, named after Spark's reader, and their values."""

import re
from typing import Any

from daskdl.checks import check_type, normalised
from daskdl.errors import OptionError

__all__ = [
    "PARENT",
    "TEXT_OPTIONS",
    "check_text_options",
    "compiled_pattern",
    "delimiter_of",
    "hint_at_option",
]

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

PARENT = "parent"
"""The `label_from` that is no regular expression."""

_WHO = "SourceOptions"

_NAME_IN_JAVA = re.compile(r"(?<!\\)\(\?<(?=[A-Za-z])")

# One character each, or nothing: there is none.
_CHARACTERS = ("quote", "escape", "char_to_escape_quote_escaping", "comment")

# What Spark takes for one character in a delimiter: YAML in single quotes has no tab.
_SPELLED = {"t": "\t", "b": "\b", "f": "\f", "'": "'", '"': '"', "\\": "\\"}


_LINE_ENDS = (
    " Lines end at a line feed, a carriage return, or both behind one another, which "
    "is what Spark's lineSep is unless it is set; no other end of a line is read."
)


def hint_at_option(name: str) -> str:
    """Return what holds in place of an option that Spark has and daskdl has not."""
    return _LINE_ENDS if normalised(name) == "linesep" else ""


def check_text_options(options: Any) -> None:
    """Refuse options of text files that cannot be right.

    Parameters
    ----------
    options : SourceOptions

    Raises
    ------
    OptionError
        If one is of the wrong length, holds a line end, is no regular expression with
        the groups that it needs, or there is no such encoding.
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
    if options.pattern is not None:
        compiled_pattern("pattern", options.pattern)
    if options.label_from not in (None, PARENT):
        compiled_pattern("label_from", options.label_from, n_groups=1)
    if options.row_tag is not None and not re.fullmatch(r"[^\s<>/]+", options.row_tag):
        raise OptionError(
            f"{_WHO}: row_tag must be the name of a tag, got {options.row_tag!r}."
        )
    try:
        "".encode(options.encoding)
    except LookupError as error:
        raise OptionError(
            f"{_WHO}: encoding must be a known encoding of text, got "
            f"{options.encoding!r}."
        ) from error


def compiled_pattern(
    option: str, pattern: str, *, n_groups: int | None = None
) -> re.Pattern[str]:
    """Return a regular expression; groups may be named as in Java, ``(?<name>...)``.

    Parameters
    ----------
    option : str
        For messages.
    pattern : str
        With a group.
    n_groups : int, optional
        How many it must have; any number but none if not given.

    Raises
    ------
    OptionError
        If it is no regular expression, or has other groups.
    """
    check_type(_WHO, option, pattern, str)
    try:
        found = re.compile(_NAME_IN_JAVA.sub("(?P<", pattern))
    except (OverflowError, RecursionError, re.error) as error:
        raise OptionError(
            f"{_WHO}: {option} must be a regular expression, got {pattern!r}: {error}."
        ) from error
    if found.groups < 1 or n_groups not in (None, found.groups):
        raise OptionError(
            f"{_WHO}: {option} must have {n_groups or 'at least one'} group in round "
            f"brackets, got {found.groups} in {pattern!r}."
        )
    return found


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
