"""What holds for every layer, checked over one table.

Beside it: `test_contract_configurations.py`, `test_contract_masks.py` and
`test_contract_states.py`.
"""

import numpy as np
import pytest

from daskdl.errors import OptionError, ShapeError
from daskdl.nn.layers.table import LAYERS
from tests.gradients import check_gradient
from tests.memory import kept_bytes
from tests.unit.layers.cases import CASES, OUTPUTS, Alone, labels_of

# An iteration may leave lists of indices behind, a number for each example, and some
# views; an array of a row for each example is more than this.
KEPT_BYTES, MANY = 8192, 400

every_layer = pytest.mark.parametrize("name", CASES)


def test_the_table_has_every_kind_of_layer():
    missing = set(LAYERS) - {type(case.conf) for case in CASES.values()}
    assert sorted(kind.__name__ for kind in missing) == []


@every_layer
def test_output_has_the_shape_that_the_configuration_says(rng, name):
    alone = Alone(name)
    assert alone.forward(alone.x(rng)).shape == alone.out_shape()


@every_layer
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_output_and_gradient_keep_the_dtype(rng, name, dtype):
    alone = Alone(name, dtype=dtype)
    output = alone.forward(alone.x(rng))
    assert output.dtype == dtype
    assert alone.backward(np.ones_like(output)).dtype == dtype


@every_layer
def test_inference_keeps_float32(rng, name):
    alone = Alone(name, dtype="f4")
    assert alone.forward(alone.x(rng), training=False).dtype == np.float32


@every_layer
def test_the_same_numbers_come_out_every_time(rng, name):
    x = Alone(name).x(rng)
    first, second = [one_iteration(Alone(name), x) for _ in range(2)]
    np.testing.assert_equal(first, second)


def one_iteration(alone, x):
    """Return copies of output and gradients."""
    output = alone.forward(x).copy()
    grad_x = alone.backward(np.cos(output)).copy()
    return output, grad_x, alone.gradients.copy()


@every_layer
def test_gradients_are_central_differences(rng, name):
    alone = Alone(name)
    x = alone.x(rng)
    trained = alone.trained()
    n_trained = int(trained.sum())
    target = rng.standard_normal(alone.out_shape())

    def loss(vector):
        alone.params[trained] = vector[:n_trained]
        given = vector[n_trained:].reshape(x.shape) if alone.answers_for_x else x
        return float((alone.forward(given) * target).sum())

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
def test_backward_overwrites_its_gradients(rng, name):
    x = Alone(name).x(rng)
    # A pass back may write over what it has read: each has a pass there of its own.
    zeros, sevens = Alone(name), Alone(name)
    for alone, number in ((zeros, 0), (sevens, 7)):
        output = alone.forward(x)
        alone.gradients.fill(number)
        alone.backward(np.ones_like(output))
    np.testing.assert_array_equal(sevens.gradients, zeros.gradients)


@every_layer
def test_backward_writes_every_gradient(rng, name):
    alone = Alone(name)
    output = alone.forward(alone.x(rng))
    alone.backward(np.ones_like(output))
    assert np.isfinite(alone.gradients).all()


@every_layer
def test_gradients_of_parameters_need_no_gradient_of_the_input(rng, name):
    """A layer with parameters whose input nobody asks about does not answer."""
    asked, unasked = Alone(name), Alone(name)
    unasked.layer.run.needs_grad_x = False
    x, grad_out = asked.x(rng), rng.standard_normal(asked.out_shape())
    for alone in (asked, unasked):
        alone.forward(x)
        grad_x = alone.backward(grad_out)
    np.testing.assert_array_equal(unasked.gradients, asked.gradients)
    assert grad_x is None or not unasked.layer.run.params


@every_layer
def test_what_is_given_is_not_changed(rng, name):
    alone = Alone(name)
    x, grad_out = alone.x(rng), rng.standard_normal(alone.out_shape())
    x_before, grad_before = x.copy(), grad_out.copy()
    params_before = alone.params.copy()
    alone.forward(x)
    alone.backward(grad_out)
    np.testing.assert_array_equal(x, x_before)
    np.testing.assert_array_equal(grad_out, grad_before)
    np.testing.assert_array_equal(alone.params, params_before)


@every_layer
def test_examples_do_not_depend_on_the_batch_in_inference(rng, name):
    alone = Alone(name)
    x = alone.x(rng, batch=5)
    whole = alone.by_example(alone.forward(x, training=False).copy(), 5)
    part = alone.by_example(alone.forward(x[:2], training=False), 2)
    np.testing.assert_allclose(part, whole[:2], rtol=1e-12, atol=1e-12)


@every_layer
@pytest.mark.parametrize("sizes", [(4, 2), (2, 4)])
def test_a_batch_of_another_size_works(rng, name, sizes):
    alone, fresh = Alone(name), Alone(name)
    for size in sizes:
        x = alone.x(rng, batch=size)
        output = alone.forward(x)
        grad_x = alone.backward(np.ones_like(output))
    expected = fresh.forward(x)
    np.testing.assert_allclose(output, expected, rtol=1e-12, atol=1e-12)
    expected_grad = fresh.backward(np.ones_like(expected))
    np.testing.assert_allclose(grad_x, expected_grad, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(alone.gradients, fresh.gradients, rtol=1e-12, atol=1e-9)


@every_layer
def test_the_workspace_does_not_grow_after_the_first_iteration(rng, name):
    alone = Alone(name)
    sizes = []
    for batch in (4, 4, 2, 4):
        output = alone.forward(alone.x(rng, batch))
        alone.backward(np.ones_like(output))
        sizes.append(alone.workspace.nbytes)
    assert len(set(sizes)) == 1


@every_layer
def test_nothing_lives_on_that_the_second_iteration_allocates(rng, name):
    alone = Alone(name)
    x, mask = alone.x(rng, MANY), alone.mask(MANY)
    grad_out = np.ones_like(alone.forward(x, mask=mask))
    alone.backward(grad_out)

    def iterate():
        alone.forward(x, mask=mask)
        alone.backward(grad_out)

    assert kept_bytes(iterate) < KEPT_BYTES


@pytest.mark.parametrize("name", OUTPUTS)
def test_nothing_lives_on_that_the_loss_allocates(rng, name):
    alone = Alone(name)
    x, labels = alone.x(rng, MANY), labels_of(rng, alone, MANY)

    def iterate():
        alone.forward(x)
        alone.layer.loss.score(labels)
        alone.backward_loss(labels)

    assert kept_bytes(iterate) < KEPT_BYTES


@every_layer
def test_an_input_of_another_shape_is_refused(rng, name):
    alone = Alone(name)
    x = alone.x(rng)
    with pytest.raises(ShapeError, match=r"'me': x must have shape \(batch, .*got \("):
        alone.forward(np.concatenate([x, x], axis=-1))


@every_layer
def test_an_input_of_another_rank_is_refused(rng, name):
    alone = Alone(name)
    with pytest.raises(ShapeError, match=r"'me': x must have shape \(batch, .*got \("):
        alone.forward(alone.x(rng)[0])


class NoRandomNumbers:
    """A generator that nobody may ask for anything."""

    def __getattr__(self, name):
        raise AssertionError(f"inference drew random numbers: {name}")


@every_layer
def test_inference_draws_no_random_numbers(rng, name):
    alone = Alone(name)
    x = alone.x(rng)
    output = alone.layer.forward(
        x, training=False, mask=None, rng=NoRandomNumbers(), batch_size=len(x)
    )
    assert np.isfinite(output).all()


@every_layer
def test_inference_needs_no_generator(rng, name):
    alone = Alone(name)
    x = alone.x(rng)
    output = alone.layer.forward(
        x, training=False, mask=None, rng=None, batch_size=len(x)
    )
    assert np.isfinite(output).all()


DRAWING = [name for name in CASES if Alone(name).layer.conf.draws_random_numbers]


@pytest.mark.parametrize("name", DRAWING)
def test_training_without_a_generator_is_refused(rng, name):
    alone = Alone(name)
    with pytest.raises(OptionError, match=r"'me.*': training needs a random generator"):
        alone.layer.forward(
            alone.x(rng), training=True, mask=None, rng=None, batch_size=3
        )


@pytest.mark.parametrize("name", [name for name in CASES if name not in DRAWING])
def test_a_layer_that_draws_nothing_needs_no_generator(rng, name):
    alone = Alone(name)
    output = alone.layer.forward(
        alone.x(rng), training=True, mask=None, rng=NoRandomNumbers(), batch_size=3
    )
    assert np.isfinite(output).all()
