"""Compiled column-wise contractions against indices of NumPy, to the last bit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daskdl.kernels.tiles.nest import Argument, Axis, Columnwise
from tests.unit.kernels.tiles.nests import (
    Case,
    filled,
    n_loops,
    offsets,
    ordered,
    sizes,
    strides,
    strides_apart,
)
from tests.unit.kernels.tiles.units import HOST_UNITS, name_of

every_unit = pytest.mark.parametrize("unit", HOST_UNITS, ids=name_of)
# Each one is compiled.
few = settings(max_examples=8, derandomize=True)


@st.composite
def columnwise(draw):
    """Draw contractions of which rows may share what they read."""
    start = draw(st.sampled_from(["zero", "bias", "sum"]))
    n_sums = draw(st.integers(1, 3))
    columns, *counts = draw(sizes(3 + n_sums + draw(n_loops), most=40))
    sums = [Axis(n, draw(strides), draw(strides)) for n in counts[:n_sums]]
    counts = [draw(st.integers(0, 3)), *counts[n_sums:]]
    apart = strides_apart(counts, columns)
    of_c = [draw(strides) for _ in counts] if start == "sum" else draw(apart)
    *outer, down, across = (
        Axis(n, draw(strides), draw(strides), stride)
        for n, stride in zip(counts, of_c, strict=True)
    )
    shared = draw(st.sampled_from([across.a, sums[-1].a, -sums[-1].a]))
    rows = (replace(down, b=0), replace(across, a=shared, b=0))
    numbers = draw(st.permutations(range(4)))
    rectifies = draw(st.booleans())
    return case_of(numbers, outer, rows, columns, sums, start, rectifies)


def case_of(numbers, outer, rows, columns, sums, start, rectifies):
    """Return the case; `outer` are the examples and the loops."""
    example, *loops = outer
    column = (columns, 1)
    # Everything in the order of loops, rows, sums, columns.
    at_a = offsets(*((axis.size, axis.a) for axis in (*outer, *rows, *sums)), column)
    at_b = offsets(*((axis.size, axis.b) for axis in (*outer, *rows, *sums)), column)
    at_c = offsets(*((axis.size, axis.c) for axis in (*outer, *rows)), column)
    at_bias = offsets((example.size, 0), column)
    rng = np.random.default_rng(20260101)
    (a, a_first), (b, b_first), (c, c_first), (bias, bias_first) = (
        filled(rng, at) for at in (at_a, at_b, at_c, at_bias)
    )
    if start != "sum":
        c.fill(np.nan)
    before = ordered(numbers, a, b, c.copy(), bias)
    over = tuple(range(len(outer) + 2, len(outer) + 2 + len(sums)))
    total = (a[at_a + a_first] * b[at_b + b_first]).sum(axis=over)
    if start == "bias":
        between = (1,) * (total.ndim - 2)
        total += bias[at_bias + bias_first].reshape(-1, *between, columns)
    if start != "sum":
        c[at_c + c_first] = np.maximum(total, 0) if rectifies else total
    else:
        np.add.at(c, at_c + c_first, total)
    statement = Columnwise(
        Argument(numbers[0], a_first, example.a),
        Argument(numbers[1], b_first, example.b),
        Argument(numbers[2], c_first, example.c),
        rows,
        columns,
        tuple(sums),
        tuple(loops),
        start,
        Argument(numbers[3], bias_first) if start == "bias" else None,
        rectifies and start != "sum",
    )
    return Case(statement, example.size, before, ordered(numbers, a, b, c, bias))


@every_unit
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@few
@given(case=columnwise())
def test_columns_are_multiplied_one_by_one_and_nothing_else_is_touched(
    unit, dtype, case
):
    for array, expected in zip(case.run(unit, dtype), case.after, strict=True):
        np.testing.assert_array_equal(array, expected)
