"""Spark's ML vectors (VectorUDT) as Arrow structs, to arrays and back.

In files and in live batches a vector is ``struct<type: int8, size: int32, indices:
list<int32>, values: list<double>>``. Type 1 is dense (only values are set), type 0 is
sparse. Both kinds may stand in one column. No loop over rows is needed either way.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import DTypeLike, NDArray

from daskdl.arrays.namespace import FloatArray
from daskdl.errors import DataError
from daskdl_bridge.readers.arrays import cast_numbers
from daskdl_bridge.readers.place import Place, first_true

__all__ = ["VECTOR", "decode_vectors", "encode_vectors", "is_vector"]

VECTOR: Any = pa.struct(
    [
        pa.field("type", pa.int8(), nullable=False),
        pa.field("size", pa.int32()),
        pa.field("indices", pa.list_(pa.field("element", pa.int32(), nullable=False))),
        pa.field("values", pa.list_(pa.field("element", pa.float64(), nullable=False))),
    ]
)

_SPARSE, _DENSE = 0, 1


def is_vector(arrow_type: Any) -> bool:
    """Tell whether a type is the struct that Spark stores its vectors in."""
    return pa.types.is_struct(arrow_type) and {
        arrow_type.field(i).name for i in range(arrow_type.num_fields)
    } == {"type", "size", "indices", "values"}


def decode_vectors(column: Any, place: Place, dtype: DTypeLike) -> FloatArray:
    """Turn a column of vectors into a dense matrix.

    Parameters
    ----------
    column : pyarrow.StructArray of length rows
        Sparse and dense vectors in any mixture.
    place : Place
        For messages.
    dtype : dtype
        float32 or float64.

    Returns
    -------
    ndarray of shape (rows, width)

    Raises
    ------
    DataError
        If vectors differ in width, or one is null or contradicts itself.
    """
    place.refuse_nulls(column.is_null().to_numpy(zero_copy_only=False))
    kinds = column.field("type").to_numpy(zero_copy_only=False)
    lengths = _lengths(column.field("values"))
    sizes = pc.fill_null(column.field("size"), -1).to_numpy(zero_copy_only=False)
    is_dense = kinds == _DENSE
    width = _common_width(np.where(is_dense, lengths, sizes), place)
    values = column.field("values").flatten().to_numpy(zero_copy_only=False)
    if is_dense.all():
        return cast_numbers(values, dtype).reshape(len(column), width)
    matrix: NDArray[Any] = np.zeros((len(column), width), dtype=dtype)
    of_dense = np.repeat(is_dense, lengths)
    values = cast_numbers(values, dtype)
    matrix[is_dense] = values[of_dense].reshape(-1, width)
    rows = np.repeat(np.arange(len(column)), lengths)[~of_dense]
    matrix[rows, _indices(column, is_dense, lengths, width, place)] = values[~of_dense]
    return matrix


def encode_vectors(matrix: NDArray[Any]) -> Any:
    """Return the rows of a matrix as dense vectors that Spark takes for its own.

    Parameters
    ----------
    matrix : ndarray of shape (rows, width), float

    Returns
    -------
    pyarrow.StructArray of length rows
    """
    rows, width = matrix.shape
    values = pa.array(np.ascontiguousarray(matrix, dtype=np.float64).ravel())
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * np.int32(width))
    nothing = pa.nulls(rows, pa.int32())
    children = [
        pa.array(np.full(rows, _DENSE, dtype=np.int8)),
        nothing,
        pa.nulls(rows, VECTOR.field("indices").type),
        pa.ListArray.from_arrays(offsets, values, type=VECTOR.field("values").type),
    ]
    return pa.StructArray.from_arrays(children, fields=list(VECTOR))


def _lengths(lists: Any) -> NDArray[np.int64]:
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    return np.asarray(lengths.to_numpy(zero_copy_only=False), dtype=np.int64)


def _common_width(widths: NDArray[Any], place: Place) -> int:
    if not len(widths):
        return 0
    differs = widths != widths[0]
    if differs.any():
        row = first_true(differs)
        raise DataError(
            f"{place} must hold vectors of one width; {place.row(0)} has "
            f"{int(widths[0])}, {place.row(row)} has {int(widths[row])}."
        )
    return int(widths[0])


def _indices(
    column: Any,
    is_dense: NDArray[np.bool_],
    lengths: NDArray[np.int64],
    width: int,
    place: Place,
) -> NDArray[Any]:
    counts = np.where(is_dense, 0, _lengths(column.field("indices")))
    contradicts = ~is_dense & (counts != lengths)
    if contradicts.any():
        row = first_true(contradicts)
        raise DataError(
            f"{place} must hold as many indices as values; {place.row(row)} has "
            f"{int(counts[row])} and {int(lengths[row])}."
        )
    sparse = column.field("indices").filter(pa.array(~is_dense))
    indices: NDArray[Any] = sparse.flatten().to_numpy(zero_copy_only=False)
    outside = (indices < 0) | (indices >= width)
    if outside.any():
        at = first_true(outside)
        row = int(np.repeat(np.arange(len(counts)), counts)[at])
        raise DataError(
            f"{place} must hold indices from 0 to {width - 1}; {place.row(row)} has "
            f"{int(indices[at])}."
        )
    return indices
