"""Types of the numbers that columns become."""

from typing import Any

import numpy as np
import pyarrow as pa

from daskdl_bridge.readers.arrays import innermost
from daskdl_bridge.readers.images import is_binary, is_image_struct

__all__ = ["number_type"]


def number_type(arrow_type: Any) -> np.dtype[np.generic]:
    """Return the type of the numbers in a column, or in its lists, images or vectors.

    Parameters
    ----------
    arrow_type : pyarrow.DataType

    Returns
    -------
    dtype
        float64 for decimals, for Spark's vectors, and for what holds no numbers.
    """
    inner = innermost(arrow_type)
    if is_binary(inner) or is_image_struct(inner):
        return np.dtype(np.uint8)
    is_plain = pa.types.is_integer(inner) or pa.types.is_floating(inner)
    if is_plain or pa.types.is_boolean(inner):
        plain: np.dtype[np.generic] = np.dtype(inner.to_pandas_dtype())
        return plain
    return np.dtype(np.float64)
