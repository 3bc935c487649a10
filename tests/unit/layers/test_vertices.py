"""What holds for every vertex over one table, and what single ones promise."""

import numpy as np
import pytest

from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError, ShapeError
import daskdl as conf
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.vertices.table import VERTICES as TABLE
from daskdl.nn.vertices.table import build_vertex
from tests.gradients import check_gradient

ROWS = FeedForward(size=4)
SERIES = Recurrent(size=3, time_steps=5)
IMAGES = Convolutional(height=3, width=2, channels=2)
MASK = np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 0.0]])

# configuration, types of the inputs
VERTICES = {
    "merge": (conf.MergeVertex(), [ROWS, FeedForward(size=2), ROWS]),
    "merge of one": (conf.MergeVertex(), [ROWS]),
    "merge of series": (conf.MergeVertex(), [SERIES, SERIES]),
    "merge of images": (
        conf.MergeVertex(),
        [IMAGES, Convolutional(height=3, width=2, channels=1)],
    ),
    "add": (conf.ElementWiseVertex(op="add"), [ROWS, ROWS, ROWS]),
    "subtract": (conf.ElementWiseVertex(op="subtract"), [SERIES, SERIES]),
    "product": (conf.ElementWiseVertex(op="product"), [ROWS, ROWS, ROWS]),
    "average": (conf.ElementWiseVertex(op="average"), [IMAGES, IMAGES]),
    "max": (conf.ElementWiseVertex(op="max"), [ROWS, ROWS, ROWS]),
    "subset": (conf.SubsetVertex(from_=1, to=2), [ROWS]),
    "subset of series": (conf.SubsetVertex(from_=0, to=0), [SERIES]),
    "subset of images": (conf.SubsetVertex(from_=1, to=1), [IMAGES]),
    "scale": (conf.ScaleVertex(scale_factor=-2.5), [ROWS]),
    "shift": (conf.ShiftVertex(shift_factor=1.5), [IMAGES]),
    "l2 normalize": (conf.L2NormalizeVertex(), [ROWS]),
    "l2 normalize of series": (conf.L2NormalizeVertex(), [SERIES]),
    "l2 normalize, floored": (conf.L2NormalizeVertex(eps=100.0), [ROWS]),
    "last time step": (conf.LastTimeStepVertex(), [SERIES]),
    "last time step, masked": (conf.LastTimeStepVertex(mask_input="in"), [SERIES]),
    "duplicate": (conf.DuplicateToTimeSeriesVertex(input_name="in"), [ROWS]),
    "reverse": (conf.ReverseTimeSeriesVertex(), [SERIES]),
    "reverse, masked": (conf.ReverseTimeSeriesVertex(mask_input="in"), [SERIES]),
    "preprocessor": (
        conf.PreprocessorVertex(preprocessor="rnn_to_feed_forward"),
        [SERIES.replaced(time_steps=1)],
    ),
}
every_vertex = pytest.mark.parametrize("name", VERTICES)


class Alone:
    """A vertex with a workspace of its own."""

    def __init__(self, name):
        vertex_conf, self.input_types = VERTICES[name]
        self.workspace = Workspace()
        self.vertex = build_vertex(vertex_conf, self.input_types, "me", self.workspace)

    def inputs(self, rng, batch=2, dtype="f8"):
        return [
            rng.standard_normal((batch, *kind.shape)).astype(dtype)
            for kind in self.input_types
        ]

    def forward(self, inputs, masks=None):
        batch = len(inputs[0])
        return self.vertex.forward(
            inputs,
            masks=masks or [None] * len(inputs),
            network_input=np.zeros((batch, 5, 2), inputs[0].dtype),
            network_mask=np.resize(MASK, (batch, 5)),
        )


def test_the_table_has_every_kind_of_vertex():
    assert {type(case[0]) for case in VERTICES.values()} == set(TABLE)


@every_vertex
def test_output_has_the_shape_that_the_configuration_says(rng, name):
    alone = Alone(name)
    shape = [5 if n is None else n for n in alone.vertex.output_type.shape]
    assert alone.forward(alone.inputs(rng)).shape == (2, *shape)


@every_vertex
def test_gradients_are_central_differences(rng, name):
    alone = Alone(name)
    inputs = alone.inputs(rng)
    ends = np.cumsum([array.size for array in inputs])[:-1]
    target = rng.standard_normal(alone.forward(inputs).shape)

    def loss_and_grad(vector):
        parts = [
            part.reshape(array.shape)
            for part, array in zip(np.split(vector, ends), inputs, strict=True)
        ]
        loss = float((alone.forward(parts) * target).sum())
        grads = alone.vertex.backward(target)
        return loss, np.concatenate([grad.ravel() for grad in grads])

    check_gradient(loss_and_grad, np.concatenate([array.ravel() for array in inputs]))


@every_vertex
def test_float32_stays_float32(rng, name):
    alone = Alone(name)
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


def test_merge_joins_in_the_order_of_its_inputs(rng):
    alone = Alone("merge")
    inputs = alone.inputs(rng)
    np.testing.assert_array_equal(alone.forward(inputs), np.hstack(inputs))


def test_subset_includes_both_ends(rng):
    alone = Alone("subset")
    (x,) = alone.inputs(rng)
    np.testing.assert_array_equal(alone.forward([x]), x[:, 1:3])


def test_the_first_of_equal_inputs_gets_the_gradient_of_max():
    alone = Alone("max")
    output = alone.forward([np.zeros((1, 4)), np.ones((1, 4)), np.ones((1, 4))])
    grads = alone.vertex.backward(np.ones_like(output))
    assert [grad.sum() for grad in grads] == [0, 4, 0]


def test_l2_normalize_gives_length_one(rng):
    alone = Alone("l2 normalize of series")
    output = alone.forward(alone.inputs(rng))
    np.testing.assert_allclose(np.linalg.norm(output.reshape(2, -1), axis=1), 1)


def test_the_last_step_is_the_last_that_the_named_input_keeps(rng):
    alone = Alone("last time step, masked")
    (x,) = alone.inputs(rng)
    np.testing.assert_array_equal(alone.forward([x]), x[[0, 1], [2, 3]])


def test_the_last_step_is_the_last_that_the_arriving_mask_keeps(rng):
    alone = Alone("last time step")
    (x,) = alone.inputs(rng)
    output = alone.forward([x], masks=[MASK])
    np.testing.assert_array_equal(output, x[[0, 1], [2, 3]])


def test_the_last_step_of_a_series_without_any_is_the_first(rng):
    """As in DL4J."""
    alone = Alone("last time step")
    (x,) = alone.inputs(rng)
    output = alone.forward([x], masks=[MASK * [[1], [0]]])
    grad = alone.vertex.backward(np.ones_like(output))[0]
    np.testing.assert_array_equal(output[1], x[1, 0])
    np.testing.assert_array_equal(grad[1, 1:], 0)


def test_series_are_turned_around(rng):
    alone = Alone("reverse")
    (x,) = alone.inputs(rng)
    np.testing.assert_array_equal(alone.forward([x], masks=[MASK]), x[:, ::-1])


def test_the_steps_that_the_named_input_keeps_change_places(rng):
    """The others come out as 0, as in DL4J."""
    alone = Alone("reverse, masked")
    (x,) = alone.inputs(rng)
    output = alone.forward([x])
    np.testing.assert_array_equal(output[0, :3], x[0, 2::-1])
    np.testing.assert_array_equal(output[1, [0, 2, 3]], x[1, [3, 2, 0]])
    np.testing.assert_array_equal(output[MASK == 0], 0)


def test_a_series_without_any_step_is_turned_into_zeros(rng):
    alone = Alone("reverse, masked")
    inputs = alone.inputs(rng)
    output = alone.vertex.forward(
        inputs, masks=[None], network_mask=np.zeros_like(MASK)
    )
    np.testing.assert_array_equal(output, 0)


def test_without_a_mask_of_the_named_input_the_whole_series_turn(rng):
    alone = Alone("reverse, masked")
    (x,) = alone.inputs(rng)
    np.testing.assert_array_equal(
        alone.vertex.forward([x], masks=[MASK], network_mask=None), x[:, ::-1]
    )


def test_rows_are_repeated_at_every_step(rng):
    alone = Alone("duplicate")
    (x,) = alone.inputs(rng)
    np.testing.assert_array_equal(alone.forward([x])[:, 3], x)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("merge of series", [[1, 1, 1, 1, 1], [1, 0, 1, 1, 0]]),
        ("subtract", [[1, 1, 1, 1, 1], [1, 0, 1, 1, 0]]),
        ("scale", MASK),
        ("last time step", None),
        ("duplicate", [[0, 0, 0, 0, 0], [1, 0, 0, 0, 0]]),
        ("reverse", MASK),
    ],
)
def test_masks_that_go_on(name, expected):
    alone = Alone(name)
    other = np.array([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0.0]])
    masks = [MASK, other][: len(alone.input_types)]
    named = np.array([[0, 0, 0, 0, 0], [1, 0, 0, 0, 0.0]])
    mask = alone.vertex.feed_forward_mask(masks, network_mask=named)
    np.testing.assert_equal(mask, None if expected is None else np.array(expected))


@pytest.mark.parametrize("name", ["merge", "add"])
def test_inputs_that_do_not_fit_are_refused(rng, name):
    alone = Alone(name)
    inputs = alone.inputs(rng)
    inputs[1] = inputs[1][:1]
    with pytest.raises(ShapeError, match=r"'me': inputs must have one shape.*got \(2"):
        alone.forward(inputs)


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
