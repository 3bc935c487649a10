"""Batch normalization in CUDA C, run on this machine, against NumPy in float64."""

import numpy as np
import pytest

from daskdl.kernels.cuda.columns import sum_rows
from daskdl.kernels.normalization import (
    batch_norm_backward,
    batch_norm_forward,
    batch_norm_inference,
    batch_norm_inference_backward,
)
from tests.cuda_on_host import on_device
from tests.pretend_cupy import plain
from tests.unit.kernels.numpy_form import by_numpy

EPS = 1e-3
SHAPES = [(1, 1), (2, 1), (9, 3), (4200, 1), (700, 33), (70, 300), (1500, 64)]
shapes = pytest.mark.parametrize("shape", SHAPES)
dtypes = pytest.mark.parametrize(("dtype", "rtol"), [("f4", 1e-5), ("f8", 1e-12)])
pytestmark = pytest.mark.usefixtures("cuda_on_host")


def close(actual, expected, rtol):
    largest = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(plain(actual), expected, rtol=0, atol=rtol * largest)


def both(rng, dtype, *shapes):
    """Return arrays in float64 for NumPy, and the same for the device."""
    given = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    return [a.astype("f8") for a in given], [on_device(a) for a in given]


def empty(count, like, dtype):
    return [np.full(like, np.nan, dtype) for _ in range(count)]


@shapes
@dtypes
@pytest.mark.parametrize("rectifies", [False, True])
def test_the_forward_pass(rng, shape, dtype, rtol, rectifies):
    (x, gamma, beta), given = both(rng, dtype, shape, shape[1], shape[1])
    given[0] += 100
    x = plain(given[0]).astype("f8")
    results = []
    for arrays, of in (((x, gamma, beta), "f8"), (given, dtype)):
        mean, variance = empty(2, shape[1], of)
        out = np.empty(shape, of)
        if of is dtype and arrays is given:
            mean, variance, out = map(on_device, (mean, variance, out))
        options = {"mean": mean, "variance": variance, "out": out}
        by_numpy(batch_norm_forward, *arrays, EPS, rectifies=rectifies, **options)
        results.append((mean, variance, out))
    for actual, expected in zip(results[1], results[0], strict=True):
        close(actual, expected, rtol)


@shapes
@dtypes
@pytest.mark.parametrize("is_locked", [False, True])
def test_inference(rng, shape, dtype, rtol, is_locked):
    arrays, given = both(rng, dtype, shape, *[shape[1]] * 4)
    arrays[4][:], given[4][:] = arrays[4] ** 2, given[4] ** 2
    results = []
    for x, gamma, beta, mean, variance in (arrays, given):
        out = np.empty_like(plain(x))
        out = out if x is arrays[0] else on_device(out)
        scale = (1.5, 0.25) if is_locked else (gamma, beta)
        options = {"mean": mean, "variance": variance, "out": out}
        by_numpy(batch_norm_inference, x, *scale, EPS, rectifies=True, **options)
        results.append(out)
    close(results[1], results[0], rtol)


@shapes
@dtypes
@pytest.mark.parametrize("kind", ["plain", "rectified", "inference"])
def test_the_backward_pass(rng, shape, dtype, rtol, kind):
    arrays, given = both(rng, dtype, shape, shape, *[shape[1]] * 4)
    arrays[5][:], given[5][:] = arrays[5] ** 2 + 0.5, given[5] ** 2 + 0.5
    results = []
    for grad, x, gamma, beta, mean, variance in (arrays, given):
        made = empty(2, shape[1], x.dtype) + empty(1, shape, x.dtype)
        if x is not arrays[1]:
            made = [on_device(array) for array in made]
        options = {"mean": mean, "variance": variance}
        options |= dict(zip(("grad_gamma", "grad_beta", "grad_x"), made, strict=True))
        kernel = batch_norm_backward
        if kind == "rectified":
            options["rectified_beta"] = beta
        elif kind == "inference":
            kernel = batch_norm_inference_backward
        by_numpy(kernel, grad, x, gamma, EPS, **options)
        results.append(made)
    for actual, expected in zip(results[1], results[0], strict=True):
        close(actual, expected, rtol * 3)


def test_not_a_number_stays_in_its_column(rng):
    x = on_device(rng.standard_normal((900, 40)).astype("f4"))
    x[700, 7] = np.nan
    mean, variance, out = (on_device(np.zeros(n, "f4")) for n in (40, 40, (900, 40)))
    options = {"mean": mean, "variance": variance, "out": out, "rectifies": True}
    batch_norm_forward(x, 1.0, 0.0, EPS, **options)
    is_lost = np.isnan(plain(out))
    assert is_lost[:, 7].all()
    assert is_lost.sum() == 900


@shapes
@dtypes
def test_sums_of_rows(rng, shape, dtype, rtol):
    (x,), (given,) = both(rng, dtype, shape)
    out = sum_rows(given, out=on_device(np.empty(shape[1], dtype)))
    close(out, x.sum(axis=0), rtol)
