"""What holds for every layer with a mask, checked over the same table."""

import re
from functools import partial

import numpy as np
import pytest

from daskdl.errors import ShapeError
from daskdl.nn.conf.input_type import Recurrent
from tests.gradients import check_gradient
from tests.unit.layers.cases import CASES, Alone, tried

# Without a mask another kernel may be at work, which sums up in another order.
assert_rounded_alike = partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-14)

every_layer = pytest.mark.parametrize("name", CASES)


def mask_of(case, kind):
    """Return a mask (3, time) or (3, 1); no series is dropped as a whole."""
    if case.n_masked == 1:
        return np.array([[1], [0], [1.0]])
    if kind == "ends":
        lengths = 1 + np.arange(3) % case.n_masked
        return (np.arange(case.n_masked) < lengths[:, None]).astype(float)
    mask = np.ones((3, case.n_masked))
    mask[0, 1::2] = 0
    mask[1, -2] = 0
    return mask


def dropped(alone, target):
    """Return a gradient of the output with 0 where the mask drops steps of it."""
    mask = alone.mask_behind
    is_series = isinstance(alone.layer.output_type, Recurrent)
    if mask is None or not is_series or mask.shape != target.shape[:2]:
        return target
    return target * mask[:, :, None]


def gradient_cases():
    for name, case in CASES.items():
        kinds = ["rows"] if case.n_masked == 1 else ["ends", "holes"]
        for kind in kinds:
            yield pytest.param(name, kind, id=f"{name}, {kind}")


@pytest.mark.parametrize(("name", "kind"), [*gradient_cases()])
def test_gradients_with_a_mask_are_central_differences(rng, name, kind):
    """Also of what the mask does not drop of the output, as losses leave it out."""
    alone = Alone(name)
    x, mask = alone.x(rng), mask_of(alone.case, kind)
    trained = alone.trained()
    n_trained = int(trained.sum())
    plain = alone.forward(x, mask=None).copy()
    target = rng.standard_normal(plain.shape)
    expected = alone.backward(target).copy(), alone.gradients.copy()
    if np.array_equal(alone.forward(x, mask=mask), plain):
        # Then the gradient is that without a mask, which the other test checks.
        np.testing.assert_equal((alone.backward(target), alone.gradients), expected)
        return
    target = dropped(alone, target)

    def loss(vector):
        alone.params[trained] = vector[:n_trained]
        given = vector[n_trained:].reshape(x.shape) if alone.answers_for_x else x
        output = alone.forward(given, mask=mask)
        return float((output * target).sum())

    def loss_and_grad(vector):
        value = loss(vector)
        grad_x = alone.backward(target)
        grads = alone.gradients[trained]
        if not alone.answers_for_x:
            return value, grads
        return value, np.concatenate([grads, grad_x.ravel()])

    start = alone.params[trained]
    if alone.answers_for_x:
        start = np.concatenate([start, x.ravel()])
    start = start + 0.1 * rng.standard_normal(start.size)
    check_gradient(loss_and_grad, start, loss=loss)


@every_layer
@pytest.mark.parametrize("training", [True, False])
def test_a_mask_that_keeps_everything_changes_no_output(rng, name, training):
    alone = Alone(name)
    x, ones = alone.x(rng), np.ones((3, alone.case.n_masked))
    plain = alone.forward(x, mask=None, training=training).copy()
    masked = alone.forward(x, mask=ones, training=training)
    assert_rounded_alike(masked, plain)


@every_layer
def test_a_mask_that_keeps_everything_changes_no_gradient(rng, name):
    plain, masked = Alone(name), Alone(name)
    x, ones = plain.x(rng), np.ones((3, plain.case.n_masked))
    grad_out = np.cos(plain.forward(x, mask=None))
    masked.forward(x, mask=ones)
    assert_rounded_alike(masked.backward(grad_out), plain.backward(grad_out))
    assert_rounded_alike(masked.gradients, plain.gradients)


@every_layer
def test_a_mask_is_not_changed(rng, name):
    alone = Alone(name)
    mask = mask_of(alone.case, "holes")
    before = mask.copy()
    alone.backward(np.ones_like(alone.forward(alone.x(rng), mask=mask)))
    np.testing.assert_array_equal(mask, before)


@every_layer
@pytest.mark.parametrize("shape", [(2, 4), (3, 9)])
def test_a_mask_of_another_shape_is_refused_or_not_looked_at(rng, name, shape):
    alone = Alone(name)
    x = alone.x(rng)
    expected = alone.forward(x, mask=None).copy()
    output = tried(lambda: alone.forward(x, mask=np.zeros(shape)), ShapeError)
    if isinstance(output, str):
        assert re.match(rf"\w+ 'me.*': .*mask.* got .*{re.escape(str(shape))}", output)
        return
    np.testing.assert_array_equal(output, expected)
