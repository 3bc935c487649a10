"""Arrays as ND4J puts them into JSON; fields.py beside it reads them."""

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskdl.dl4j.arrays.nd4j import write_array

__all__ = ["array_to_base64", "array_to_json"]

_JAVA_TYPES = {
    np.dtype(np.float64): "DOUBLE",
    np.dtype(np.float32): "FLOAT",
    np.dtype(np.int64): "LONG",
}
# MIME breaks base64 after as many characters (RFC 2045, section 6.8).
_MIME_LINE = 76


def array_to_json(array: NDArray[Any] | None) -> dict[str, Any] | None:
    """Return ND4J's text form of an array, as nested lists and dicts.

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
    """Return ND4J's binary form of an array in MIME's base64, for Jackson."""
    if array is None:
        return None
    stream = io.BytesIO()
    write_array(stream, array)
    text = base64.b64encode(stream.getvalue()).decode("ascii")
    starts = range(0, len(text), _MIME_LINE)
    return {"array": "".join(f"{text[i : i + _MIME_LINE]}\r\n" for i in starts)}
