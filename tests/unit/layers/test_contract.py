"""What holds for every layer, checked over one table."""

import numpy as np
import pytest

from daskdl.errors import OptionError, ShapeError
from daskdl.nn.layers.table import LAYERS
from tests.gradients import check_gradient
from tests.unit.layers.cases import CASES, Alone

every_layer = pytest.mark.parametrize("name", CASES)


def test_the_table_has_every_kind_of_layer():
    assert {type(case.conf) for case in CASES.values()} == set(LAYERS)


@every_layer
def test_output_has_the_shape_that_the_configuration_says(rng, name):
    alone = Alone(name)
    assert alone.forward(alone.x(rng)).shape == alone.out_shape()


@every_layer
@pytest.mark.parametrize("training", [True, False])
def test_float32_stays_float32(rng, name, training):
    alone = Alone(name, dtype="f4")
    assert alone.forward(alone.x(rng), training=training).dtype == np.float32


@every_layer
def test_the_gradient_of_float32_stays_float32(rng, name):
    alone = Alone(name, dtype="f4")
    output = alone.forward(alone.x(rng))
    assert alone.backward(np.ones_like(output)).dtype == np.float32


@every_layer
def test_gradients_are_central_differences(rng, name):
    alone = Alone(name)
    x = alone.x(rng)
    trained = alone.trained()
    n_trained = int(trained.sum())
    target = rng.standard_normal(alone.out_shape())

    def loss_and_grad(vector):
        alone.params[trained] = vector[:n_trained]
        given = vector[n_trained:].reshape(x.shape) if alone.answers_for_x else x
        loss = float((alone.forward(given) * target).sum()) * alone.gradient_factor
        grad_x = alone.backward(target)
        grads = alone.gradients[trained]
        if not alone.answers_for_x:
            return loss, grads
        return loss, np.concatenate([grads, grad_x.ravel()])

    start = alone.params[trained]
    if alone.answers_for_x:
        start = np.concatenate([start, x.ravel()])
    check_gradient(loss_and_grad, start + 0.1 * rng.standard_normal(start.size))


@every_layer
def test_backward_overwrites_its_gradients(rng, name):
    alone = Alone(name)
    output = alone.forward(alone.x(rng))
    alone.backward(np.ones_like(output))
    first = alone.gradients.copy()
    alone.gradients.fill(7)
    alone.backward(np.ones_like(output))
    np.testing.assert_array_equal(alone.gradients, first)


@every_layer
def test_backward_writes_every_gradient(rng, name):
    alone = Alone(name)
    output = alone.forward(alone.x(rng))
    alone.backward(np.ones_like(output))
    assert np.isfinite(alone.gradients).all()


@every_layer
def test_gradients_of_parameters_need_no_gradient_of_the_input(rng, name):
    """A layer with parameters whose input nobody asks about does not answer."""
    alone = Alone(name)
    grad_out = rng.standard_normal(alone.out_shape())
    alone.forward(alone.x(rng))
    alone.backward(grad_out)
    expected = alone.gradients.copy()
    alone.gradients.fill(7)
    alone.layer.needs_grad_x = False
    grad_x = alone.backward(grad_out)
    np.testing.assert_array_equal(alone.gradients, expected)
    assert grad_x is None or not alone.layer.params


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
def test_the_layer_has_the_parameters_of_its_configuration(name):
    layer = Alone(name).layer
    shapes = {item.name: item.shape for item in layer.conf.parameters(layer.input_type)}
    assert {key: view.shape for key, view in layer.params.items()} == shapes


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


def drops(case):
    return case.conf.input_dropout is not None


@pytest.mark.parametrize("name", [name for name in CASES if drops(CASES[name])])
def test_dropout_without_random_numbers_is_refused(rng, name):
    alone = Alone(name)
    with pytest.raises(OptionError, match="'me': training needs a random generator"):
        alone.stage.forward(
            alone.x(rng), training=True, mask=None, rng=None, batch_size=3
        )


@pytest.mark.parametrize("name", [name for name in CASES if drops(CASES[name])])
def test_inference_needs_no_random_numbers(rng, name):
    alone = Alone(name)
    output = alone.layer.forward(alone.x(rng), training=False)
    assert np.isfinite(output).all()
