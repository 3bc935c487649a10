"""Packed weights hold every number once, and products with them are the same."""

import numpy as np
import pytest

from daskdl.kernels.tiles.native import native
from daskdl.kernels.tiles.nest import Argument, Axis, Contraction, Program
from daskdl.kernels.tiles.packing import (
    Panels,
    pack,
    packing,
    panel_products,
    panels_of,
)

every_panels = pytest.mark.parametrize(
    "panels", [Panels(3, 8, 4), Panels(5, 11, 4), Panels(2, 3, 3), Panels(1, 7, 6)]
)


def numbers(panels):
    return np.arange(panels.rows * panels.columns, dtype="f4").reshape(panels.rows, -1)


def expected(panels):
    """Return panel after panel, each one row by row."""
    cuts = range(panels.width, panels.columns, panels.width)
    parts = np.split(numbers(panels), cuts, axis=1)
    return np.concatenate([part.ravel() for part in parts])


@every_panels
def test_panels_lie_one_after_the_other(panels):
    out = np.full((panels.rows, panels.columns), np.nan, "f4")
    assert pack(numbers(panels), panels, out) is out
    np.testing.assert_array_equal(out.ravel(), expected(panels))


@every_panels
def test_a_transposed_matrix_is_packed_from_where_it_lies(panels):
    turned = np.ascontiguousarray(numbers(panels).T)
    out = pack(turned.T, panels, np.empty_like(turned))
    np.testing.assert_array_equal(out.ravel(), expected(panels))


@every_panels
def test_a_program_packs_like_numpy(panels):
    matrix, out = numbers(panels), np.full_like(numbers(panels), np.nan)
    program = Program("float32", 2, packing(panels, Argument(0), Argument(1)))
    native(program)(matrix.ctypes.data, out.ctypes.data, 1)
    np.testing.assert_array_equal(out.ravel(), expected(panels))


@every_panels
@pytest.mark.parametrize("start", ["zero", "sum"])
def test_products_with_panels_are_those_with_the_matrix(panels, start, rng):
    k, columns = panels.rows, panels.columns
    left = rng.integers(-9, 9, (6, k)).astype("f4")
    packed = pack(numbers(panels), panels, np.empty((k, columns), "f4"))
    out = np.ones((6, columns), "f4")
    product = Contraction(
        Argument(0),
        Argument(1),
        Argument(2),
        (Axis(1), Axis(6, a=k, c=columns)),
        columns,
        (Axis(k, a=1, b=columns),),
        start=start,
    )
    program = Program("float32", 3, panel_products(product, panels))
    native(program)(*(array.ctypes.data for array in (left, packed, out)), 1)
    assert (out == left @ numbers(panels) + (start == "sum")).all()


def test_a_panel_is_as_wide_as_the_matrix_at_most():
    assert panels_of(7, 5, "f4") == Panels(7, 5, 5)
