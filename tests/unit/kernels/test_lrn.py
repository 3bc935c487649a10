import numpy as np
import pytest

from daskdl.kernels.lrn import local_response_backward, local_response_forward
from tests.gradients import check_gradient

SHAPE = (2, 3, 2, 6)


def damped(x, workspace, *, half_width=1, k=1.5, alpha=0.4, beta=0.6):
    unit, out = np.full(x.shape, np.nan), np.full(x.shape, np.nan)
    local_response_forward(x, half_width, k, alpha, beta, workspace, unit=unit, out=out)
    return unit, out


@pytest.mark.parametrize("half_width", [0, 1, 2, 9])
def test_channels_are_damped_by_those_near(rng, workspace, half_width):
    x = rng.standard_normal(SHAPE)
    _, out = damped(x, workspace, half_width=half_width)
    for channel in range(6):
        near = slice(max(0, channel - half_width), channel + half_width + 1)
        unit = 1.5 + 0.4 * (x[..., near] ** 2).sum(axis=-1)
        expected = x[..., channel] * unit**-0.6
        np.testing.assert_allclose(out[..., channel], expected, rtol=1e-13)


def gradient(x, workspace, target, *, half_width, by_middle_unit=False):
    unit, out = damped(x, workspace, half_width=half_width)
    grad_x = local_response_backward(
        target,
        x,
        out,
        unit,
        half_width,
        0.4,
        0.6,
        workspace,
        grad_x=np.full(x.shape, np.nan),
        by_middle_unit=by_middle_unit,
    )
    return out, grad_x


@pytest.mark.parametrize("half_width", [0, 1, 2, 9])
def test_gradient_is_the_derivative(rng, workspace, half_width):
    target = rng.standard_normal(SHAPE)

    def loss_and_grad(vector):
        x = vector.reshape(SHAPE)
        out, grad_x = gradient(x, workspace, target, half_width=half_width)
        return float((out * target).sum()), grad_x.ravel()

    check_gradient(loss_and_grad, rng.standard_normal(SHAPE).ravel())


def test_gradient_by_the_middle_unit_is_no_derivative(rng, workspace):
    """It divides all of the sum by the unit of the channel itself."""
    x, target = rng.standard_normal(SHAPE), rng.standard_normal(SHAPE)
    _, grad_x = gradient(x, workspace, target, half_width=1, by_middle_unit=True)
    unit, out = damped(x, workspace)
    products = target * out
    near = products[..., 1] + products[..., 2] + products[..., 3]
    expected = target[..., 2] * unit[..., 2] ** -0.6
    expected -= 2 * 0.4 * 0.6 * x[..., 2] * near / unit[..., 2]
    np.testing.assert_allclose(grad_x[..., 2], expected, rtol=1e-12)
