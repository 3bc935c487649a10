"""Examples as columns of a DataFrame: arrays nested as deep as they have axes."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.errors import DataError
from daskdl_bridge.readers.arrays import is_list

__all__ = ["as_arrow_column", "named_arrays", "type_of_column"]


def named_arrays(
    examples: DataSet | MultiDataSet,
) -> dict[str, NDArray[Any] | None]:
    """Return the arrays of examples by the names of their columns.

    Returns
    -------
    dict of str to ndarray of shape (batch, ...), or None
        ``features``, ``label``, ``features_mask`` and ``labels_mask``; of a
        MultiDataSet ``features_0`` and so on. Labels of one number an example have
        shape (batch,).
    """
    if isinstance(examples, DataSet):
        return {
            "features": examples.features,
            "label": _as_numbers(examples.labels),
            "features_mask": examples.features_mask,
            "labels_mask": examples.labels_mask,
        }
    groups: dict[str, list[Any]] = {
        "features": list(examples.features),
        "label": [_as_numbers(one) for one in examples.labels],
        "features_mask": list(examples.features_masks or ()),
        "labels_mask": list(examples.labels_masks or ()),
    }
    return {
        f"{name}_{number}": array
        for name, arrays in groups.items()
        for number, array in enumerate(arrays)
    }


def _as_numbers(labels: NDArray[Any] | None) -> NDArray[Any] | None:
    is_number = labels is not None and labels.ndim == 2 and labels.shape[1] == 1
    return labels[:, 0] if is_number and labels is not None else labels


def type_of_column(array: NDArray[Any]) -> Any:
    """Return the pyarrow.DataType in which Spark holds an array of shape (batch, ...).

    Unsigned and half numbers, which Spark has not, become the next wider ones.
    """
    dtype = array.dtype
    if dtype.kind in ("b", "u"):
        dtype = np.result_type(dtype, np.int8)
    if dtype == np.float16:
        dtype = np.dtype(np.float32)
    column_type = pa.from_numpy_dtype(dtype)
    for _ in array.shape[1:]:
        column_type = pa.list_(column_type)
    return column_type


def as_arrow_column(array: NDArray[Any], column_type: Any, place: str) -> Any:
    """Return an array of shape (batch, ...) as a column of nested lists.

    Parameters
    ----------
    array : ndarray of shape (batch, ...)
    column_type : pyarrow.DataType
        Lists as deep as the array has axes behind the first, of numbers.
    place : str
        For messages: partition and column.

    Raises
    ------
    DataError
        If the type is of another depth, or its numbers do not hold those of the array.
    """
    nested = []
    element = column_type
    while is_list(element):
        nested.append(element)
        element = element.value_type
    if len(nested) != array.ndim - 1:
        raise DataError(
            f"{place} must have {len(nested)} axes an example, as the schema says, got "
            f"examples of shape {array.shape[1:]}."
        )
    dtype = np.dtype(element.to_pandas_dtype())
    if not np.can_cast(array.dtype, dtype, "safe"):
        raise DataError(
            f"{place} must fit {element}, as the schema says, got {array.dtype}. Give "
            "the schema with the wider type, or option('dtype', 'float32') to cast "
            "all."
        )
    column = pa.array(array.reshape(-1).astype(dtype, copy=False), element)
    for axis in range(len(nested), 0, -1):
        rows = int(np.prod(array.shape[:axis]))
        starts = np.arange(rows + 1, dtype=np.int32) * array.shape[axis]
        column = pa.ListArray.from_arrays(pa.array(starts), column, nested[axis - 1])
    return column
