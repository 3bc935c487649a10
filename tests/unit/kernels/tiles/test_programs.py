"""Compiled loop nests against indices of NumPy, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings

from daskdl.kernels.tiles.native import native
from daskdl.kernels.tiles.nest import Argument, Axis, Program, Transpose
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
def test_a_function_is_computed_number_by_number_and_touches_nothing_else(
    unit, dtype, case
):
    for array, expected in zip(case.run(unit, dtype), case.after, strict=True):
        np.testing.assert_array_equal(array, expected)


@every_unit
@dtypes
@pytest.mark.parametrize(
    ("rows", "columns"), [(1, 1), (1, 40), (40, 1), (16, 16), (5, 7), (33, 18)]
)
def test_a_matrix_is_transposed_and_touches_nothing_else(unit, dtype, rows, columns):
    read = np.arange(2 * rows * (columns + 3), dtype=dtype).reshape(2, rows, -1)
    written = np.full((2, columns, rows + 2), np.nan, dtype)
    expected = written.copy()
    expected[..., :rows] = read[..., :columns].transpose(0, 2, 1)
    around = (Axis(2, a=read[0].size, c=written[0].size),)
    transpose = Transpose(
        Argument(0), Argument(1), rows, columns, columns + 3, rows + 2, around
    )
    program = Program(dtype, 2, (transpose,))
    native(program, unit)(read.ctypes.data, written.ctypes.data, 1)
    np.testing.assert_array_equal(written, expected)
