"""Matrices in a flat gradient, bases and products."""

import numpy as np
import pytest

from daskdl.arrays.flat import ParamLayout
from daskdl.cluster.masters.low_rank import Matrix, matrices, orthonormal, product


def test_arrays_are_cut_where_the_sides_are_short():
    layout = ParamLayout.of({"bias": (64,), "kernel": (3, 3, 64, 64), "W": (50, 30)})
    assert matrices(layout, 4, 2.0) == [
        Matrix(start=64, shape=(576, 64), rank=4),
        Matrix(start=64 + 36864, shape=(50, 30), rank=4),
    ]


@pytest.mark.parametrize("shape", [(3, 5), (5, 3)])
def test_a_matrix_is_a_view_that_is_no_higher_than_wide(shape):
    vector = np.arange(20.0)
    view = Matrix(start=2, shape=shape, rank=1).of(vector)
    assert view.shape == (3, 5)
    np.testing.assert_array_equal(np.sort(view.ravel()), np.arange(2.0, 17))
    view[...] = -1
    assert vector[2:17].max() == -1


@pytest.mark.parametrize(("rate", "found"), [(2.0, 0), (1.9, 1)])
def test_what_would_not_become_so_much_shorter_is_left_whole(rate, found):
    """A matrix of 20 by 20 has two factors of 20 numbers a rank: 400 against 200."""
    layout = ParamLayout.of({"W": (20, 20)})
    assert len(matrices(layout, 5, rate)) == found


def test_no_rank_is_higher_than_that_of_the_matrix():
    layout = ParamLayout.of({"W": (3, 500)})
    assert [matrix.rank for matrix in matrices(layout, 10, 0.1)] == [3]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_basis_is_orthonormal_and_spans_what_it_was_made_of(rng, dtype):
    vectors = rng.standard_normal((40, 5)).astype(dtype)
    vectors[:, 3] = vectors[:, 2] + 1e-3 * vectors[:, 3]
    basis = orthonormal(vectors)
    assert basis.dtype == dtype
    np.testing.assert_allclose(basis.T @ basis, np.eye(5), atol=1e-6)
    np.testing.assert_allclose(basis @ (basis.T @ vectors), vectors, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_column_that_depends_on_those_before_it_gives_way_to_an_axis(rng, dtype):
    vectors = rng.standard_normal((40, 4)).astype(dtype)
    vectors[:, 0] = np.eye(40)[0]
    vectors[:, 2] = 3 * vectors[:, 1] - vectors[:, 0]
    basis = orthonormal(vectors)
    np.testing.assert_allclose(basis.T @ basis, np.eye(4), atol=1e-6)
    # The first axis is there already.
    second = np.eye(40)[1]
    spanned = basis[:, :3] @ (basis[:, :3].T @ second)
    np.testing.assert_allclose(spanned, second, atol=1e-6)


def test_of_nothing_the_basis_are_axes():
    np.testing.assert_array_equal(orthonormal(np.zeros((3, 2))), np.eye(3, 2))


def test_a_product_is_that_of_matrices(rng):
    left, right = rng.standard_normal((7, 3)), rng.standard_normal((5, 3))
    np.testing.assert_allclose(product(left, right), left @ right.T, rtol=1e-12)
