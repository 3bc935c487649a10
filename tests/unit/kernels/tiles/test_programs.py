"""Compiled loop nests against indices of NumPy, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.unit.kernels.tiles.nests import contractions, copies, maxima
from tests.unit.kernels.tiles.units import HOST_UNITS, name_of

every_unit = pytest.mark.parametrize("unit", HOST_UNITS, ids=name_of)
dtypes = pytest.mark.parametrize("dtype", ["float32", "float64"])
# Each one is compiled.
few = settings(max_examples=10, derandomize=True)
fewer = settings(max_examples=6, derandomize=True)


@every_unit
@dtypes
@few
@given(case=contractions())
def test_a_contraction_is_the_sum_of_products_and_touches_nothing_else(
    unit, dtype, case
):
    for array, expected in zip(case.run(unit, dtype), case.after, strict=True):
        np.testing.assert_array_equal(array, expected)


@every_unit
@dtypes
@fewer
@given(case=copies())
def test_a_copy_is_the_runs_and_touches_nothing_else(unit, dtype, case):
    for array, expected in zip(case.run(unit, dtype), case.after, strict=True):
        np.testing.assert_array_equal(array, expected)


@every_unit
@dtypes
@fewer
@given(case=maxima())
def test_a_function_is_computed_at_its_places_and_touches_nothing_else(
    unit, dtype, case
):
    for array, expected in zip(case.run(unit, dtype), case.after, strict=True):
        np.testing.assert_array_equal(array, expected)
