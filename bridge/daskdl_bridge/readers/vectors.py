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
from daskdl_bridge.readers.buffers import as_arrow, as_numpy
from daskdl_bridge.readers.error_location import ErrorLocation, first_true

__all__ = [
    "VECTOR",
    "decode_vectors",
    "encode_sparse",
    "encode_vectors",
    "is_vector",
]

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


def decode_vectors(
    column: Any, place: ErrorLocation, dtype: DTypeLike, most_bytes: int = 4 << 30
) -> FloatArray:
    """Turn a column of vectors into a dense matrix.

    Parameters
    ----------
    column : pyarrow.StructArray of length rows
        Sparse and dense vectors in any mixture.
    place : ErrorLocation
        For messages.
    dtype : dtype
        float32 or float64.
    most_bytes : int
        What the matrix may take if there are sparse vectors: a short file can have
        wide ones.

    Returns
    -------
    ndarray of shape (rows, width)

    Raises
    ------
    DataError
        If vectors differ in width, one is null or contradicts itself, or the matrix
        would take more than `most_bytes`.
    """
    if column.null_count:
        place.refuse_nulls(as_numpy(column.is_null()))
    lengths = _lengths(column.field("values"))
    sizes = as_numpy(pc.fill_null(column.field("size"), -1))
    is_dense = _kinds(column, place) == _DENSE
    _refuse(~is_dense & (sizes < 0), sizes, "have sizes from 0 on", place)
    width = _common_width(np.where(is_dense, lengths, sizes), place)
    values = as_numpy(column.field("values").flatten())
    if is_dense.all():
        return cast_numbers(values, dtype).reshape(len(column), width)
    _check_fits(len(column), width, np.dtype(dtype), most_bytes, place)
    matrix: NDArray[Any] = np.zeros((len(column), width), dtype=dtype)
    of_dense = np.repeat(is_dense, lengths)
    values = cast_numbers(values, dtype)
    matrix[is_dense] = values[of_dense].reshape(int(is_dense.sum()), width)
    rows = np.repeat(np.arange(len(column)), lengths)[~of_dense]
    matrix[rows, _indices(column, is_dense, lengths, width, place)] = values[~of_dense]
    return matrix


def encode_vectors(
    matrix: NDArray[Any], is_null: NDArray[np.bool_] | None = None
) -> Any:
    """Return the rows of a matrix as dense vectors that Spark takes for its own.

    Parameters
    ----------
    matrix : ndarray of shape (rows, width), float
    is_null : ndarray of shape (rows,), bool, optional
        Which rows are no vectors, but null.

    Returns
    -------
    pyarrow.StructArray of length rows
    """
    rows, width = matrix.shape
    lengths = np.full(rows, width)
    mask = None
    if is_null is not None:
        # Parquet has no elements of what is null.
        lengths[is_null], matrix = 0, matrix[~is_null]
        mask = pa.array(is_null)
    offsets = _offsets(lengths)
    values = as_arrow(np.ascontiguousarray(matrix, dtype=np.float64).ravel())
    nothing = pa.nulls(rows, pa.int32())
    children = [
        as_arrow(np.full(rows, _DENSE, dtype=np.int8)),
        nothing,
        pa.nulls(rows, VECTOR.field("indices").type),
        pa.ListArray.from_arrays(offsets, values, type=VECTOR.field("values").type),
    ]
    return pa.StructArray.from_arrays(children, fields=list(VECTOR), mask=mask)


def encode_sparse(
    lengths: NDArray[Any], indices: NDArray[Any], values: NDArray[Any], width: int
) -> Any:
    """Return rows of indices and values as sparse vectors.

    Parameters
    ----------
    lengths : ndarray of shape (rows,), int
        How many of the indices and values each row has.
    indices, values : ndarray of shape (sum of lengths,), int and float
        Indices from 0.
    width : int
        Below 2**31.

    Returns
    -------
    pyarrow.StructArray of length rows
    """
    rows = len(lengths)
    offsets = _offsets(lengths)
    children = [
        as_arrow(np.full(rows, _SPARSE, dtype=np.int8)),
        as_arrow(np.full(rows, width, dtype=np.int32)),
        pa.ListArray.from_arrays(
            offsets, indices.astype(np.int32), type=VECTOR.field("indices").type
        ),
        pa.ListArray.from_arrays(offsets, values, type=VECTOR.field("values").type),
    ]
    return pa.StructArray.from_arrays(children, fields=list(VECTOR))


def _offsets(lengths: NDArray[Any]) -> Any:
    """Return where the lists of an Arrow array begin and end, which has 32 bits."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] > np.iinfo(np.int32).max:
        raise DataError(
            f"vectors: the rows of one part must hold less than {1 << 31} numbers "
            f"together, got {offsets[-1]}. Make smaller parts."
        )
    return as_arrow(offsets.astype(np.int32))


def _kinds(column: Any, place: ErrorLocation) -> NDArray[Any]:
    kinds = as_numpy(pc.fill_null(column.field("type"), -1))
    must = f"be vectors of type {_SPARSE} (sparse) or {_DENSE} (dense)"
    _refuse((kinds != _SPARSE) & (kinds != _DENSE), kinds, must, place)
    return np.asarray(kinds)


def _refuse(
    is_wrong: NDArray[np.bool_], values: NDArray[Any], must: str, place: ErrorLocation
) -> None:
    if is_wrong.any():
        row = first_true(is_wrong)
        raise DataError(
            f"{place} must {must}; {place.row(row)} has {int(values[row])}."
        )


def _check_fits(
    rows: int, width: int, dtype: np.dtype[Any], most_bytes: int, place: ErrorLocation
) -> None:
    n_bytes = rows * width * dtype.itemsize
    if n_bytes > most_bytes:
        raise DataError(
            f"{place} must take at most {most_bytes} bytes as dense rows, got {rows} "
            f"sparse rows of width {width}, which take {n_bytes}. Write smaller parts, "
            "or raise most_part_bytes."
        )


def _lengths(lists: Any) -> NDArray[np.int64]:
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    return np.asarray(as_numpy(lengths), dtype=np.int64)


def _common_width(widths: NDArray[Any], place: ErrorLocation) -> int:
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
    place: ErrorLocation,
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
    # One that is null is nowhere, and is told as -1.
    indices: NDArray[Any] = as_numpy(pc.fill_null(sparse.flatten(), -1))
    outside = (indices < 0) | (indices >= width)
    if outside.any():
        at = first_true(outside)
        row = int(np.repeat(np.arange(len(counts)), counts)[at])
        raise DataError(
            f"{place} must hold indices from 0 to {width - 1}; {place.row(row)} has "
            f"{int(indices[at])}."
        )
    return indices
