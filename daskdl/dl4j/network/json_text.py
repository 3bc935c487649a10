"""DL4J's JSON, read with the bounds that a text of strangers needs."""

import json

from daskdl.dl4j.network.json_objects import Json
from daskdl.dl4j.network.size_limits import MOST_VALUES, check_length, check_values
from daskdl.errors import FormatError

# Java's longest whole number has 19, and a sign.
_MOST_DIGITS = 20


def parse_json(text: str | bytes, who: str) -> dict[str, Json]:
    """Return the object that a JSON text holds.

    Parameters
    ----------
    text : str or bytes
        Bytes are UTF-8.
    who : str
        For messages.

    Raises
    ------
    FormatError
        If the text is too long or too deep, holds more values than a configuration
        can have, or is no JSON object.
    """
    check_length(text, who)
    if isinstance(text, bytes):
        text = _decoded(text, who)
    n_values = sum(text.count(sign) for sign in ",[{")
    if n_values > MOST_VALUES:
        raise FormatError(
            f"{who}: must have at most {MOST_VALUES} values, got {n_values}."
        )
    try:
        data = json.loads(text, parse_constant=_refuse, parse_int=_whole)
    except RecursionError:
        raise FormatError(f"{who}: must not be nested that deep.") from None
    except ValueError as error:
        raise FormatError(f"{who}: must be JSON, got {error}.") from None
    if not isinstance(data, dict):
        raise FormatError(f"{who}: must be a JSON object, got {type(data).__name__}.")
    check_values(data, who)
    return data


def _decoded(text: bytes, who: str) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"{who}: must be UTF-8, got {error}.") from None


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _refuse(name: str) -> None:
    raise ValueError(f"{name}, for which JSON has no word")
