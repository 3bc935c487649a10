"""How rows and columns are cut: everything once, and within the registers."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daskdl.kernels.tiles.blocking import (
    column_vectors,
    contraction_cost,
    even_parts,
    stripes,
)
from tests.unit.kernels.tiles.units import EVERY_UNIT, name_of

every_unit = pytest.mark.parametrize("unit", EVERY_UNIT, ids=name_of)
dtypes = pytest.mark.parametrize("dtype", ["float32", "float64"])
many = settings(max_examples=12, derandomize=True)

row_sizes = st.tuples(st.integers(1, 30), st.integers(1, 30))
column_counts = st.integers(1, 200)
product_counts = st.integers(1, 1000)


def cut(unit, rows, columns, products):
    return stripes(unit, unit.lanes("float32"), rows, columns, products)


def blocks_of(stripe):
    """Yield the (start, lanes) of each block of a stripe, as the writer moves it."""
    width = sum(vector.lanes for vector in stripe.vectors)
    for block in range(stripe.count):
        yield [(v.start + block * width, v.lanes) for v in stripe.vectors]


def lanes_of(stripe):
    return [vector.lanes for vector in stripe.vectors]


@every_unit
@dtypes
@many
@given(columns=column_counts)
def test_vectors_cover_every_column_once_and_in_order(unit, dtype, columns):
    vectors = column_vectors(unit, unit.lanes(dtype), columns)
    covered = [v.start + lane for v in vectors for lane in range(v.lanes)]
    assert covered == list(range(columns))


@every_unit
@dtypes
@many
@given(columns=column_counts)
def test_narrower_vectors_come_last(unit, dtype, columns):
    lanes = [v.lanes for v in column_vectors(unit, unit.lanes(dtype), columns)]
    assert lanes == sorted(lanes, reverse=True)


@every_unit
@dtypes
@many
@given(columns=column_counts)
def test_only_masks_hold_a_number_of_lanes_that_is_no_power_of_two(
    unit, dtype, columns
):
    lanes = {v.lanes for v in column_vectors(unit, unit.lanes(dtype), columns)}
    assert unit.masks or all(n & (n - 1) == 0 for n in lanes)


@every_unit
@dtypes
@many
@given(columns=column_counts)
def test_a_mask_leaves_one_narrower_vector_at_most(unit, dtype, columns):
    vectors = column_vectors(unit, unit.lanes(dtype), columns)
    narrow = [v for v in vectors if v.lanes < unit.lanes(dtype)]
    assert not unit.masks or len(narrow) <= 1


@every_unit
@many
@given(rows=row_sizes, columns=column_counts, products=product_counts)
def test_stripes_cover_every_column_once_and_in_order(unit, rows, columns, products):
    blocks = [
        block
        for stripe in cut(unit, rows, columns, products)
        for block in blocks_of(stripe)
    ]
    covered = [
        start + lane
        for start, lanes in itertools.chain.from_iterable(blocks)
        for lane in range(lanes)
    ]
    assert covered == list(range(columns))


@pytest.mark.parametrize("unit", EVERY_UNIT[-2:], ids=name_of)
def test_blocks_of_one_vector_may_end_in_several_narrower_ones(unit):
    """Three columns are left over: a register of two and one of one."""
    found = stripes(unit, 4, (1, unit.registers - 2), 11, 1)
    starts = [
        (start, lanes)
        for stripe in found
        for block in blocks_of(stripe)
        for start, lanes in block
    ]
    assert starts == [(0, 4), (4, 4), (8, 2), (10, 1)]


@every_unit
@many
@given(rows=row_sizes, columns=column_counts, products=product_counts)
def test_rectangles_cover_every_row_once(unit, rows, columns, products):
    found = cut(unit, rows, columns, products)
    assert {(sum(s.heights), sum(s.widths)) for s in found} == {rows}


@every_unit
@many
@given(rows=row_sizes, columns=column_counts, products=product_counts)
def test_a_tile_its_row_of_b_and_a_number_of_a_fit_the_registers(
    unit, rows, columns, products
):
    most = max(
        (max(stripe.heights) * max(stripe.widths) + 1) * len(stripe.vectors) + 1
        for stripe in cut(unit, rows, columns, products)
    )
    assert most <= unit.registers


@every_unit
@many
@given(rows=row_sizes, columns=column_counts, products=product_counts)
def test_neighbouring_blocks_that_are_equal_are_one_stripe(
    unit, rows, columns, products
):
    found = cut(unit, rows, columns, products)
    assert all(
        lanes_of(left) != lanes_of(right) for left, right in itertools.pairwise(found)
    )


@every_unit
@many
@given(rows=row_sizes, columns=column_counts, products=product_counts)
def test_a_column_more_never_costs_less(unit, rows, columns, products):
    lanes = unit.lanes("float32")
    columns -= columns % lanes
    fewer, more = (
        contraction_cost(unit, lanes, rows, n, products) if n else 0.0
        for n in (columns, columns + lanes)
    )
    assert fewer <= more


@many
@given(size=st.integers(1, 500), most=st.integers(1, 500))
def test_parts_are_as_few_as_possible_and_nearly_equal(size, most):
    parts = even_parts(size, most)
    assert sum(parts) == size
    assert len(parts) == int(np.ceil(size / most))
    assert max(parts) - min(parts) <= 1
    assert list(parts) == sorted(parts, reverse=True)
