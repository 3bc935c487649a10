import numpy as np
import pytest

from daskdl.kernels.cross_entropy import (
    cross_entropy_rows,
    softmax_gradient,
)
from tests.unit.kernels.numpy_form import by_numpy

LOW, HIGH = 1e-10, 1 - 1e-10
SHAPES = [(0, 3), (1, 1), (5, 3), (7, 77), (300, 10)]

shapes = pytest.mark.parametrize("shape", SHAPES)
dtypes = pytest.mark.parametrize(("dtype", "rtol"), [("f4", 2e-6), ("f8", 1e-14)])
LABELS = {
    "classes": lambda rng, rows, n: np.eye(n)[rng.integers(0, n, rows)],
    "weighted classes": lambda rng, rows, n: 3 * np.eye(n)[rng.integers(0, n, rows)],
    "shares": lambda rng, rows, n: rng.dirichlet(np.ones(n), rows),
    "some": lambda rng, rows, n: rng.integers(-1, 2, (rows, n)),
    "none": lambda rng, rows, n: np.zeros((rows, n)),
}


def outputs(rng, shape, dtype):
    p = rng.random(shape)
    p[rng.random(shape) < 0.2] = 0
    p[rng.random(shape) < 0.2] = 1
    return p.astype(dtype)


@dtypes
@shapes
@pytest.mark.parametrize("kind", LABELS)
def test_rows_are_those_of_numpy(rng, kind, shape, dtype, rtol):
    labels = LABELS[kind](rng, *shape).astype(dtype)
    output = outputs(rng, shape, dtype)
    expected = by_numpy(cross_entropy_rows, labels, output, LOW, HIGH)
    rows = cross_entropy_rows(labels, output, LOW, HIGH)
    largest = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(rows, expected, rtol=rtol, atol=rtol * largest)


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("column", [0, 1, 18])
def test_one_nan_makes_its_row_nan(rng, kind, column):
    labels, output = LABELS[kind](rng, 3, 19), outputs(rng, (3, 19), "f8")
    output[1, column] = np.nan
    rows = cross_entropy_rows(labels.astype("f8"), output, LOW, HIGH)
    np.testing.assert_array_equal(np.isnan(rows), [False, True, False])


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("high", [HIGH, np.inf])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("column", [0, 1, 18])
def test_infinite_outputs_count_as_in_numpy(rng, kind, column, value, high):
    labels, output = LABELS[kind](rng, 3, 19), outputs(rng, (3, 19), "f8")
    output[1, column] = value
    expected = by_numpy(cross_entropy_rows, labels, output, LOW, high)
    rows = cross_entropy_rows(labels.astype("f8"), output, LOW, high)
    np.testing.assert_allclose(rows, expected, rtol=1e-14)


def test_without_an_upper_limit_nothing_above_is_clipped():
    rows = cross_entropy_rows(np.array([[1.0]]), np.array([[np.e]]), 1e-300, np.inf)
    np.testing.assert_allclose(rows, [-1.0])


@dtypes
@shapes
@pytest.mark.parametrize("kind", LABELS)
def test_gradients_are_those_of_numpy(rng, kind, shape, dtype, rtol):
    labels = LABELS[kind](rng, *shape).astype(dtype)
    output = outputs(rng, shape, dtype)
    expected = by_numpy(softmax_gradient, labels, output, out=np.empty_like(output))
    out = softmax_gradient(labels, output, out=np.full_like(output, np.nan))
    np.testing.assert_allclose(out, expected, rtol=rtol, atol=shape[1] * rtol)


def test_classes_are_just_subtracted(rng):
    labels, output = np.eye(7)[[3, 0, 6]], rng.random((3, 7))
    expected = output - labels
    np.testing.assert_array_equal(
        softmax_gradient(labels, output, out=output), expected
    )
