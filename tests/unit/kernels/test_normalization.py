import numpy as np
import pytest

from daskdl.kernels.layer_norm import layer_norm_backward, layer_norm_forward
from daskdl.kernels.normalization import (
    batch_norm_backward,
    batch_norm_forward,
    batch_norm_inference,
)
from tests.gradients import check_gradient

ROWS, N, EPS = 6, 3, 1e-3


def forward(x, gamma, beta):
    n = (x.shape[1],)
    kept = {"mean": np.empty(n, x.dtype), "variance": np.empty(n, x.dtype)}
    out = batch_norm_forward(x, gamma, beta, EPS, out=np.empty_like(x), **kept)
    return out, kept


def test_forward_is_the_formula(rng):
    x, gamma, beta = rng.random((ROWS, N)), rng.random(N), rng.random(N)
    expected = (x - x.mean(0)) / np.sqrt(x.var(0) + EPS) * gamma + beta
    np.testing.assert_allclose(forward(x, gamma, beta)[0], expected, rtol=1e-12)


def test_statistics_are_mean_and_biased_variance(rng):
    x = rng.random((ROWS, N))
    kept = forward(x, 1.0, 0.0)[1]
    np.testing.assert_allclose([kept["mean"], kept["variance"]], [x.mean(0), x.var(0)])


def test_inference_uses_the_statistics_it_is_given(rng):
    x, gamma, beta = rng.random((ROWS, N)), rng.random(N), rng.random(N)
    mean, variance = rng.random(N), rng.random(N)
    out = batch_norm_inference(
        x, gamma, beta, EPS, mean=mean, variance=variance, out=np.empty_like(x)
    )
    expected = (x - mean) / np.sqrt(variance + EPS) * gamma + beta
    np.testing.assert_allclose(out, expected, rtol=1e-12)


@pytest.mark.parametrize("is_locked", [True, False])
def test_gradients_are_central_differences(rng, is_locked):
    target = rng.standard_normal((ROWS, N))

    def loss_and_grad(vector):
        x = vector[: ROWS * N].reshape(ROWS, N)
        gamma, beta = (1.5, 0.5) if is_locked else vector[ROWS * N :].reshape(2, N)
        out, kept = forward(x, gamma, beta)
        grads = [np.full(shape, np.nan) for shape in ((ROWS, N), N, N)]
        batch_norm_backward(
            target,
            x,
            gamma,
            EPS,
            **kept,
            grad_x=grads[0],
            grad_gamma=grads[1],
            grad_beta=grads[2],
        )
        used = grads[:1] if is_locked else grads
        return float((out * target).sum()), np.concatenate([g.ravel() for g in used])

    size = ROWS * N + (0 if is_locked else 2 * N)
    check_gradient(loss_and_grad, rng.standard_normal(size))


def test_a_large_mean_does_not_cost_the_variance(rng):
    x = (rng.standard_normal((1000, 1)) + 1000).astype("f4")
    kept = forward(x, np.float32(1), np.float32(0))[1]
    assert kept["variance"][0] == pytest.approx(x.astype("f8").var(), rel=1e-3)


def layer_norm(x, gain):
    kept = {"deviation": np.empty((len(x), 1)), "normalized": np.empty_like(x)}
    return layer_norm_forward(x, gain, out=np.empty_like(x), **kept), kept


def test_layer_normalization_is_the_formula(rng):
    x, gain = rng.standard_normal((4, 5)) + 3, rng.random(5)
    centered = x - x.mean(axis=1, keepdims=True)
    expected = gain * centered / x.std(axis=1, keepdims=True)
    np.testing.assert_allclose(layer_norm(x, gain)[0], expected)


def test_a_row_of_equal_numbers_is_normalised_to_zero():
    np.testing.assert_array_equal(layer_norm(np.full((2, 3), 7.0), np.ones(3))[0], 0)


def test_and_has_no_gradient(rng):
    kept = layer_norm(np.full((2, 3), 7.0), np.ones(3))[1]
    grad_x = layer_norm_backward(
        rng.random((2, 3)),
        kept["normalized"],
        kept["deviation"],
        np.ones(3),
        grad_gain=np.empty(3),
        grad_x=np.empty((2, 3)),
    )
    np.testing.assert_array_equal(grad_x, 0)


def test_layer_normalization_works_in_place(rng):
    x, gain = rng.standard_normal((4, 5)), rng.random(5)
    expected = layer_norm(x, gain)[0]
    kept = {"deviation": np.empty((4, 1)), "normalized": np.empty_like(x)}
    np.testing.assert_array_equal(layer_norm_forward(x, gain, out=x, **kept), expected)


def test_gradients_of_layer_normalization_are_central_differences(rng):
    target = rng.standard_normal((4, 5))

    def loss_and_grad(vector):
        x, gain = vector[:20].reshape(4, 5), vector[20:]
        out, kept = layer_norm(x, gain)
        grad_gain, grad_x = np.empty(5), target.copy()
        layer_norm_backward(
            grad_x,
            kept["normalized"],
            kept["deviation"],
            gain,
            grad_gain=grad_gain,
            grad_x=grad_x,
        )
        return float((out * target).sum()), np.concatenate([grad_x.ravel(), grad_gain])

    check_gradient(loss_and_grad, rng.standard_normal(25))
