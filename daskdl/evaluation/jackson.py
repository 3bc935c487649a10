"""JSON text as DL4J's Jackson prints it: two spaces, ``" : "``, Java's numbers.

Only what evaluation files need. Java up to 18 prints a few doubles with one digit more
than needed; here they always have the fewest digits that read back the same.
"""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.errors import FormatError

_JAVA_TYPES = {np.dtype(np.float64): "DOUBLE", np.dtype(np.float32): "FLOAT"}


def dumps(value: Any) -> str:
    """Return the text of nested dicts, lists, strings, numbers and ``None``."""
    return _text(value, indent=0)


def loads(text: str, classes: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a JSON object whose ``@class`` is one of `classes`.

    Raises
    ------
    FormatError
        When the text is no JSON object, or one of another class.
    """
    try:
        fields = json.loads(text)
    except ValueError as error:
        raise FormatError(
            f"evaluation: the text must be JSON, got {text[:60]!r} ({error})."
        ) from error
    name = fields.get("@class") if isinstance(fields, dict) else None
    if name not in classes:
        raise FormatError(
            f"evaluation: @class must be one of {', '.join(classes)}, got {name!r}."
        )
    return dict(fields)


def java_number(value: float | np.floating[Any]) -> str:
    """Return a float as ``Double.toString`` does, or ``Float.toString`` for a float32.

    Decimal from 1e-3 to 1e7, else with an exponent; at least one digit after the point.
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return np.format_float_positional(value, unique=True, trim="0")
    text = np.format_float_scientific(value, unique=True, trim="0", exp_digits=1)
    return text.replace("e+", "E").replace("e", "E")


def array_to_json(array: NDArray[np.floating[Any]] | None) -> dict[str, Any] | None:
    """Return ND4J's text form of an array, for :func:`dumps`."""
    if array is None:
        return None
    return {
        "dataType": _JAVA_TYPES[array.dtype],
        "shape": list(array.shape),
        "data": list(array.ravel()),
    }


def array_from_json(who: str, value: Any) -> NDArray[np.floating[Any]]:
    """Return an array from its text form, or from the plain list of old files.

    Raises
    ------
    FormatError
        When it is neither.
    """
    try:
        if isinstance(value, list):
            return np.array([float(number) for number in value])
        dtype = np.float32 if value["dataType"] == "FLOAT" else np.float64
        data = np.array([float(number) for number in value["data"]], dtype)
        array: NDArray[np.floating[Any]] = data.reshape(value["shape"])
        return array
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"{who}: an array must have dataType, shape and data that go together, "
            f"got {str(value)[:60]}."
        ) from error


def _text(value: Any, indent: int) -> str:
    if isinstance(value, dict):
        return _object(value, indent)
    if isinstance(value, list):
        items = ", ".join(_text(item, indent) for item in value)
        return f"[ {items} ]" if value else "[ ]"
    if isinstance(value, float | np.floating):
        number = java_number(value)
        return number if math.isfinite(value) else f'"{number}"'
    return json.dumps(value, ensure_ascii=False)


def _object(value: dict[str, Any], indent: int) -> str:
    if not value:
        return "{ }"
    inner = "  " * (indent + 1)
    lines = [
        f"{inner}{json.dumps(key, ensure_ascii=False)} : {_text(item, indent + 1)}"
        for key, item in value.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n" + "  " * indent + "}"
