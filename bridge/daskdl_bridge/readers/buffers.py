"""Arrow's numbers as NumPy's and back, without pandas.

Arrow's own ``to_numpy`` and ``array`` import pandas where that is installed, whatever
they convert: most of a second, in each worker in front of the first rows.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["as_arrow", "as_numpy"]


def as_numpy(column: Any) -> NDArray[Any]:
    """Return a column as an array, a view of it where that can be.

    Parameters
    ----------
    column : pyarrow.Array of length rows
        Of any type; nulls and what NumPy has no type for are converted by Arrow.

    Returns
    -------
    ndarray of shape (rows,)
        Not to be written to.
    """
    if column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if pa.types.is_boolean(column.type):
        return as_numpy(pc.cast(column, pa.uint8())).view(np.bool_)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    values = column.buffers()[1]
    dtype = np.dtype(column.type.to_pandas_dtype())
    if values is None or not len(column):
        return np.empty(0, dtype)
    return np.frombuffer(values, dtype, len(column), column.offset * dtype.itemsize)


def as_arrow(values: NDArray[Any]) -> Any:
    """Return numbers as a column, which looks into their memory where that can be.

    Parameters
    ----------
    values : ndarray of shape (rows,)
        What is no integer or floating number, or in another order of bytes, is
        converted by Arrow.

    Returns
    -------
    pyarrow.Array of length rows
        NaN stays NaN.
    """
    if values.dtype.kind not in "iuf" or not values.dtype.isnative:
        return pa.array(values)
    data = pa.py_buffer(np.ascontiguousarray(values))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, data])
