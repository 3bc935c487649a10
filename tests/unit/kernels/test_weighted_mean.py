"""A step from one vector towards another: compiled as NumPy has it, to the bit."""

import numpy as np
import pytest

from daskdl.kernels.weighted_mean import add_share
from tests.unit.kernels.numpy_form import by_numpy


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 31, 40_000])
def test_both_forms_round_alike(dtype, n, rng):
    base, vector, origin = rng.standard_normal((3, n)).astype(dtype)
    weight = base.dtype.type(0.3)
    expected = base + (vector - origin) * weight
    for call in (add_share, lambda *a, **k: by_numpy(add_share, *a, **k)):
        out = np.full(n, np.nan, dtype)
        assert call(base, vector, origin, weight, out=out) is out
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    "call", [add_share, lambda *a, **k: by_numpy(add_share, *a, **k)]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("is_from_base", "written"), [(False, "base"), (True, "base"), (True, "vector")]
)
def test_what_is_read_may_be_written(dtype, is_from_base, written, call, rng):
    base, vector, origin = rng.standard_normal((3, 40_000)).astype(dtype)
    if is_from_base:
        origin = base
    weight = base.dtype.type(0.3)
    expected = base + (vector - origin) * weight
    # Another view of the same elements, as of what was cut.
    out = (base if written == "base" else vector)[:]
    assert call(base, vector, origin, weight, out=out) is out
    np.testing.assert_array_equal(base if written == "base" else vector, expected)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "call", [add_share, lambda *a, **k: by_numpy(add_share, *a, **k)]
)
def test_what_is_infinite_stays_so_without_a_warning(call):
    infinite = np.array([np.inf, 1.0])
    out = call(infinite, infinite, infinite, np.float64(0.5), out=np.empty(2))
    np.testing.assert_array_equal(out, [np.nan, 1.0])
