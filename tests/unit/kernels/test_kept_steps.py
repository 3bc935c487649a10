"""Steps that a mask keeps: moved to the front and back, compiled and not."""

import numpy as np
import pytest

from daskdl.kernels.kept_steps import gather_steps, scatter_steps
from tests.unit.kernels.numpy_form import by_numpy

MASK = np.array([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0.5, 0]])

dtypes = pytest.mark.parametrize("dtype", ["f4", "f8"])


@pytest.fixture
def series(rng):
    return rng.standard_normal((4, 4, 3))


def test_kept_steps_come_first_in_their_order(series):
    out = gather_steps(series, MASK, out=np.full_like(series, np.nan))
    for row, found, mask in zip(series, out, MASK, strict=True):
        kept = row[mask != 0]
        np.testing.assert_array_equal(found[: len(kept)], kept)
        np.testing.assert_array_equal(found[len(kept) :], 0)


def test_they_go_back_to_where_they_were(series):
    gathered = gather_steps(series, MASK, out=np.empty_like(series))
    gathered[gathered == 0] = np.nan
    out = scatter_steps(gathered, MASK, out=np.full_like(series, np.nan))
    np.testing.assert_array_equal(out, series * (MASK != 0)[:, :, None])


@dtypes
@pytest.mark.parametrize("kernel", [gather_steps, scatter_steps])
@pytest.mark.parametrize("shape", [(4, 4, 3), (4, 4, 0), (0, 4, 3), (4, 0, 3)])
def test_compiled_steps_are_those_of_numpy(rng, kernel, dtype, shape):
    series = rng.standard_normal(shape).astype(dtype)
    mask = np.ascontiguousarray(MASK[: shape[0], : shape[1]].astype(dtype))
    expected = by_numpy(kernel, series, mask, out=np.empty_like(series))
    found = kernel(series, mask, out=np.empty_like(series))
    np.testing.assert_array_equal(found, expected)


def test_reversed_series_are_taken_as_they_come(series):
    out = np.empty_like(series)
    gather_steps(series[:, ::-1], MASK[:, ::-1], out=out)
    np.testing.assert_array_equal(out[0, :3], series[0, [3, 2, 0]])
