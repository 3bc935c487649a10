"""Fields of an evaluation's JSON, each checked before use.

The files come from elsewhere: whatever is in them ends in a `FormatError` that names
the field, and memory stays in proportion to the text.
"""

import base64
import io
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.dl4j.arrays.nd4j import read_array
from daskdl.errors import DataError, FormatError

# What Java's long holds; its counts cannot be larger.
_MOST = 2**63 - 1
_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_REQUIRED = object()


class Fields:
    """The fields of one JSON object, read by name and kind.

    Parameters
    ----------
    who : str
        Whose errors these are.
    values : dict
        As :func:`json.loads` returned it.

    Notes
    -----
    Every method raises `FormatError` when the field is not of its kind. A method with a
    `default` returns that when the field is missing; without one the field must be
    there.
    """

    def __init__(self, who: str, values: dict[str, Any]) -> None:
        self.who = who
        self._values = values

    def whole(
        self, name: str, *, default: Any = _REQUIRED, least: int = 0, most: int = _MOST
    ) -> int:
        """Return a whole number from `least` to `most`."""
        value = self._get(name, default)
        if not _is_whole(value) or not least <= value <= most:
            raise self._wrong(name, f"a whole number from {least} to {most}", value)
        return int(value)

    def number(self, name: str) -> float | None:
        """Return a number, or None where it is missing or null."""
        value = self._get(name, None)
        if value is None:
            return None
        number = _number(value)
        if number is None:
            raise self._wrong(name, "a number or null", value)
        return number

    def flag(self, name: str, *, default: Any = _REQUIRED) -> bool:
        """Return true or false."""
        value = self._get(name, default)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false", value)
        return value

    def names(self, name: str) -> list[str] | None:
        """Return a list of texts, or None where it is missing, null or empty."""
        value = self._get(name, None)
        if value is not None and not _is_list_of(value, str):
            raise self._wrong(name, "a list of texts or null", value)
        return value or None

    def wholes(self, name: str) -> NDArray[np.int64] | None:
        """Return a list of whole numbers >= 0, or None where it is null."""
        value = self._get(name, _REQUIRED)
        return None if value is None else whole_row(self.who, name, value)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a list of numbers; NaN and infinity are words in JSON."""
        value = self._get(name, _REQUIRED)
        found = [_number(item) for item in value] if isinstance(value, list) else [None]
        if None in found:
            raise self._wrong(name, "a list of numbers", value)
        return np.array(found, np.float64)

    def array(self, name: str) -> NDArray[Any] | None:
        """Return an array in any of ND4J's forms, or None where it is null.

        The forms are text with a type and a shape, base64 of the binary form, and the
        plain list of 1.0.0-beta2 and older.
        """
        value = self._get(name, None)
        if value is None:
            return None
        if isinstance(value, list):
            return self.numbers(name)
        try:
            if "array" in value:
                return _from_base64(self.who, name, value["array"])
            return _from_text(self.who, name, value)
        except (ArithmeticError, DataError, KeyError, TypeError, ValueError) as error:
            what = "an array whose type, shape and data go together"
            raise self._wrong(name, what, value) from error

    def child(self, name: str, *, required: bool = False) -> "Fields | None":
        """Return the fields of an object, or None where it is null.

        If it is not `required`, it may also be missing.
        """
        value = self._get(name, _REQUIRED if required else None)
        if value is not None and not isinstance(value, dict):
            raise self._wrong(name, "an object or null", value)
        return None if value is None else Fields(self.who, value)

    def children(self, name: str) -> "list[Fields] | None":
        """Return the fields of each object of a list, or None where it is null."""
        value = self._get(name, None)
        if value is not None and not _is_list_of(value, dict):
            raise self._wrong(name, "a list of objects or null", value)
        return None if value is None else [Fields(self.who, item) for item in value]

    def names_here(self) -> list[str]:
        """Return the names of all fields, in the order of the text."""
        return list(self._values)

    def raw(self, name: str) -> Any:
        """Return a field that must be there, whatever it is."""
        return self._get(name, _REQUIRED)

    def _get(self, name: str, default: Any) -> Any:
        value = self._values.get(name, default)
        if value is _REQUIRED:
            raise FormatError(
                f"{self.who}: the JSON must have the field {name}, got "
                f"{sorted(self._values)[:5]}."
            )
        return value

    def _wrong(self, name: str, what: str, value: Any) -> FormatError:
        return FormatError(f"{self.who}: {name} must be {what}, got {shown(value)}.")


def read_fields(who: str, text: str, classes: Sequence[str]) -> Fields:
    """Return the fields of a JSON object whose ``@class`` is one of `classes`.

    Raises
    ------
    FormatError
        When the text is no JSON object, or one of another class.
    """
    try:
        values = json.loads(text)
    # Deep nesting is a RecursionError; what is no text at all is a TypeError.
    except (RecursionError, TypeError, ValueError) as error:
        raise FormatError(
            f"{who}: the text must be JSON, got {shown(text)} ({error})."
        ) from error
    name = values.get("@class") if isinstance(values, dict) else None
    if name not in classes:
        raise FormatError(
            f"{who}: @class must be one of {', '.join(classes)}, got {shown(name)}."
        )
    return Fields(who, dict(values))


def whole_row(who: str, name: str, value: Any) -> NDArray[np.int64]:
    """Return a list of whole numbers >= 0 as an array; refuse other values."""
    is_row = isinstance(value, list) and all(
        _is_whole(item) and 0 <= item <= _MOST for item in value
    )
    if not is_row:
        raise FormatError(
            f"{who}: {name} must be a list of whole numbers >= 0, got {shown(value)}."
        )
    return np.array(value, np.int64)


def shown(value: Any) -> str:
    """Return the start of a value as text for a message."""
    if isinstance(value, dict | list):
        return f"{type(value).__name__} of {len(value)}"
    return f"{value[:60]!r}" if isinstance(value, str | bytes) else repr(value)[:60]


def _is_whole(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return _WORDS.get(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _is_list_of(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def _from_text(who: str, name: str, value: dict[str, Any]) -> NDArray[Any]:
    shape, data = value["shape"], value["data"]
    if not (_is_list_of(shape, int) and isinstance(data, list)):
        raise TypeError("shape and data must be lists")
    if min(shape, default=1) < 0 or math.prod(shape) != len(data):
        raise ValueError("shape and data must have one size")
    if value["dataType"] == "LONG":
        counts: NDArray[Any] = whole_row(who, name, data).reshape(shape)
        return counts
    dtype = {"DOUBLE": np.float64, "FLOAT": np.float32}[value["dataType"]]
    with np.errstate(over="raise"):
        row = np.array([float(number) for number in data]).astype(dtype)
    array: NDArray[Any] = row.reshape(shape)
    return array


def _from_base64(who: str, name: str, text: Any) -> NDArray[Any]:
    # MIME's line ends are not of its alphabet: decoding must skip them.
    packed = base64.b64decode(text, validate=False)
    return read_array(io.BytesIO(packed), name=f"{who}: {name}")
