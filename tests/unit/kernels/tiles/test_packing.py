"""Packed weights hold every number once, and products with them are the same."""

import numpy as np
import pytest

from daskdl.kernels.tiles.native import native
from daskdl.kernels.tiles.nest import Argument, Axis, Contraction, Program
from daskdl.kernels.tiles.packing import (
    Panels,
    packing,
    panel_products,
    panels_of,
    transposed_packing,
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


def packed(panels, statements, source):
    """Return what the statements write of an array."""
    out = np.full(source.size, np.nan, source.dtype)
    program = Program("float32", 2, statements(panels, Argument(0), Argument(1)))
    native(program)(source.ctypes.data, out.ctypes.data, 1)
    return out


@every_panels
def test_panels_lie_one_after_the_other(panels):
    out = packed(panels, packing, numbers(panels))
    np.testing.assert_array_equal(out, expected(panels))


@every_panels
def test_a_matrix_that_lies_transposed_is_packed_the_same(panels):
    transposed = np.ascontiguousarray(numbers(panels).T)
    out = packed(panels, transposed_packing, transposed)
    np.testing.assert_array_equal(out, expected(panels))


@every_panels
@pytest.mark.parametrize("start", ["zero", "sum"])
def test_products_with_panels_are_those_with_the_matrix(panels, start, rng):
    k, columns = panels.rows, panels.columns
    left = rng.integers(-9, 9, (6, k)).astype("f4")
    right, out = packed(panels, packing, numbers(panels)), np.ones((6, columns), "f4")
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
    native(program)(*(array.ctypes.data for array in (left, right, out)), 1)
    assert (out == left @ numbers(panels) + (start == "sum")).all()


def test_a_panel_is_as_wide_as_the_matrix_at_most():
    assert panels_of(7, 5, "f4") == Panels(7, 5, 5)
