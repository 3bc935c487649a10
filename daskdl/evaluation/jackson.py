"""JSON text as DL4J's Jackson prints it: two spaces, ``" : "``, Java's numbers.

Only what evaluation files need; :mod:`daskdl.evaluation.fields` reads it.
"""

import base64
import io
import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.dl4j.arrays.nd4j import write_array
from daskdl.evaluation.java_numbers import java_number

_JAVA_TYPES = {
    np.dtype(np.float64): "DOUBLE",
    np.dtype(np.float32): "FLOAT",
    np.dtype(np.int64): "LONG",
}
# MIME breaks base64 after as many characters (RFC 2045, section 6.8).
_MIME_LINE = 76


def dumps(value: Any) -> str:
    """Return the text of nested dicts, lists, strings, numbers and ``None``."""
    return _text(value, indent=0)


def array_to_json(array: NDArray[Any] | None) -> dict[str, Any] | None:
    """Return ND4J's text form of an array, for :func:`dumps`.

    Parameters
    ----------
    array : ndarray of float64, float32 or int64, or None
    """
    if array is None:
        return None
    flat = array.ravel()
    return {
        "dataType": _JAVA_TYPES[array.dtype],
        "shape": list(array.shape),
        # A float32 stays one: Java prints it with fewer digits than a double.
        "data": flat.tolist() if array.dtype.kind == "i" else list(flat),
    }


def array_to_base64(array: NDArray[Any] | None) -> dict[str, Any] | None:
    """Return ND4J's binary form of an array in MIME's base64, for :func:`dumps`."""
    if array is None:
        return None
    stream = io.BytesIO()
    write_array(stream, array)
    text = base64.b64encode(stream.getvalue()).decode("ascii")
    starts = range(0, len(text), _MIME_LINE)
    return {"array": "".join(f"{text[i : i + _MIME_LINE]}\r\n" for i in starts)}


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
