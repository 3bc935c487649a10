import numpy as np
import pytest

from daskdl.kernels.dense import dense_backward, dense_forward
from tests.gradients import check_gradient
from tests.unit.kernels.naive import split
from tests.unit.kernels.numpy_form import by_numpy


@pytest.mark.parametrize("has_bias", [True, False])
def test_forward_is_a_product_plus_bias(rng, has_bias):
    x, weight, bias = rng.random((5, 3)), rng.random((3, 4)), rng.random(4)
    expected = np.einsum("ri,io->ro", x, weight) + (bias if has_bias else 0)
    out = dense_forward(x, weight, bias if has_bias else None, out=np.empty((5, 4)))
    np.testing.assert_allclose(out, expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("rectifies", [True, False])
@pytest.mark.parametrize("has_bias", [True, False])
def test_compiled_code_gives_the_numbers_of_numpy(rng, has_bias, rectifies, dtype):
    x, weight, bias = (
        rng.standard_normal(shape).astype(dtype) for shape in ((5, 3), (3, 9), (9,))
    )
    bias[:2] = np.nan, -np.inf
    how = x, weight, bias if has_bias else None
    expected = np.empty((5, 9), dtype)
    by_numpy(dense_forward, *how, rectifies=rectifies, out=expected)
    out = dense_forward(*how, rectifies=rectifies, out=np.empty_like(expected))
    np.testing.assert_array_equal(out, expected)
    assert bool((out < 0).any()) != rectifies


def test_gradients_are_central_differences(rng):
    shapes = [(5, 3), (3, 4), (4,)]
    target = rng.standard_normal((5, 4))

    def loss_and_grad(vector):
        x, weight, bias = split(vector, shapes)
        out = dense_forward(x, weight, bias, out=np.empty((5, 4)))
        grads = [np.full(shape, np.nan) for shape in shapes]
        dense_backward(
            target,
            x,
            weight,
            grad_x=grads[0],
            grad_weight=grads[1],
            grad_bias=grads[2],
        )
        return float((out * target).sum()), np.concatenate([g.ravel() for g in grads])

    check_gradient(loss_and_grad, rng.standard_normal(15 + 12 + 4))


def test_the_gradient_of_x_needs_no_other(rng):
    x, weight, grad = rng.random((5, 3)), rng.random((3, 4)), rng.random((5, 4))
    found = dense_backward(
        grad, x, weight, grad_weight=None, grad_bias=None, grad_x=np.empty((5, 3))
    )
    np.testing.assert_allclose(found, np.einsum("ro,io->ri", grad, weight))
