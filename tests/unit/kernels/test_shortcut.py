"""The rectified sum of a block and its shortcut against NumPy."""

import numpy as np
import pytest

from daskdl.kernels.shortcut import add_relu
from tests.memory import peak_bytes
from tests.unit.kernels.numpy_form import by_numpy

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])
dtypes = pytest.mark.parametrize("dtype", ["f4", "f8"])


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@dtypes
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 5), (4, 9, 8, 16)])
def test_the_sum_is_that_of_numpy(rng, shape, dtype):
    first, second = rng.standard_normal((2, *shape)).astype(dtype)
    if first.size:
        first.flat[rng.integers(0, first.size, len(SPECIAL))] = SPECIAL
    out, expected = np.full((2, *shape), 7.0, dtype)
    by_numpy(add_relu, first, second, out=expected)
    assert add_relu(first, second, out=out) is out
    np.testing.assert_array_equal(out, expected)


@dtypes
def test_what_is_not_contiguous_or_shorter_is_repeated_and_added_too(rng, dtype):
    first = rng.standard_normal((6, 5)).astype(dtype).T
    second = rng.standard_normal((5, 1)).astype(dtype)
    out = np.empty((5, 6), dtype)
    add_relu(first, second, out=out)
    np.testing.assert_array_equal(out, np.maximum(first + second, 0))


def test_nothing_of_the_size_of_the_arrays_is_allocated(rng):
    first, second = rng.standard_normal((2, 4000, 16))
    out = np.empty_like(first)
    assert peak_bytes(lambda: add_relu(first, second, out=out)) < out.nbytes / 16
