import numpy as np
import pytest

from daskdl.kernels.capsules import (
    route_backward,
    route_forward,
    squash_backward,
    squash_forward,
    strength_backward,
    strength_forward,
)
from daskdl.kernels.capsules.routing import Routing
from tests.gradients import check_gradient
from tests.unit.kernels.naive import split

N_IN, BATCH, N_DIMENSIONS, CAPSULES, DIMENSIONS = 4, 3, 2, 3, 2


def squash(vector):
    square = float(vector @ vector)
    return vector * square / (1 + square) / np.sqrt(square + 1e-5)


def route(x, weight, bias, routings):
    """Route one example, capsule by capsule; `x` is (n_in, n_dimensions)."""
    matrices = weight.reshape(N_IN, CAPSULES, DIMENSIONS, N_DIMENSIONS)
    agreement = np.zeros((N_IN, CAPSULES))
    for _ in range(routings):
        outputs = []
        for capsule in range(CAPSULES):
            total = bias[capsule].copy()
            for below in range(N_IN):
                odds = np.exp(agreement[below])
                share = odds[capsule] / odds.sum()
                total += share * (matrices[below, capsule] @ x[below])
            outputs.append(squash(total))
        for below in range(N_IN):
            for capsule in range(CAPSULES):
                prediction = matrices[below, capsule] @ x[below]
                agreement[below, capsule] += prediction @ outputs[capsule]
    return np.stack(outputs)


def routing_of(routings, dtype="f8"):
    shape = (N_IN, BATCH, CAPSULES)
    return Routing(
        np.full((*shape, DIMENSIONS), np.nan, dtype),
        np.full((routings, *shape), np.nan, dtype),
        np.full((routings, BATCH, CAPSULES, DIMENSIONS), np.nan, dtype),
    )


def drawn(rng):
    return (
        rng.standard_normal((N_IN, BATCH, N_DIMENSIONS)),
        rng.standard_normal((N_IN, CAPSULES * DIMENSIONS, N_DIMENSIONS)),
        rng.standard_normal((CAPSULES, DIMENSIONS)),
    )


@pytest.mark.parametrize("routings", [1, 2, 4])
def test_routing_is_the_procedure_of_the_paper(rng, routings):
    x, weight, bias = drawn(rng)
    out = np.full((BATCH, CAPSULES, DIMENSIONS), np.nan)
    route_forward(x, weight, bias, routing_of(routings), out=out)
    expected = [route(x[:, i], weight, bias, routings) for i in range(BATCH)]
    np.testing.assert_allclose(out, expected, atol=1e-13)


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("routings", [1, 2, 3])
def test_gradients_go_through_every_iteration(rng, workspace, routings, has_bias):
    parts = drawn(rng)
    shapes = [part.shape for part in parts]
    target = rng.standard_normal((BATCH, CAPSULES, DIMENSIONS))

    def loss_and_grad(vector):
        x, weight, bias = split(vector, shapes)
        bias = bias if has_bias else None
        routing, out = routing_of(routings), np.empty(target.shape)
        route_forward(x, weight, bias, routing, out=out)
        grads = [np.full(shape, np.nan) for shape in shapes]
        if not has_bias:
            grads[2].fill(0)
        route_backward(
            target,
            x,
            weight,
            routing,
            workspace,
            grad_x=grads[0],
            grad_weight=grads[1],
            grad_bias=grads[2] if has_bias else None,
        )
        return float((out * target).sum()), np.concatenate([g.ravel() for g in grads])

    check_gradient(loss_and_grad, np.concatenate([part.ravel() for part in parts]))


def test_no_gradient_of_the_input_where_nobody_reads_it(rng, workspace):
    x, weight, bias = drawn(rng)
    routing, out = routing_of(2), np.empty((BATCH, CAPSULES, DIMENSIONS))
    route_forward(x, weight, bias, routing, out=out)
    grad_x = route_backward(
        out,
        x,
        weight,
        routing,
        workspace,
        grad_x=None,
        grad_weight=np.empty_like(weight),
        grad_bias=None,
    )
    assert grad_x is None


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_the_gradient_of_squash_is_a_central_difference(rng, scale):
    target = rng.standard_normal((5, 3))

    def loss_and_grad(vector):
        x = scale * vector.reshape(5, 3)
        out = squash_forward(x, out=np.empty_like(x))
        grad_x = squash_backward(target, x, grad_x=np.empty_like(x))
        return float((out * target).sum()), scale * grad_x.ravel()

    check_gradient(loss_and_grad, rng.standard_normal(15))


def test_squash_works_in_place(rng):
    x = rng.standard_normal((5, 3))
    expected = squash_forward(x, out=np.empty_like(x))
    assert squash_forward(x, out=x) is x
    np.testing.assert_array_equal(x, expected)


def test_a_vector_of_zeros_is_squashed_to_zeros():
    x = np.zeros((2, 3))
    np.testing.assert_array_equal(squash_forward(x, out=np.ones((2, 3))), x)


def test_the_gradient_of_a_length_is_a_central_difference(rng):
    target = rng.standard_normal((2, 3))

    def loss_and_grad(vector):
        x = vector.reshape(2, 4, 3)
        out = strength_forward(x, out=np.empty((2, 3)))
        grad_x = strength_backward(target, x, out, grad_x=np.empty_like(x))
        return float((out * target).sum()), grad_x.ravel()

    check_gradient(loss_and_grad, rng.standard_normal(24))


def test_strength_is_the_length_of_each_vector(rng):
    x = rng.standard_normal((2, 4, 3))
    out = strength_forward(x, out=np.empty((2, 3)))
    np.testing.assert_allclose(out, np.linalg.norm(x, axis=1), rtol=1e-14)


def test_a_vector_of_length_zero_has_gradient_zero():
    x, out = np.zeros((2, 4, 3)), np.zeros((2, 3))
    grad_x = strength_backward(np.ones((2, 3)), x, out, grad_x=np.full(x.shape, np.nan))
    np.testing.assert_array_equal(grad_x, x)
