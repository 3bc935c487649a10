"""Spark's vectors to arrays and back."""

import numpy as np
import pyarrow as pa
import pytest

from daskdl.errors import DataError
from daskdl_bridge.readers.error_location import ErrorLocation
from daskdl_bridge.readers.vectors import (
    VECTOR,
    decode_vectors,
    encode_vectors,
    is_vector,
)

LOCATION = ErrorLocation("part-0", "features", 100)


def dense(*values):
    return {"type": 1, "size": None, "indices": None, "values": list(values)}


def sparse(size, indices, values):
    return {"type": 0, "size": size, "indices": indices, "values": values}


def decode(*vectors, dtype="float32"):
    return decode_vectors(pa.array(vectors, VECTOR), LOCATION, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dense_and_sparse_rows_in_any_mixture(dtype):
    found = decode(
        sparse(3, [2], [5.0]),
        dense(1.0, 2.0, 3.0),
        sparse(3, [], []),
        dense(4.0, 5.0, 6.0),
        sparse(3, [0, 1], [7.0, 8.0]),
        dtype=dtype,
    )
    expected = [[0, 0, 5], [1, 2, 3], [0, 0, 0], [4, 5, 6], [7, 8, 0]]
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)


def test_only_dense_rows_are_one_reshape():
    np.testing.assert_array_equal(decode(dense(1.0, 2.0), dense(3.0, 4.0))[1], [3, 4])


def test_slice_of_a_column_gives_its_own_rows():
    column = pa.array(
        [dense(1.0, 2.0), sparse(2, [1], [9.0]), dense(3.0, 4.0)], VECTOR
    ).slice(1)
    found = decode_vectors(column, LOCATION, "float32")
    np.testing.assert_array_equal(found, [[0, 9], [3, 4]])


def test_no_rows():
    assert decode().shape == (0, 0)


def test_written_vectors_are_read_again(rng):
    matrix = rng.normal(size=(7, 5)).astype("float32")
    np.testing.assert_array_equal(
        decode_vectors(encode_vectors(matrix), LOCATION, "float32"), matrix
    )


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (3, 1)])
def test_odd_shapes_are_written(shape):
    written = encode_vectors(np.ones(shape, "float32"))
    assert written.type == VECTOR
    assert [len(one["values"]) for one in written.to_pylist()] == [shape[1]] * shape[0]


@pytest.mark.parametrize(
    "vectors",
    [
        (dense(1.0, 2.0), dense(1.0)),
        (dense(1.0, 2.0), sparse(1, [], [])),
        (sparse(2, [], []), dense(1.0)),
    ],
)
def test_ragged_widths_are_refused_with_row_and_widths(vectors):
    with pytest.raises(DataError, match=r"row 100 has 2, row 101 has 1"):
        decode(*vectors)


def test_null_is_refused_with_its_row():
    with pytest.raises(
        DataError, match=r"part-0: column 'features' .* row 101 is null"
    ):
        decode(dense(1.0), None)


@pytest.mark.parametrize(("index", "told"), [(-1, -1), (2, 2), (None, -1)])
def test_index_outside_the_vector_is_refused(index, told):
    with pytest.raises(DataError, match=rf"from 0 to 1; row 101 has {told}"):
        decode(dense(1.0, 2.0), sparse(2, [index], [1.0]))


def test_contradicting_lengths_are_refused():
    with pytest.raises(DataError, match=r"row 100 has 1 and 2"):
        decode(sparse(3, [0], [1.0, 2.0]))


def test_only_the_struct_of_a_vector_is_one():
    assert is_vector(VECTOR)
    assert not is_vector(pa.struct([("type", pa.int8())]))
    assert not is_vector(pa.float64())


@pytest.mark.parametrize("size", [-5, None])
def test_a_size_that_is_none_is_refused(size):
    with pytest.raises(DataError, match=r"from 0 on; row 101 has -[51]"):
        decode(sparse(3, [0], [1.0]), sparse(size, [], []))


@pytest.mark.parametrize("kind", [9, -1])
def test_a_type_that_is_none_is_refused(kind):
    wrong = sparse(3, [0], [1.0]) | {"type": kind}
    with pytest.raises(DataError, match=rf"0 \(sparse\) or 1 .*; row 101 has {kind}"):
        decode(dense(1.0, 2.0, 3.0), wrong)


def test_a_matrix_that_is_too_large_is_refused_before_memory_is_taken():
    with pytest.raises(DataError, match=r"2 sparse rows of width 2147483647"):
        decode(*[sparse(2**31 - 1, [5], [1.0])] * 2)


def test_offsets_beyond_32_bits_are_refused_before_numbers_are_copied():
    matrix = np.broadcast_to(np.float64(0), (1 << 20, 1 << 11))
    with pytest.raises(DataError, match=r"less than 2147483648 numbers"):
        encode_vectors(matrix)
