"""Compiled depthwise convolution against NumPy."""

import itertools

import numpy as np
import pytest

from daskdl.kernels.depthwise import depthwise_backward, depthwise_forward
from daskdl.kernels.depthwise.geometry import (
    Geometry,
    boxes,
    indices_read,
    over_input,
    phases,
)
from daskdl.kernels.depthwise.sources import IMAGES, image_parts
from daskdl.kernels.window import Window, window_axis
from tests.memory import peak_bytes
from tests.unit.kernels.naive import coverage
from tests.unit.kernels.numpy_form import by_numpy
from tests.unit.kernels.windows import OTHER_AXES, WINDOWS, make_window

TABLE = {name: make_window(name) for name in [*WINDOWS, *OTHER_AXES]}
TABLE |= {
    "five cells": Window(*(window_axis(9, 5, 1, 0, 1, "same") for _ in range(2))),
    "more padding than kernel": Window(window_axis(4, 2, 1, 3, 1, "truncate")),
    "causal": Window(window_axis(7, 3, 1, 0, 2, "causal")),
    "only padding at the ends": Window(window_axis(2, 2, 2, 4, 1, "truncate")),
}
# With images so large that only slabs of them are copied.
LARGE = {
    "large": Window(*(window_axis(28, 3, 1, 0, 1, "same") for _ in range(2))),
    "large, stride": Window(
        window_axis(33, 3, 2, 1, 1, "truncate"), window_axis(40, 4, 3, 2, 1, "truncate")
    ),
    "large, dilation": Window(
        window_axis(48, 3, 2, 2, 2, "truncate"), window_axis(60, 2, 1, 0, 3, "same")
    ),
    "large series": Window(window_axis(50, 5, 1, 0, 1, "causal")),
    "large volume": Window(*(window_axis(18, 2, 1, 0, 1, "same") for _ in range(3))),
}
# Batch, channels, and kernels of each: columns are a line's, or a index's in whole
# vectors, or in vectors that are not full.
EXTENTS = [(2, 3, 1), (3, 20, 3), (2, 40, 1)]
OTHER_EXTENTS = [(1, 1, 2), (0, 4, 1), (2, 300, 1), (30, 1, 1), (2, 16, 2)]
CASES = {
    f"{name}, {batch} x {n_in} x {multiplier}": (window, batch, n_in, multiplier)
    for names, extents in (
        (TABLE, EXTENTS),
        (("same", "same, stride", "series"), OTHER_EXTENTS),
        (LARGE, [(1, 16, 1), (2, 13, 1)]),
    )
    for name in names
    for window in [(TABLE | LARGE)[name]]
    for batch, n_in, multiplier in extents
}

windows = pytest.mark.parametrize("window", TABLE.values(), ids=TABLE.keys())
every_window = pytest.mark.parametrize(
    "window", (TABLE | LARGE).values(), ids=TABLE | LARGE
)
cases = pytest.mark.parametrize(
    ("window", "batch", "n_in", "multiplier"), CASES.values(), ids=CASES
)
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


def backward_into(grad_out, x, weight, window, workspace, found):
    names = ("grad_weight", "grad_bias", "grad_x")
    written = dict(zip(names, found, strict=True))
    depthwise_backward(grad_out, x, weight, window, workspace, **written)


def numpy_backward_into(grad_out, x, weight, window, workspace, found):
    by_numpy(backward_into, grad_out, x, weight, window, workspace, found)


def assert_close(found, expected):
    scale = 1 + np.abs(expected).max(initial=0)
    tolerance = scale * TOLERANCE[found.dtype.str[1:]]
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@dtypes
@cases
def test_output_is_that_of_numpy(
    rng, workspace, window, batch, n_in, multiplier, dtype
):
    *parts, out = drawn(rng, window, batch, n_in, multiplier, dtype)
    expected = np.empty_like(out)
    by_numpy(depthwise_forward, *parts, window, workspace, out=expected)
    assert depthwise_forward(*parts, window, workspace, out=out) is out
    assert_close(out, expected)


@dtypes
@cases
def test_gradients_are_those_of_numpy(
    rng, workspace, window, batch, n_in, multiplier, dtype
):
    x, weight, _, grad = drawn(rng, window, batch, n_in, multiplier, dtype)
    given = (grad, x, weight, window, workspace)
    for found, expected in zip(
        gradients(backward_into, *given),
        gradients(numpy_backward_into, *given),
        strict=True,
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
    given = (x, weight, bias, window, workspace)
    by_numpy(depthwise_forward, *given, out=expected)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)
    given = (grad, x, weight, window, workspace)
    for found, expected in zip(
        gradients(backward_into, *given),
        gradients(numpy_backward_into, *given),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("special", [np.nan, np.inf])
@windows
def test_gradients_that_are_not_finite_go_to_the_input(rng, workspace, window, special):
    x, weight, _, grad = drawn(rng, window, 2, 3, 1, "f4")
    grad[rng.random(grad.shape) < 0.1] = special
    given = (grad, x, weight, window, workspace)
    (of_weight, _, found), (of_numpy, _, expected) = (
        gradients(backward, *given) for backward in (backward_into, numpy_backward_into)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    # Zeros of the padding times infinity may be added to the weights' as NaN.
    assert not np.isfinite(of_weight[~np.isfinite(of_numpy)]).any()


def test_sums_of_many_windows_keep_their_digits(rng, workspace):
    window = Window(*(window_axis(64, 3, 1, 0, 1, "same") for _ in range(2)))
    x, weight, _, grad = drawn(rng, window, 20, 256, 1, "f4")
    x, grad = np.abs(x), np.abs(grad)
    wide = [array.astype("f8") for array in (grad, x, weight)]
    of_weight, of_bias, _ = gradients(backward_into, grad, x, weight, window, workspace)
    expected, of_bias_expected, _ = gradients(
        numpy_backward_into, *wide, window, workspace
    )
    np.testing.assert_allclose(of_weight, expected, rtol=2e-5)
    np.testing.assert_allclose(of_bias, of_bias_expected, rtol=2e-5)


def met(slides):
    """Return every (positions, kernel cells, indices read)."""
    positions = itertools.product(*(range(slide.count) for slide in slides))
    cells = itertools.product(*(range(slide.n_cells) for slide in slides))
    return [
        (
            position,
            cell,
            tuple(
                slide.start + t * slide.step + k * slide.cell
                for slide, t, k in zip(slides, position, cell, strict=True)
            ),
        )
        for position, cell in itertools.product(positions, list(cells))
    ]


def lies_in(index, sizes):
    return all(0 <= at < size for at, size in zip(index, sizes, strict=True))


@every_window
def test_a_slide_over_the_input_meets_what_the_window_does(window):
    sizes = window.sizes
    found = met(list(map(over_input, window.axes)))
    assert sorted(coverage(window)) == [
        each for each in sorted(found) if lies_in(each[-1], sizes)
    ]


@every_window
def test_slides_over_the_windows_of_all_phases_meet_what_the_window_does(window):
    found = []
    for phase in itertools.product(*map(phases, window.axes)):
        for position, cell, index in met([each.slide for each in phase]):
            if lies_in(index, window.out):
                at = zip(position, phase, window.axes, strict=True)
                of_kernel = zip(cell, phase, strict=True)
                found.append(
                    (
                        index,
                        tuple(each.kernel + k * each.step for k, each in of_kernel),
                        tuple(each.first + t * axis.stride for t, each, axis in at),
                    )
                )
    assert sorted(found) == sorted(coverage(window))


@every_window
def test_boxes_hold_every_position_once(window):
    slides = list(map(over_input, window.axes))
    sizes = window.sizes
    positions = [
        position
        for box in boxes(slides, sizes)
        for position in itertools.product(*(range(*each) for each in box))
    ]
    every = itertools.product(*(range(slide.count) for slide in slides))
    assert sorted(positions) == list(every)


@every_window
def test_a_box_reads_all_that_lies_between_its_ends(window):
    slides = list(map(over_input, window.axes))
    for box in boxes(slides, window.sizes):
        read = [
            index
            for position, _, index in met(slides)
            if all(
                first <= t < stop
                for t, (first, stop) in zip(position, box, strict=True)
            )
        ]
        expected = [(min(axis), max(axis) + 1) for axis in zip(*read, strict=True)]
        assert list(indices_read(slides, box)) == expected


@pytest.mark.parametrize("window", LARGE.values(), ids=LARGE)
def test_most_of_a_large_image_is_read_where_it_is(window):
    geometry = Geometry(window, 16, 1, "float32")
    slide = list(map(over_input, window.axes))
    inner, *slabs = image_parts(geometry, slide, by_line=False)
    assert (inner.source.argument.number, inner.source.fill) == (IMAGES, ())
    assert slabs
    assert all(part.source.fill for part in slabs)


@pytest.mark.parametrize("name", ["same", "same, stride"])
@pytest.mark.parametrize("multiplier", [1, 2])
def test_nothing_is_allocated_once_it_runs(rng, workspace, name, multiplier):
    window = TABLE[name]
    x, weight, bias, out = drawn(rng, window, 800, 16, multiplier, "f4")
    grad = out.copy()
    found = [np.empty_like(weight), np.empty_like(bias), np.empty_like(x)]

    def iterate():
        depthwise_forward(x, weight, bias, window, workspace, out=out)
        backward_into(grad, x, weight, window, workspace, found)

    peak = peak_bytes(iterate)
    # Views of the arrays, none of their numbers; sums of NumPy 2.0 take 32 KiB.
    assert peak < 40_000 < x.nbytes / 16
