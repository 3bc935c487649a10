import numpy as np
import pytest

from daskdl.kernels.dense import dense_backward, dense_forward
from tests.gradients import check_gradient
from tests.unit.kernels.naive import split


@pytest.mark.parametrize("has_bias", [True, False])
def test_forward_is_a_product_plus_bias(rng, has_bias):
    x, weight, bias = rng.random((5, 3)), rng.random((3, 4)), rng.random(4)
    expected = np.einsum("ri,io->ro", x, weight) + (bias if has_bias else 0)
    out = dense_forward(x, weight, bias if has_bias else None, out=np.empty((5, 4)))
    np.testing.assert_allclose(out, expected, rtol=1e-14)


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
