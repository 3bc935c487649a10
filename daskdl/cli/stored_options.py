"""``--option KEY=VALUE``: how data are stored, with the keys of a job's ``data``."""

import re
from collections.abc import Iterable
from typing import Any

from daskdl.checks import check_one_of
from daskdl.cli.job_data import SOURCE_OPTIONS, Data
from daskdl.data.sources.text_options import hint_at_option
from daskdl.errors import OptionError
from daskdl.nn.conf.yaml import load_yaml

__all__ = [
    "TEXTS",
    "checked_values",
    "refuse_option_of_spark",
    "stored_options",
    "text_of",
    "value_of",
]

# These have options of their own on the command line.
_ELSEWHERE = {
    "features": "--features",
    "label": "--label",
    "key": "--key",
    "format": "--format",
    "require_success": "--unfinished",
}
_KEYS = tuple(name for name in SOURCE_OPTIONS if name not in _ELSEWHERE)

TEXTS = frozenset(
    {
        "char_to_escape_quote_escaping",
        "comment",
        "delimiter",
        "empty_value",
        "encoding",
        "escape",
        "label_from",
        "null_value",
        "pattern",
        "quote",
        "row_tag",
    }
)
"""Keys whose value is text: characters mostly, which mean something in YAML."""


def stored_options(pairs: Iterable[str]) -> dict[str, Any]:
    """Return the options of sources that the command line names.

    Parameters
    ----------
    pairs : iterable of str
        ``key=value``; values are YAML, or text as it stands for those of `TEXTS`.

    Raises
    ------
    OptionError
        If a key is unknown or its value wrong.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        key, separator, text = pair.partition("=")
        if not separator:
            raise OptionError(f"--option: must be KEY=VALUE, got {pair!r}.")
        if key in _ELSEWHERE:
            raise OptionError(
                f"--option: {key} must be given as {_ELSEWHERE[key]} where the command "
                f"has it, got {pair!r}."
            )
        refuse_option_of_spark("--option", key)
        check_one_of("--option", "KEY", key, _KEYS)
        values[key] = value_of(key, text, pair)
    return checked_values("--option", values)


def refuse_option_of_spark(who: str, name: str) -> None:
    """Refuse an option that only Spark's readers have, and say what holds instead.

    Raises
    ------
    OptionError
    """
    if hint := hint_at_option(name):
        raise OptionError(
            f"{who}: options must be those of daskdl, got {name!r}.{hint}"
        )


def value_of(key: str, text: str, source: str) -> Any:
    """Return the value of a key of `data` that is given as text.

    Parameters
    ----------
    key, text : str
    source : str
        What messages call it.

    Raises
    ------
    OptionError
        If it is no YAML.
    """
    return text_of(text) if key in TEXTS else load_yaml(text, source)


def checked_values(
    who: str, values: dict[str, Any], kind: type[Data] = Data
) -> dict[str, Any]:
    """Return values of keys of `data` as options of sources.

    Raises
    ------
    OptionError
        If one is of the wrong kind.
    """
    try:
        checked = kind(train="data", **values)
    except OptionError as error:
        name = re.escape(kind.__name__)
        text = re.sub(f"^{name}\\.", f"{who}: ", str(error), flags=re.MULTILINE)
        raise OptionError(text) from None
    return {key: getattr(checked, key) for key in values}


def text_of(text: str) -> str:
    """Return a value of YAML as text again, or the text itself.

    In YAML a bare ``|`` or ``#`` is no text, nor is ``null``.
    """
    try:
        value = load_yaml(text, text)
    except OptionError:
        return text
    is_text = isinstance(value, str) and (value or text in ("''", '""'))
    return value if is_text else text
