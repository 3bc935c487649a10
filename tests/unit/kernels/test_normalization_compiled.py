"""Compiled batch normalization against NumPy, in rounding."""

import numpy as np
import pytest

from daskdl.kernels.normalization import (
    batch_norm_backward,
    batch_norm_forward,
    batch_norm_inference,
    batch_norm_inference_backward,
)
from tests.memory import peak_bytes
from tests.unit.kernels.numpy_form import by_numpy

EPS = 1e-3
# Shorter and longer than a strip, than a block of strips, with rows left over.
SHAPES = [
    (1, 1),
    (2, 1),
    (7, 3),
    (40, 20),
    (5000, 1),
    (4099, 3),
    (1031, 50),
    (3, 256),
    (37, 300),
    (0, 4),
]
shapes = pytest.mark.parametrize("shape", SHAPES)
# Of the largest number; NumPy adds thousands of float32 one by one.
dtypes = pytest.mark.parametrize(("dtype", "rtol"), [("f4", 3e-5), ("f8", 1e-12)])
quietly = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def numpy_forward(kernel, x, gamma, beta, kept, out, **options):
    """Run a forward pass of NumPy's; `kept` are mean and variance."""
    options |= {"mean": kept[0], "variance": kept[1], "out": out}
    by_numpy(kernel, x, gamma, beta, EPS, **options)


def numpy_backward(kernel, passed, gamma, kept, sums, grad_x, **options):
    """Run a backward pass of NumPy's; `passed` are the gradient and `x`."""
    options |= {"mean": kept[0], "variance": kept[1], "grad_x": grad_x}
    options |= {"grad_gamma": sums[0], "grad_beta": sums[1]}
    by_numpy(kernel, *passed, gamma, EPS, **options)


def close(actual, expected, rtol):
    largest = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=rtol * largest)


def drawn(rng, shape, dtype):
    x, grad = rng.standard_normal((2, *shape)).astype(dtype)
    gamma, beta = rng.random((2, shape[1])).astype(dtype)
    return x * 2 + 3, grad, gamma, beta


@quietly
@pytest.mark.parametrize("is_locked", [False, True])
@dtypes
@shapes
def test_forward_in_training_is_that_of_numpy(rng, shape, dtype, rtol, is_locked):
    x, _, gamma, beta = drawn(rng, shape, dtype)
    gamma, beta = (1.5, 0.5) if is_locked else (gamma, beta)
    out, expected = np.full((2, *shape), np.nan, dtype)
    kept, expected_kept = np.full((2, 2, shape[1]), np.nan, dtype)
    batch_norm_forward(x, gamma, beta, EPS, mean=kept[0], variance=kept[1], out=out)
    numpy_forward(batch_norm_forward, x, gamma, beta, expected_kept, expected)
    close(kept, expected_kept, rtol)
    close(out, expected, rtol)


@quietly
@pytest.mark.parametrize("is_locked", [False, True])
@dtypes
@shapes
def test_gradients_in_training_are_those_of_numpy(rng, shape, dtype, rtol, is_locked):
    x, grad, gamma, _ = drawn(rng, shape, dtype)
    gamma = 1.5 if is_locked else gamma
    mean, variance = x.mean(axis=0), x.var(axis=0)
    grad_x, expected = np.full((2, *shape), np.nan, dtype)
    sums, expected_sums = np.full((2, 2, shape[1]), np.nan, dtype)
    backward((grad, x), gamma, None, (mean, variance), grad_x, sums)
    numpy_backward(
        batch_norm_backward,
        (grad, x),
        gamma,
        (mean, variance),
        expected_sums,
        expected,
    )
    close(sums, expected_sums, rtol)
    close(grad_x, expected, rtol)


@dtypes
@shapes
def test_inference_and_its_gradients_are_those_of_numpy(rng, shape, dtype, rtol):
    x, grad, gamma, beta = drawn(rng, shape, dtype)
    mean, variance = rng.random((2, shape[1])).astype(dtype)
    out, expected = np.full((2, *shape), np.nan, dtype)
    batch_norm_inference(x, gamma, beta, EPS, mean=mean, variance=variance, out=out)
    kept = (mean, variance)
    numpy_forward(batch_norm_inference, x, gamma, beta, kept, expected)
    close(out, expected, rtol)
    sums, expected_sums = np.full((2, 2, shape[1]), np.nan, dtype)
    batch_norm_inference_backward(
        grad,
        x,
        gamma,
        EPS,
        mean=mean,
        variance=variance,
        grad_gamma=sums[0],
        grad_beta=sums[1],
        grad_x=out,
    )
    numpy_backward(
        batch_norm_inference_backward, (grad, x), gamma, kept, expected_sums, expected
    )
    close(sums, expected_sums, rtol)
    close(out, expected, rtol)


def backward(arrays, gamma, beta, kept, grad_x, sums):
    batch_norm_backward(
        *arrays,
        gamma,
        EPS,
        mean=kept[0],
        variance=kept[1],
        grad_gamma=sums[0],
        grad_beta=sums[1],
        grad_x=grad_x,
        rectified_beta=beta,
    )


@quietly
@pytest.mark.parametrize("is_scalar", [False, True])
@dtypes
@shapes
def test_what_is_rectified_is_that_of_numpy(rng, shape, dtype, rtol, is_scalar):
    x, grad, gamma, beta = drawn(rng, shape, dtype)
    gamma, beta = (-1.5, 0.5) if is_scalar else (gamma - 0.5, beta - 0.5)
    out, grad_x, expected = np.full((3, *shape), np.nan, dtype)
    kept, sums, expected_sums = np.full((3, 2, shape[1]), np.nan, dtype)
    options = {"mean": kept[0], "variance": kept[1], "rectifies": True}
    batch_norm_forward(x, gamma, beta, EPS, out=out, **options)
    # With the same statistics, so that both agree on what is above 0.
    numpy_forward(batch_norm_inference, x, gamma, beta, kept, expected, rectifies=True)
    np.testing.assert_array_equal(out, expected)
    backward((grad, x), gamma, beta, kept, grad_x, sums)
    numpy_backward(
        batch_norm_backward,
        (grad, x),
        gamma,
        kept,
        expected_sums,
        expected,
        rectified_beta=beta,
    )
    close(sums, expected_sums, rtol)
    close(grad_x, expected, rtol)


@quietly
@dtypes
@shapes
def test_a_rectified_gradient_counts_where_the_output_is_above_0(
    rng, shape, dtype, rtol
):
    x, grad, gamma, beta = drawn(rng, shape, dtype)
    out, grad_x, expected = np.full((3, *shape), np.nan, dtype)
    kept, sums, expected_sums = np.full((3, 2, shape[1]), np.nan, dtype)
    options = {"mean": kept[0], "variance": kept[1], "rectifies": True}
    batch_norm_forward(x, gamma, beta - 0.5, EPS, out=out, **options)
    backward((grad, x), gamma, beta - 0.5, kept, grad_x, sums)
    backward((grad * (out > 0), x), gamma, None, kept, expected, expected_sums)
    # To the last bit: what is above 0 is computed again, and must be the same.
    np.testing.assert_array_equal(sums, expected_sums)
    np.testing.assert_array_equal(grad_x, expected)


@dtypes
@shapes
def test_rectified_inference_is_that_of_numpy(rng, shape, dtype, rtol):
    x, _, gamma, beta = drawn(rng, shape, dtype)
    kept = rng.random((2, shape[1])).astype(dtype)
    out, expected = np.full((2, *shape), np.nan, dtype)
    options = {"mean": kept[0], "variance": kept[1], "rectifies": True}
    batch_norm_inference(x, gamma, beta - 3, EPS, out=out, **options)
    numpy_forward(
        batch_norm_inference, x, gamma, beta - 3, kept, expected, rectifies=True
    )
    close(out, expected, rtol)


@quietly
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rectified_columns_that_are_not_finite_are_those_of_numpy(rng, value):
    x, grad = rng.standard_normal((2, 503, 7))
    x[150, 2], grad[400, 4] = value, value
    out, grad_x, expected = np.full((3, *x.shape), 7.0)
    kept, sums, expected_sums = np.full((3, 2, 7), 7.0)
    options = {"mean": kept[0], "variance": kept[1], "rectifies": True}
    batch_norm_forward(x, 1.5, 0.5, EPS, out=out, **options)
    numpy_forward(batch_norm_inference, x, 1.5, 0.5, kept, expected, rectifies=True)
    np.testing.assert_array_equal(out, expected)
    backward((grad, x), 1.5, 0.5, kept, grad_x, sums)
    numpy_backward(
        batch_norm_backward,
        (grad, x),
        1.5,
        kept,
        expected_sums,
        expected,
        rectified_beta=0.5,
    )
    np.testing.assert_allclose(sums, expected_sums, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(grad_x, expected, rtol=1e-9, atol=1e-12)


@quietly
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 150, 5002])
def test_what_is_not_finite_stays_in_its_column(rng, value, row):
    x = rng.standard_normal((5003, 7))
    x[row, 2] = value
    out, expected = np.full((2, *x.shape), 7.0)
    kept, expected_kept = np.full((2, 2, 7), 7.0)
    batch_norm_forward(x, 1.5, 0.5, EPS, mean=kept[0], variance=kept[1], out=out)
    numpy_forward(batch_norm_forward, x, 1.5, 0.5, expected_kept, expected)
    np.testing.assert_allclose(kept, expected_kept, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mean", [1e3, 1e5])
def test_statistics_are_no_worse_than_numpys(rng, mean):
    x = (rng.standard_normal((40_000, 5)) + mean).astype("f4")
    kept, of_numpy = np.empty((2, 2, 5), "f4")
    out = np.empty_like(x)
    batch_norm_forward(x, 1.0, 0.0, EPS, mean=kept[0], variance=kept[1], out=out)
    numpy_forward(batch_norm_forward, x, 1.0, 0.0, of_numpy, out)
    exact = np.array([x.mean(axis=0, dtype="f8"), x.var(axis=0, dtype="f8")])
    assert np.abs(kept - exact).max() <= np.abs(of_numpy - exact).max()


@pytest.mark.parametrize("rectifies", [False, True])
def test_nothing_of_the_size_of_the_batch_is_allocated(rng, rectifies):
    x, grad = rng.standard_normal((2, 4000, 16))
    out, grad_x = np.empty_like(x), np.empty_like(x)
    gamma, beta, mean, variance, grad_gamma, grad_beta = np.ones((6, 16))
    kept = {"mean": mean, "variance": variance}

    def iterate():
        batch_norm_forward(x, gamma, beta, EPS, out=out, rectifies=rectifies, **kept)
        batch_norm_backward(
            grad,
            x,
            gamma,
            EPS,
            grad_gamma=grad_gamma,
            grad_beta=grad_beta,
            grad_x=grad_x,
            rectified_beta=beta if rectifies else None,
            **kept,
        )

    assert peak_bytes(iterate) < x.nbytes / 16
