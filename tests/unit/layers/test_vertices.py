"""What holds for every vertex, checked over one table."""

import re

import numpy as np
import pytest

import daskdl as dl
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.conf.input_type import Recurrent
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.data_format import to_data_format
from daskdl.nn.vertices.table import VERTICES as TABLE
from daskdl.nn.vertices.vertex import Vertex
from tests.gradients import check_gradient
from tests.memory import kept_bytes
from tests.unit.layers.cases import tried
from tests.unit.layers.vertex_cases import IMAGES, MASK, ROWS, SERIES, VERTICES, Alone

every_vertex = pytest.mark.parametrize("name", VERTICES)

# An iteration may leave views and indices behind; an array of a row for each of this
# many examples is more.
KEPT_BYTES, MANY = 4096, 300


def test_the_table_has_every_kind_of_vertex():
    missing = set(TABLE) - {type(case[0]) for case in VERTICES.values()}
    assert sorted(kind.__name__ for kind in missing) == []


@every_vertex
def test_output_has_the_shape_that_the_configuration_says(rng, name):
    alone = Alone(name)
    shape = [5 if n is None else n for n in alone.vertex.output_type.shape]
    rows = alone.vertex.batch_size([2] * len(alone.input_types))
    assert alone.forward(alone.inputs(rng)).shape == (rows, *shape)


def masks_of(alone, inputs, mask=MASK):
    """Return a mask for each input that is a series, cut to its length."""
    return [
        mask[:, : array.shape[1]] if isinstance(kind, Recurrent) else None
        for array, kind in zip(inputs, alone.input_types, strict=True)
    ]


@every_vertex
@pytest.mark.parametrize("is_masked", [False, True])
def test_gradients_are_central_differences(rng, name, is_masked):
    alone = Alone(name)
    inputs = alone.inputs(rng)
    masks = masks_of(alone, inputs) if is_masked else None
    ends = np.cumsum([array.size for array in inputs])
    target = rng.standard_normal(alone.forward(inputs, masks).shape)

    def loss_and_grad(vector):
        *parts, alone.params[...] = np.split(vector, ends)
        given = [
            part.reshape(array.shape) for part, array in zip(parts, inputs, strict=True)
        ]
        output = alone.forward(given, masks)
        loss = float((output * target).sum())
        grads = [*alone.vertex.backward(target), alone.gradients]
        return loss, np.concatenate([grad.ravel() for grad in grads])

    start = [array.ravel() for array in (*inputs, alone.params)]
    check_gradient(loss_and_grad, np.concatenate(start))


@every_vertex
def test_the_same_numbers_come_out_every_time(rng, name):
    inputs = Alone(name).inputs(rng)
    first, second = [one_iteration(Alone(name), inputs) for _ in range(2)]
    np.testing.assert_equal(first, second)


def one_iteration(alone, inputs, masks=None):
    """Return copies of output and gradients."""
    output = alone.forward(inputs, masks).copy()
    grads = [grad.copy() for grad in alone.vertex.backward(np.cos(output))]
    return output, grads, alone.gradients.copy()


@every_vertex
def test_masks_that_keep_everything_change_nothing(rng, name):
    alone = Alone(name)
    inputs = alone.inputs(rng)
    plain = one_iteration(alone, inputs)
    masked = one_iteration(alone, inputs, masks_of(alone, inputs, np.ones((2, 5))))
    np.testing.assert_equal(masked, plain)


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
def test_nothing_lives_on_that_the_second_iteration_allocates(rng, name):
    alone = Alone(name)
    inputs = alone.inputs(rng, MANY)
    network_input, network_mask = np.zeros((MANY, 5, 2)), np.resize(MASK, (MANY, 5))
    masks = [None] * len(inputs)

    def iterate():
        output = alone.vertex.forward(
            inputs,
            masks=masks,
            network_input=network_input,
            network_mask=network_mask,
        )
        alone.vertex.backward(output)

    assert kept_bytes(iterate) < KEPT_BYTES


@every_vertex
def test_the_vertex_has_the_parameters_of_its_configuration(name):
    alone = Alone(name)
    items = alone.vertex.conf.parameters(alone.input_types)
    shapes = {key: view.shape for key, view in alone.vertex.params.items()}
    assert shapes == {item.name: item.shape for item in items}


def graph_of(name):
    """Return a graph of one vertex that reads as many inputs."""
    vertex_conf, input_types = VERTICES[name]
    names = ["in", "b", "c"][: len(input_types)]
    return dl.ComputationGraphConfiguration(
        inputs=dict(zip(names, input_types, strict=True)),
        vertices={"me": vertex_conf.replaced(inputs=names)},
        outputs="me",
    )


@every_vertex
@pytest.mark.parametrize("compact", [False, True])
def test_a_configuration_comes_back_from_its_mapping(name, compact):
    graph = graph_of(name)
    mapping = graph.to_dict(compact=compact)
    assert dl.ComputationGraphConfiguration.from_dict(mapping) == graph


@every_vertex
def test_a_configuration_comes_back_from_its_yaml(name):
    graph = graph_of(name)
    assert dl.ComputationGraphConfiguration.from_yaml(graph.to_yaml()) == graph


INPUTS = [
    ROWS,
    SERIES,
    SERIES.replaced(time_steps=None),
    IMAGES,
    IMAGES.replaced(data_format="NHWC"),
    dl.Convolutional3D(depth=4, height=3, width=5, channels=2),
]
KINDS = {type(case[0]): name for name, case in reversed(VERTICES.items())}


@pytest.mark.parametrize("name", KINDS.values())
@pytest.mark.parametrize("input_type", INPUTS, ids=str)
def test_what_a_vertex_cannot_take_is_refused_and_what_it_can_works(
    rng, name, input_type
):
    vertex_conf, types = VERTICES[name]
    names = ["in", "b", "c"][: len(types)]
    graph = tried(
        lambda: dl.ComputationGraphConfiguration(
            inputs=dict.fromkeys(names, input_type),
            vertices={"me": vertex_conf.replaced(inputs=names)},
            outputs="me",
        ),
        OptionError,
    )
    if isinstance(graph, str):
        assert graph.startswith("ComputationGraphConfiguration.vertices.me")
        return
    network = dl.ComputationGraph(graph)
    shape = [5 if size is None else size for size in input_type.shape]
    features = [to_data_format(rng.random((2, *shape)), input_type) for _ in types]
    output = tried(lambda: network.output(features), ShapeError)
    if isinstance(output, str):
        assert re.match(r"\w+Vertex 'me': .*must have .*, got .*", output)
        return
    assert np.isfinite(output).all()


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
        Vertex(Strange(), [ROWS], "me", Workspace())


def test_there_is_no_gradient_before_an_output():
    with pytest.raises(ShapeError, match="ScaleVertex 'me': backward must follow forw"):
        Alone("scale").vertex.backward(np.zeros((2, 4)))
