"""Whether all numbers are finite, and stay so in a narrower type."""

import numpy as np
import pytest

from daskdl.data.finite import are_finite, first_not_finite

LARGEST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 77, 999])
def test_one_number_that_is_not_finite_is_found(rng, dtype, odd, place):
    values = rng.standard_normal(1000).astype(dtype)
    assert are_finite(values)
    values[place] = odd
    assert not are_finite(values)
    assert first_not_finite(values.reshape(10, 100)) == divmod(place, 100)


@pytest.mark.parametrize("value", [1e19, 1e30, -1e38, LARGEST])
def test_large_numbers_are_finite_though_their_squares_are_not(value):
    assert are_finite(np.full(1000, value, np.float32))


@pytest.mark.parametrize(
    ("value", "stays"), [(1e30, True), (LARGEST, True), (1e39, False), (-1e300, False)]
)
def test_numbers_may_become_infinite_in_a_narrower_type(value, stays):
    values = np.ones(1000)
    values[500] = value
    assert are_finite(values)
    assert are_finite(values, np.float32) is stays


@pytest.mark.parametrize("odd", [1.0, np.nan])
def test_views_that_skip_numbers_are_looked_at_as_they_are(odd):
    values = np.ones((10, 10), np.float32)
    values[3, 4] = odd
    assert are_finite(values[:, ::2]) is bool(odd == 1)
    assert are_finite(values[:, 1::2])
    assert are_finite(values.T) is bool(odd == 1)
