"""Compiled depthwise convolution against its NumPy twin."""

import tracemalloc

import numpy as np
import pytest

from daskdl.kernels.depthwise import depthwise_backward, depthwise_forward, reference
from daskdl.kernels.window import Window, window_axis
from tests.unit.kernels.windows import OTHER_AXES, WINDOWS, make_window

TABLE = {name: make_window(name) for name in [*WINDOWS, *OTHER_AXES]}
TABLE |= {
    "five cells": Window(*(window_axis(9, 5, 1, 0, 1, "same") for _ in range(2))),
    "more padding than kernel": Window(window_axis(4, 2, 1, 3, 1, "truncate")),
    "causal": Window(window_axis(7, 3, 1, 0, 2, "causal")),
    "only padding at the ends": Window(window_axis(2, 2, 2, 4, 1, "truncate")),
}
# Batch, channels, and kernels of each.
EXTENTS = [(2, 3, 1), (1, 1, 2), (3, 20, 3), (0, 4, 1), (2, 300, 1), (30, 1, 1)]

windows = pytest.mark.parametrize("window", TABLE.values(), ids=TABLE.keys())
extents = pytest.mark.parametrize(("batch", "n_in", "multiplier"), EXTENTS)
dtypes = pytest.mark.parametrize("dtype", ["f4", "f8"])
# Of the largest number.
TOLERANCE = {"f4": 1e-5, "f8": 1e-13}


def drawn(rng, window, batch, n_in, multiplier, dtype):
    """Return x, weights, bias and an array like the output."""
    sizes, kernel = ([getattr(a, n) for a in window.axes] for n in ("size", "kernel"))
    n_out = n_in * multiplier
    shapes = (
        (batch, *sizes, n_in),
        (*kernel, n_in, multiplier),
        (n_out,),
        (batch, *window.out, n_out),
    )
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def gradients(backward, grad_out, x, weight, window, workspace):
    found = [
        np.full(shape, np.nan, x.dtype)
        for shape in (weight.shape, grad_out.shape[-1:], x.shape)
    ]
    backward(grad_out, x, weight, window, workspace, found)
    return found


def compiled(grad_out, x, weight, window, workspace, found):
    names = ("grad_weight", "grad_bias", "grad_x")
    places = dict(zip(names, found, strict=True))
    depthwise_backward(grad_out, x, weight, window, workspace, **places)


def twin(grad_out, x, weight, window, workspace, found):
    reference.depthwise_backward(grad_out, x, weight, window, workspace, *found)


def assert_close(found, expected):
    scale = 1 + np.abs(expected).max(initial=0)
    tolerance = scale * TOLERANCE[found.dtype.str[1:]]
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@dtypes
@extents
@windows
def test_output_is_that_of_the_twin(
    rng, workspace, window, batch, n_in, multiplier, dtype
):
    *parts, out = drawn(rng, window, batch, n_in, multiplier, dtype)
    expected = np.empty_like(out)
    reference.depthwise_forward(*parts, window, workspace, expected)
    assert depthwise_forward(*parts, window, workspace, out=out) is out
    assert_close(out, expected)


@dtypes
@extents
@windows
def test_gradients_are_those_of_the_twin(
    rng, workspace, window, batch, n_in, multiplier, dtype
):
    x, weight, _, grad = drawn(rng, window, batch, n_in, multiplier, dtype)
    given = (grad, x, weight, window, workspace)
    for found, expected in zip(
        gradients(compiled, *given), gradients(twin, *given), strict=True
    ):
        assert_close(found, expected)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("special", [np.nan, np.inf])
@pytest.mark.parametrize("multiplier", [1, 2])
@windows
def test_what_is_not_finite_stays_so(rng, workspace, window, multiplier, special):
    x, weight, bias, out = drawn(rng, window, 2, 3, multiplier, "f4")
    grad, expected = rng.standard_normal((2, *out.shape)).astype("f4")
    x[rng.random(x.shape) < 0.1] = special
    depthwise_forward(x, weight, bias, window, workspace, out=out)
    reference.depthwise_forward(x, weight, bias, window, workspace, expected)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)
    given = (grad, x, weight, window, workspace)
    for found, expected in zip(
        gradients(compiled, *given), gradients(twin, *given), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("special", [np.nan, np.inf])
@windows
def test_gradients_that_are_not_finite_go_to_the_input(rng, workspace, window, special):
    x, weight, _, grad = drawn(rng, window, 2, 3, 1, "f4")
    grad[rng.random(grad.shape) < 0.1] = special
    given = (grad, x, weight, window, workspace)
    (of_weight, _, found), (of_twin, _, expected) = (
        gradients(backward, *given) for backward in (compiled, twin)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    # Zeros of the padding times infinity may be added to the weights' as NaN.
    assert not np.isfinite(of_weight[~np.isfinite(of_twin)]).any()


def test_sums_of_many_windows_keep_their_digits(rng, workspace):
    window = Window(*(window_axis(64, 3, 1, 0, 1, "same") for _ in range(2)))
    x, weight, _, grad = drawn(rng, window, 20, 256, 1, "f4")
    x, grad = np.abs(x), np.abs(grad)
    wide = [array.astype("f8") for array in (grad, x, weight)]
    of_weight, of_bias, _ = gradients(compiled, grad, x, weight, window, workspace)
    expected, of_bias_expected, _ = gradients(twin, *wide, window, workspace)
    np.testing.assert_allclose(of_weight, expected, rtol=2e-5)
    np.testing.assert_allclose(of_bias, of_bias_expected, rtol=2e-5)


@pytest.mark.parametrize("name", ["same", "same, stride"])
@pytest.mark.parametrize("multiplier", [1, 2])
def test_nothing_is_allocated_once_it_runs(rng, workspace, name, multiplier):
    window = TABLE[name]
    x, weight, bias, out = drawn(rng, window, 800, 16, multiplier, "f4")
    grad = out.copy()
    found = [np.empty_like(weight), np.empty_like(bias), np.empty_like(x)]

    def iterate():
        depthwise_forward(x, weight, bias, window, workspace, out=out)
        compiled(grad, x, weight, window, workspace, found)

    iterate()
    tracemalloc.start()
    try:
        iterate()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Views of the arrays, none of their numbers; sums of NumPy 2.0 take 32 KiB.
    assert peak < 40_000 < x.nbytes / 16
