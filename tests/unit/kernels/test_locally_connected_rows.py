"""Windows as rows, and back, compiled and by views."""

import math

import numpy as np
import pytest

from daskdl.kernels.locally_connected.rows import add_rows, gathered
from daskdl.kernels.window import Window, WindowAxis
from tests.memory import peak_bytes
from tests.unit.kernels.numpy_form import by_numpy
from tests.unit.kernels.windows import OTHER_AXES, WINDOWS, make_window

every_window = pytest.mark.parametrize("name", [*WINDOWS, *OTHER_AXES])
dtypes = pytest.mark.parametrize(("dtype", "rtol"), [("f4", 1e-6), ("f8", 1e-14)])
orders = pytest.mark.parametrize("by_column", [False, True])
batches = pytest.mark.parametrize("batch", [0, 1, 3])


def drawn(rng, window, batch, dtype):
    sizes = window.sizes
    x = rng.standard_normal((batch, *sizes, 5)).astype(dtype)
    flat = x.reshape(-1)
    flat[:1], flat[1:2] = np.nan, np.inf
    return x


@orders
@batches
@dtypes
@every_window
def test_rows_are_those_of_numpy(rng, workspace, name, dtype, rtol, batch, by_column):
    window = make_window(name)
    x = drawn(rng, window, batch, dtype)
    expected = by_numpy(gathered, x, window, workspace, by_column).copy()
    found = gathered(x, window, workspace, by_column)
    np.testing.assert_array_equal(found, expected)


@orders
@batches
@dtypes
@every_window
def test_sums_are_those_of_numpy(rng, workspace, name, dtype, rtol, batch, by_column):
    window = make_window(name)
    x = drawn(rng, window, batch, dtype)
    n_windows = math.prod(window.out)
    rows = rng.standard_normal((n_windows, batch, 5 * window.n_cells)).astype(dtype)
    rows.reshape(-1)[:1] = np.nan
    given = (rows, window, workspace, by_column)
    expected = by_numpy(add_rows, *given, out=np.full_like(x, 7))
    found = add_rows(*given, out=np.full_like(x, 7))
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=10 * rtol)


def test_nothing_of_size_is_allocated(rng, workspace):
    window = Window(WindowAxis(40, 3, 1, 1, 0, 38))
    x = rng.standard_normal((20, 40, 16))

    def step():
        rows = gathered(x, window, workspace, False)
        add_rows(rows, window, workspace, False, out=x)

    assert peak_bytes(step) < x.nbytes / 16
