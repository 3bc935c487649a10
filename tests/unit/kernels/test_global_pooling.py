import numpy as np
import pytest

from daskdl.arrays.workspace import Workspace
from daskdl.kernels.global_pooling import (
    global_max_backward,
    global_max_forward,
    global_sum_backward,
    global_sum_forward,
)
from tests.gradients import check_gradient

SHAPE = (3, 5, 2)
MASK = np.array([[1, 1, 1, 1, 1], [0, 1, 1, 0, 0], [0, 0, 0, 0, 0]], float)
EXPECTED = {
    "sum": lambda x: x.sum(axis=0),
    "avg": lambda x: x.mean(axis=0),
    "pnorm": lambda x: (np.abs(x) ** 3).sum(axis=0) ** (1 / 3),
    "max": lambda x: x.max(axis=0),
}


def pooled(x, kind, mask):
    out = np.full((SHAPE[0], SHAPE[2]), np.nan)
    if kind == "max":
        winner = np.empty(out.shape, np.intp)
        return global_max_forward(x, mask, Workspace(), out=out, winner=winner), winner
    return global_sum_forward(x, kind, 3, mask, Workspace(), out=out), None


@pytest.mark.parametrize("is_masked", [True, False])
@pytest.mark.parametrize("kind", EXPECTED)
def test_forward_counts_what_the_mask_keeps(rng, kind, is_masked):
    x = rng.standard_normal(SHAPE)
    mask = MASK if is_masked else None
    out, _ = pooled(x, kind, mask)
    keep = MASK > 0 if is_masked else np.ones(SHAPE[:2], bool)
    expected = [
        EXPECTED[kind](example[kept]) if kept.any() else np.zeros(SHAPE[2])
        for example, kept in zip(x, keep, strict=True)
    ]
    np.testing.assert_allclose(out, expected, atol=1e-13)


@pytest.mark.parametrize("is_masked", [True, False])
@pytest.mark.parametrize("kind", EXPECTED)
def test_gradients_are_central_differences(rng, kind, is_masked):
    mask = MASK if is_masked else None
    target = rng.standard_normal((SHAPE[0], SHAPE[2]))

    def loss_and_grad(vector):
        x = vector.reshape(SHAPE)
        out, winner = pooled(x, kind, mask)
        grad_x = np.full(SHAPE, np.nan)
        if kind == "max":
            global_max_backward(target, winner, mask, grad_x=grad_x)
        else:
            global_sum_backward(
                target, x, out, kind, 3, mask, Workspace(), grad_x=grad_x
            )
        return float((out * target).sum()), grad_x.ravel()

    check_gradient(loss_and_grad, rng.standard_normal(SHAPE).ravel())


def test_the_first_of_equal_values_gets_the_gradient():
    x = np.ones(SHAPE)
    out, winner = pooled(x, "max", None)
    grad_x = global_max_backward(out, winner, None, grad_x=np.empty(SHAPE))
    np.testing.assert_array_equal(grad_x[:, 0], np.ones((3, 2)))
    assert grad_x.sum() == 6


def test_the_pnorm_of_zeros_has_gradient_zero():
    x = np.zeros(SHAPE)
    out, _ = pooled(x, "pnorm", None)
    grad_x = global_sum_backward(
        np.ones(out.shape),
        x,
        out,
        "pnorm",
        3,
        None,
        Workspace(),
        grad_x=np.empty(SHAPE),
    )
    np.testing.assert_array_equal(grad_x, 0)
