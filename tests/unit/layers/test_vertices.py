"""What holds for every vertex, checked over one table."""

import numpy as np
import pytest

from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.vertices.table import VERTICES as TABLE
from daskdl.nn.vertices.table import build_vertex
from tests.gradients import check_gradient
from tests.unit.layers.vertex_cases import MASK, ROWS, VERTICES, Alone

every_vertex = pytest.mark.parametrize("name", VERTICES)


def test_the_table_has_every_kind_of_vertex():
    assert {type(case[0]) for case in VERTICES.values()} == set(TABLE)


@every_vertex
def test_output_has_the_shape_that_the_configuration_says(rng, name):
    alone = Alone(name)
    shape = [5 if n is None else n for n in alone.vertex.output_type.shape]
    rows = alone.vertex.batch_size([2] * len(alone.input_types))
    assert alone.forward(alone.inputs(rng)).shape == (rows, *shape)


@every_vertex
def test_gradients_are_central_differences(rng, name):
    alone = Alone(name)
    inputs = alone.inputs(rng)
    ends = np.cumsum([array.size for array in inputs])
    target = rng.standard_normal(alone.forward(inputs).shape)

    def loss_and_grad(vector):
        *parts, alone.params[...] = np.split(vector, ends)
        given = [
            part.reshape(array.shape) for part, array in zip(parts, inputs, strict=True)
        ]
        loss = float((alone.forward(given) * target).sum()) * alone.gradient_factor
        grads = [*alone.vertex.backward(target), alone.gradients]
        return loss, np.concatenate([grad.ravel() for grad in grads])

    start = [array.ravel() for array in (*inputs, alone.params)]
    check_gradient(loss_and_grad, np.concatenate(start))


@every_vertex
def test_float32_stays_float32(rng, name):
    alone = Alone(name, dtype="f4")
    output = alone.forward(alone.inputs(rng, dtype="f4"))
    grads = alone.vertex.backward(np.ones_like(output))
    assert {output.dtype, *(grad.dtype for grad in grads)} == {np.dtype("f4")}


@every_vertex
def test_what_is_given_is_not_changed(rng, name):
    alone = Alone(name)
    inputs = alone.inputs(rng)
    copies = [array.copy() for array in inputs]
    grad_out = np.ones_like(alone.forward(inputs))
    alone.vertex.backward(grad_out)
    np.testing.assert_equal(inputs, copies)
    np.testing.assert_array_equal(grad_out, 1)


@every_vertex
def test_no_two_gradients_share_memory(rng, name):
    alone = Alone(name)
    grads = alone.vertex.backward(np.ones_like(alone.forward(alone.inputs(rng))))
    for index, grad in enumerate(grads):
        assert not any(np.shares_memory(grad, other) for other in grads[:index])


@every_vertex
def test_a_batch_of_another_size_works(rng, name):
    alone, fresh = Alone(name), Alone(name)
    alone.vertex.backward(np.ones_like(alone.forward(alone.inputs(rng, batch=4))))
    inputs = alone.inputs(rng, batch=2)
    np.testing.assert_array_equal(alone.forward(inputs), fresh.forward(inputs))


@every_vertex
def test_the_workspace_does_not_grow_after_the_first_iteration(rng, name):
    alone = Alone(name)
    sizes = []
    for batch in (4, 4, 2, 4):
        output = alone.forward(alone.inputs(rng, batch))
        alone.vertex.backward(np.ones_like(output))
        sizes.append(alone.workspace.nbytes)
    assert len(set(sizes)) == 1


@every_vertex
def test_the_configuration_comes_back_from_its_mapping(name):
    vertex_conf, _ = VERTICES[name]
    mapping = vertex_conf.model_dump(mode="json", by_alias=True)
    assert type(vertex_conf).model_validate(mapping) == vertex_conf


@pytest.mark.parametrize("name", ["merge", "add"])
def test_inputs_that_do_not_fit_are_refused(rng, name):
    alone = Alone(name)
    inputs = alone.inputs(rng)
    inputs[1] = inputs[1][:1]
    with pytest.raises(ShapeError, match=r"'me': inputs must have one shape.*got \(2"):
        alone.forward(inputs)


def test_series_of_other_features_are_not_stacked(rng):
    alone = Alone("stack of series")
    inputs = alone.inputs(rng)
    inputs[1] = inputs[1][..., :1]
    with pytest.raises(ShapeError, match=r"'me': inputs must have one shape, got \(2"):
        alone.forward(inputs)


def test_rows_that_are_no_equal_parts_are_refused(rng):
    with pytest.raises(ShapeError, match=r"'me': rows must be 2 equal parts .*got 3"):
        Alone("unstack").forward([np.zeros((3, 4))])


def test_numbers_that_do_not_fill_the_new_shape_are_refused():
    with pytest.raises(
        ShapeError, match=r"as many numbers as new_shape \(-1, 12\), got"
    ):
        Alone("reshape to rows").forward([np.zeros((1, 3, 3, 2))])


def test_a_mask_of_other_steps_is_refused(rng):
    alone = Alone("last time step")
    with pytest.raises(ShapeError, match=r"'me': the mask must have shape \(2, 5\)"):
        alone.forward(alone.inputs(rng), masks=[MASK[:, :3]])


def test_a_network_input_without_time_is_refused(rng):
    alone = Alone("duplicate")
    with pytest.raises(ShapeError, match=r"network input 'in' must have shape \(batch"):
        alone.vertex.forward(
            alone.inputs(rng), masks=[None], network_input=np.zeros((2, 3))
        )


def test_a_configuration_of_an_unknown_vertex_is_refused():
    class Strange(VertexConf):
        type: str = "strange"

    with pytest.raises(OptionError, match="of 'me' must be of a known vertex, got Str"):
        build_vertex(Strange(), [ROWS], "me", Workspace())
