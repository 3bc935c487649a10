"""The products of windows in register tiles against NumPy."""

from functools import partial

import numpy as np
import pytest

from daskdl.arrays.workspace import Workspace
from daskdl.kernels.tiles.machine import VECTOR_UNITS
from daskdl.kernels.tiles.usable import tiles_take
from daskdl.kernels.window import Window, window_axis
from daskdl.kernels.window_products import (
    cpu,
    outputs_to_windows,
    programs,
    remainder,
    windows_by_outputs,
    windows_to_outputs,
)
from daskdl.kernels.window_products.geometry import Geometry
from tests.memory import peak_bytes
from tests.pretend_cupy import pretend
from tests.unit.kernels.numpy_form import by_numpy
from tests.unit.kernels.windows import OTHER_AXES, WINDOWS, make_window


def window_of(sizes, kernel, stride=1, padding=0, dilation=1, mode="truncate"):
    return Window(
        *(
            window_axis(size, cells, stride, padding, dilation, mode)
            for size, cells in zip(sizes, kernel, strict=True)
        )
    )


TABLE = {name: make_window(name) for name in [*WINDOWS, *OTHER_AXES]}
TABLE |= {
    "series, causal": window_of((9,), (3,), dilation=2, mode="causal"),
    "series, causal, stride": window_of((9,), (2,), stride=2, mode="causal"),
    "padding larger than the kernel": window_of((4, 3), (2, 2), padding=4),
    "padding larger, stride": window_of((4, 5), (2, 1), stride=3, padding=3),
    "one cell, stride": window_of((7, 6), (1, 1), stride=2),
    "one cell, one output": window_of((1, 1), (1, 1)),
    "kernel larger than the image": window_of((2, 3), (5, 5), padding=2),
}
# Channels of input and output, and a window. Registers of every width have
# a rest in these, and some kernels are flipped and some are not.
CHANNELS = {
    "1 to 1": (1, 1, window_of((8, 7), (3, 3))),
    "1 to 20": (1, 20, window_of((12, 11), (5, 5))),
    "17 to 33": (17, 33, window_of((6, 5), (3, 3), padding=1)),
    "40 to 70": (40, 70, window_of((5, 4), (3, 3), mode="same")),
    "70 to 3": (70, 3, window_of((5, 4), (2, 2))),
    "16 to 32, stride": (16, 32, window_of((9, 8), (3, 3), stride=2, mode="same")),
    "5 to 24, many outputs": (5, 24, window_of((40, 31), (1, 2))),
    # A channel or two remainder.
    "20 to 50": (20, 50, window_of((12, 12), (5, 5))),
    "16 to 17, stride": (16, 17, window_of((13, 12), (3, 3), stride=2)),
    # Above 1 MiB: blocks of columns.
    "1100 to 250": (1100, 250, window_of((2, 3), (1, 1))),
    "60 to 530": (60, 530, window_of((4, 3), (3, 3), padding=1)),
}
PRODUCTS = ["to outputs", "rectified", "to windows", "by outputs"]

windows = pytest.mark.parametrize("window", TABLE.values(), ids=TABLE)
channels = pytest.mark.parametrize("case", CHANNELS.values(), ids=CHANNELS)
products = pytest.mark.parametrize("product", PRODUCTS)
# What NumPy multiplies by infinity may be 0.
meets_nan = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")


class Case:
    """Arrays of one window, and the three products as functions of a module."""

    def __init__(self, rng, window, n_in=3, n_out=5, batch=2, dtype="f8"):
        sizes = window.sizes
        self.window = window
        self.x = rng.standard_normal((batch, *sizes, n_in)).astype(dtype)
        self.outputs = rng.standard_normal((batch, *window.out, n_out)).astype(dtype)
        self.matrix = rng.standard_normal((window.n_cells * n_in, n_out)).astype(dtype)
        self.bias = rng.standard_normal(n_out).astype(dtype)
        self.workspace = Workspace()

    def products_of(self, product):
        """Return a function that computes a product into a new or given array."""
        window, workspace = self.window, self.workspace
        return {
            "to outputs": (
                partial(
                    windows_to_outputs,
                    self.x,
                    self.matrix,
                    self.bias,
                    window,
                    workspace,
                    rectifies=False,
                ),
                self.outputs,
            ),
            "rectified": (
                partial(
                    windows_to_outputs,
                    self.x,
                    self.matrix,
                    self.bias,
                    window,
                    workspace,
                    rectifies=True,
                ),
                self.outputs,
            ),
            "to windows": (
                partial(
                    outputs_to_windows,
                    self.outputs,
                    self.matrix,
                    window,
                    workspace,
                ),
                self.x,
            ),
            "by outputs": (
                partial(windows_by_outputs, self.x, self.outputs, window, workspace),
                self.matrix,
            ),
        }[product]

    def computed(self, product):
        """Return the product; what lies around it in memory must stay as it is."""
        function, like = self.products_of(product)
        around = np.full(like.size + 128, np.nan, like.dtype)
        out = around[64:-64].reshape(like.shape)
        function(out=out)
        assert np.isnan(around[:64]).all()
        assert np.isnan(around[-64:]).all()
        return out

    def n_products(self, product):
        """Return how many products are summed up in a number of the result."""
        n_images = len(self.x)
        n_windows = self.outputs[..., 0].size
        return {
            "to outputs": len(self.matrix),
            "rectified": len(self.matrix),
            "to windows": self.window.n_cells * self.outputs.shape[-1],
            "by outputs": n_windows if n_images else 1,
        }[product]


def assert_near(case, product, found, expected):
    """Compare to the largest number: single precision loses digits in long sums."""
    tolerance = 1e-12
    if found.dtype == np.float32:
        tolerance = 2e-6 * np.sqrt(case.n_products(product) / 100 + 1)
    atol = tolerance * np.abs(expected).max(initial=0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


@windows
@products
def test_double_precision_is_numpys(rng, window, product):
    case = Case(rng, window)
    expected = by_numpy(case.computed, product)
    assert_near(case, product, case.computed(product), expected)


# 19 channels are used here only: programs are kept by what they compute.
@windows
@pytest.mark.parametrize("product", ["to outputs", "rectified", "by outputs"])
@pytest.mark.parametrize("has_bias", [True, False])
def test_channels_that_are_done_apart_are_numpys(
    rng, monkeypatch, window, product, has_bias
):
    monkeypatch.setattr(remainder, "costs_less", lambda *_: True)
    case = Case(rng, window, n_out=19)
    if not has_bias:
        case.bias = None
    expected = by_numpy(case.computed, product)
    assert_near(case, product, case.computed(product), expected)
    assert programs.remaining_columns(Geometry(window, 3, 19, "float64"))


@channels
@products
def test_single_precision_is_numpys_to_rounding(rng, case, product):
    n_in, n_out, window = case
    case = Case(rng, window, n_in, n_out, dtype="f4")
    expected = by_numpy(case.computed, product)
    assert_near(case, product, case.computed(product), expected)


@products
def test_nothing_that_is_read_is_changed(rng, product):
    case = Case(rng, TABLE["same"])
    before = [array.copy() for array in (case.x, case.outputs, case.matrix, case.bias)]
    case.computed(product)
    after = [case.x, case.outputs, case.matrix, case.bias]
    for array, copy in zip(after, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_no_bias_adds_nothing(rng):
    case = Case(rng, TABLE["same"])
    case.bias = None
    expected = by_numpy(case.computed, "to outputs")
    assert_near(case, "to outputs", case.computed("to outputs"), expected)


@products
@pytest.mark.parametrize("name", ["same", "plain", "same, stride"])
def test_a_short_minibatch_finds_nothing_of_the_one_before(rng, product, name):
    whole = Case(rng, TABLE[name], batch=3)
    whole.computed(product)
    short = Case(rng, TABLE[name], batch=2)
    short.workspace = whole.workspace
    expected = by_numpy(short.computed, product)
    assert_near(short, product, short.computed(product), expected)


@meets_nan
@products
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["same", "plain", "same, stride", "dilation"])
def test_nan_and_infinity_go_where_they_do_in_numpy(rng, product, special, name):
    case = Case(rng, TABLE[name])
    case.x.flat[7] = case.outputs.flat[11] = special
    expected = by_numpy(case.computed, product)
    found = case.computed(product)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@meets_nan
@products
@pytest.mark.parametrize("special", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["same", "plain"])
def test_weights_that_are_not_finite_are_seen(rng, product, special, name):
    """Beside what NumPy makes of them, padding may become NaN times 0."""
    case = Case(rng, TABLE[name])
    case.matrix[4] = special
    expected = np.isfinite(by_numpy(case.computed, product))
    assert not (np.isfinite(case.computed(product)) & ~expected).any()


@pytest.fixture
def called(monkeypatch):
    """Return the names of the compiled functions that are called."""
    names = []

    def noted(function):
        def call(*args, **options):
            names.append(function.__name__)
            return function(*args, **options)

        return call

    for name in ("windows_to_outputs", "outputs_to_windows", "windows_by_outputs"):
        monkeypatch.setattr(cpu, name, noted(getattr(cpu, name)))
    return names


@products
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_contiguous_arrays_go_through_tiles(rng, called, product, dtype):
    case = Case(rng, TABLE["plain"], dtype=dtype)
    case.computed(product)
    assert len(called) == 1


@products
def test_numpy_is_used_where_it_is_asked_for(rng, called, monkeypatch, product):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", "numpy")
    case = Case(rng, TABLE["plain"])
    case.computed(product)
    assert called == []


@products
@pytest.mark.parametrize("name", ["x", "matrix", "bias"])
def test_views_are_read_as_they_are(rng, product, name):
    case = Case(rng, TABLE["same"])
    expected = by_numpy(case.computed, product)
    array = getattr(case, name)
    setattr(case, name, np.repeat(array, 2, axis=-1)[..., ::2])
    assert_near(case, product, case.computed(product), expected)


def test_the_gradient_of_images_may_be_written_to_a_view(rng):
    case = Case(rng, TABLE["same"])
    expected = by_numpy(case.computed, "to windows")
    out = np.full((*case.x.shape[:-1], 2 * case.x.shape[-1]), np.nan)[..., ::2]
    function, _ = case.products_of("to windows")
    function(out=out)
    assert_near(case, "to windows", out, expected)


@products
def test_half_precision_is_left_to_numpy(rng, called, product):
    case = Case(rng, TABLE["same"], dtype="f2")
    expected = by_numpy(case.computed, product)
    np.testing.assert_array_equal(case.computed(product), expected)
    assert called == []


@products
@pytest.mark.parametrize("name", ["same", "plain"])
def test_an_empty_minibatch_gives_what_numpy_gives(rng, called, product, name):
    case = Case(rng, TABLE[name], batch=0)
    expected = by_numpy(case.computed, product)
    np.testing.assert_array_equal(case.computed(product), expected)
    assert called == []


@pytest.mark.parametrize(
    "change",
    [
        pretend,
        lambda array: array.astype("f2"),
        lambda array: array.astype("i4"),
        lambda array: array.astype(">f4"),
        lambda array: array.astype("f8"),
        lambda array: array[:, ::2],
        lambda array: array.T,
        lambda array: array[:0],
        lambda array: array.view(np.matrix),
    ],
    ids=[
        "CuPy",
        "half",
        "int",
        "swapped",
        "mixed",
        "gaps",
        "transposed",
        "none",
        "matrix",
    ],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_tiles_leave_other_arrays_to_numpy(change):
    plain = np.zeros((4, 6), np.float32)
    assert not tiles_take(plain, change(plain))


@products
@pytest.mark.parametrize("name", ["same", "plain", "same, stride"])
def test_nothing_is_allocated_once_it_runs(rng, product, name):
    case = Case(rng, TABLE[name], n_in=16, n_out=24, batch=20)
    function, like = case.products_of(product)
    out = np.empty_like(like)
    # Views of the arrays, none of their numbers.
    assert peak_bytes(lambda: function(out=out)) < 6000


@pytest.mark.parametrize(
    ("name", "of_outputs", "of_weights"),
    [
        ("20 to 50", 2, 2),
        ("16 to 17, stride", 0, 1),
        ("1 to 20", 0, 0),
        ("70 to 3", 0, 0),
    ],
)
def test_a_few_channels_behind_full_registers_are_done_apart_where_it_pays(
    monkeypatch, name, of_outputs, of_weights
):
    monkeypatch.setattr(remainder, "vector_unit", lambda: VECTOR_UNITS["avx512f"])
    n_in, n_out, window = CHANNELS[name]
    geometry = Geometry(window, n_in, n_out, "float32")
    for found, expected in (
        (programs.remaining_channels, of_outputs),
        (programs.remaining_columns, of_weights),
    ):
        assert found.__wrapped__(geometry) == expected
