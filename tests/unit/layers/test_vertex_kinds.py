"""What each kind of vertex promises besides what holds for all."""

import numpy as np
import pytest

from daskdl import L2Vertex, ReshapeVertex
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.input_type import FeedForward
from daskdl.nn.vertices.vertex import Vertex
from tests.dialects import DL4J
from tests.unit.layers.vertex_cases import MASK, SERIES, Alone


def test_merge_joins_in_the_order_of_its_inputs(rng):
    alone = Alone("merge")
    inputs = alone.inputs(rng)
    np.testing.assert_array_equal(alone.forward(inputs), np.hstack(inputs))


def test_series_are_joined_in_time(rng):
    alone = Alone("merge in time")
    inputs = alone.inputs(rng)
    expected = np.concatenate(inputs, axis=1)
    np.testing.assert_array_equal(alone.forward(inputs), expected)


def test_the_axis_of_a_merge_is_that_of_the_data_format(rng):
    alone = Alone("merge of rows of pixels")
    inputs = alone.inputs(rng)
    expected = np.concatenate(inputs, axis=1)
    np.testing.assert_array_equal(alone.forward(inputs), expected)


def test_an_axis_of_length_one_is_repeated(rng):
    alone = Alone("add, repeated")
    images, numbers = alone.inputs(rng)
    np.testing.assert_array_equal(alone.forward([images, numbers]), images + numbers)


def test_what_was_repeated_gets_the_sum_of_the_gradients(rng):
    alone = Alone("add, repeated")
    output = alone.forward(alone.inputs(rng))
    _, grad = alone.vertex.backward(np.ones_like(output))
    np.testing.assert_array_equal(grad, np.full((2, 1, 1, 2), 6.0))


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


def test_l2_normalize_gives_each_pixel_length_one(rng):
    alone = Alone("l2 normalize of channels")
    output = alone.forward(alone.inputs(rng))
    np.testing.assert_allclose(np.linalg.norm(output, axis=3), 1)


def test_l2_normalize_divides_short_examples_by_eps():
    alone = Alone("l2 normalize")
    x = np.full((1, 4), 1e-9)
    np.testing.assert_allclose(alone.forward([x]), x / 1e-8)


@pytest.mark.parametrize("norm", [1e-3, 1e-11])
def test_the_gradient_of_l2_normalize_is_that_of_short_examples_too(rng, norm):
    alone = Alone("l2 normalize")
    x, grad_out = norm * rng.standard_normal((1, 4)), rng.standard_normal((1, 4))
    alone.forward([x])
    (grad,) = alone.vertex.backward(grad_out)
    step = norm * 1e-5 * np.eye(4)
    above = (alone.forward([x + step]) * grad_out).sum(axis=1)
    below = (alone.forward([x - step]) * grad_out).sum(axis=1)
    np.testing.assert_allclose(grad[0], (above - below) / (2e-5 * norm), rtol=1e-6)


def test_the_gradient_of_l2_normalize_bounds_the_cube_of_the_norm_in_dl4j():
    """Here the norm is 2e-3, its cube less than 1e-8."""
    alone = Alone("l2 normalize", dialect=DL4J)
    x, grad_out = np.full((1, 4), 1e-3), np.arange(4.0)[None]
    alone.forward([x])
    (grad,) = alone.vertex.backward(grad_out)
    expected = grad_out / 2e-3 - x * (x @ grad_out.T) / 1e-8
    np.testing.assert_allclose(grad, expected, rtol=1e-12)


def test_l2_is_the_distance_of_each_example(rng):
    alone = Alone("l2 of images")
    a, b = alone.inputs(rng)
    expected = np.linalg.norm((a - b).reshape(2, -1), axis=1)
    np.testing.assert_allclose(alone.forward([a, b])[:, 0], expected)


def test_the_gradient_of_no_distance_is_finite(rng):
    alone = Alone("l2")
    (x, _) = alone.inputs(rng)
    output = alone.forward([x, x])
    for grad in alone.vertex.backward(np.ones_like(output)):
        np.testing.assert_array_equal(grad, 0)


OTHER = np.array([[0, 1, 1, 1, 0], [1, 1, 0, 0, 0.0]])
SEEN = ["merge of series", "subtract", "l2 of series", "l2 normalize of series"]


def changed_by_padding(name, rng, **options):
    """Return outputs of a vertex before and behind a change of the padding."""
    alone = Alone(name, **options)
    inputs, masks = alone.inputs(rng), [MASK, OTHER][: len(alone.input_types)]
    before = alone.forward(inputs, masks).copy()
    for x, mask in zip(inputs, masks, strict=True):
        x[mask == 0] += 5
    behind = alone.forward(inputs, masks)
    grads = alone.vertex.backward(np.ones_like(behind))
    dropped = [grad[mask == 0] for grad, mask in zip(grads, masks, strict=True)]
    return before, behind, dropped


@pytest.mark.parametrize("name", SEEN)
def test_what_a_mask_drops_of_an_input_does_not_count(rng, name):
    before, behind, dropped = changed_by_padding(name, rng)
    np.testing.assert_array_equal(before, behind)
    assert not any(grad.any() for grad in dropped)


@pytest.mark.parametrize("name", SEEN)
def test_what_a_mask_drops_of_an_input_counts_in_dl4j(rng, name):
    before, behind, _ = changed_by_padding(name, rng, dialect=DL4J)
    assert (before != behind).any()


def test_stacked_inputs_follow_one_another(rng):
    alone = Alone("stack")
    inputs = alone.inputs(rng)
    np.testing.assert_array_equal(alone.forward(inputs), np.vstack(inputs))


def test_shorter_series_are_filled_with_zeros(rng):
    alone = Alone("stack of series")
    inputs = alone.inputs(rng)
    output = alone.forward(inputs)
    np.testing.assert_array_equal(output[:2, :2], inputs[0])
    np.testing.assert_array_equal(output[:2, 2:], 0)
    np.testing.assert_array_equal(output[2:4], inputs[1])


def test_what_was_stacked_is_taken_apart_again(rng):
    stack, unstack = Alone("stack"), Alone("unstack")
    x, y, _ = stack.inputs(rng)
    both = np.concatenate([x, y])
    np.testing.assert_array_equal(unstack.forward([both]), y)


def test_reshaping_follows_the_axes_of_the_data_format():
    """Rows become images channel by channel, as DL4J's arrays are."""
    alone = Alone("reshape to images")
    x = np.arange(6.0)[None]
    output = alone.forward([x])
    np.testing.assert_array_equal(output[0, :, 0, 0], [0, 1, 2])
    np.testing.assert_array_equal(output[0, :, 0, 1], [3, 4, 5])


def test_images_are_flattened_channel_by_channel(rng):
    alone = Alone("reshape to rows")
    (x,) = alone.inputs(rng)
    expected = x.transpose(0, 3, 1, 2).reshape(2, 12)
    np.testing.assert_array_equal(alone.forward([x]), expected)


def test_the_first_index_may_run_fastest(rng):
    alone = Alone("reshape, first index fastest")
    (x,) = alone.inputs(rng)
    theirs = x.transpose(0, 2, 1).reshape(2, 5, 3, order="F")
    np.testing.assert_array_equal(alone.forward([x]), theirs.transpose(0, 2, 1))


def test_pool_helper_cuts_off_the_first_row_and_column(rng):
    alone = Alone("pool helper")
    (x,) = alone.inputs(rng)
    np.testing.assert_array_equal(alone.forward([x]), x[:, 1:, 1:])


def test_attention_leaves_out_keys_that_either_mask_drops(rng):
    alone = Alone("attention")
    queries, keys, values = alone.inputs(rng)
    other = np.array([[1, 0, 1, 1, 1], [1, 1, 1, 0, 1.0]])
    output = alone.forward([queries, keys, values], masks=[None, MASK, other])
    output = output.copy()
    dropped = (MASK * other) == 0
    keys[dropped] += 5
    values[dropped] -= 7
    changed = alone.forward([queries, keys, values], masks=[None, MASK, other])
    np.testing.assert_allclose(changed, output, rtol=1e-12)


def test_masked_queries_are_answered_by_zero(rng):
    alone = Alone("attention")
    output = alone.forward(alone.inputs(rng), masks=[MASK, None, None])
    np.testing.assert_array_equal(output[MASK == 0], 0)
    assert output[MASK == 1].all()


def test_masked_queries_send_no_gradient_back(rng):
    alone = Alone("attention")
    output = alone.forward(alone.inputs(rng), masks=[MASK, None, None])
    grads = alone.vertex.backward(np.ones_like(output))
    np.testing.assert_array_equal(grads[0][MASK == 0], 0)


def test_the_last_step_is_the_last_that_the_named_input_keeps(rng):
    alone = Alone("last time step, masked")
    (x,) = alone.inputs(rng)
    np.testing.assert_array_equal(alone.forward([x]), x[[0, 1], [2, 3]])


def test_the_last_step_is_the_last_that_the_arriving_mask_keeps(rng):
    alone = Alone("last time step")
    (x,) = alone.inputs(rng)
    output = alone.forward([x], masks=[MASK])
    np.testing.assert_array_equal(output, x[[0, 1], [2, 3]])


def test_the_last_step_of_a_series_without_any_is_zero(rng):
    alone = Alone("last time step")
    output = alone.forward(alone.inputs(rng), masks=[MASK * [[1], [0]]])
    grad = alone.vertex.backward(np.ones_like(output))[0]
    np.testing.assert_array_equal(output[1], 0)
    np.testing.assert_array_equal(grad[1], 0)


def test_the_last_step_of_a_series_without_any_is_the_first_in_dl4j(rng):
    alone = Alone("last time step", dialect=DL4J)
    (x,) = alone.inputs(rng)
    output = alone.forward([x], masks=[MASK * [[1], [0]]])
    grad = alone.vertex.backward(np.ones_like(output))[0]
    np.testing.assert_array_equal(output[1], x[1, 0])
    np.testing.assert_array_equal(grad[1, 1:], 0)


def test_series_are_turned_around(rng):
    alone = Alone("reverse")
    (x,) = alone.inputs(rng)
    np.testing.assert_array_equal(alone.forward([x]), x[:, ::-1])


def test_the_arriving_mask_does_not_count_for_the_reversal_in_dl4j(rng):
    alone = Alone("reverse", dialect=DL4J)
    (x,) = alone.inputs(rng)
    np.testing.assert_array_equal(alone.forward([x], masks=[MASK]), x[:, ::-1])


def test_the_steps_that_the_arriving_mask_keeps_change_places(rng):
    alone, named = Alone("reverse"), Alone("reverse, masked")
    (x,) = alone.inputs(rng)
    expected = named.forward([x])
    np.testing.assert_array_equal(alone.forward([x], masks=[MASK]), expected)


def test_the_steps_that_the_named_input_keeps_change_places(rng):
    """The others come out as 0."""
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


def test_without_a_mask_of_the_named_input_the_whole_series_turn_in_dl4j(rng):
    alone = Alone("reverse, masked", dialect=DL4J)
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
        ("merge in time", [[1, 1, 1, 0, 0, 0, 0], [1, 0, 1, 1, 0, 0, 0]]),
        ("subtract", [[1, 1, 1, 1, 1], [1, 0, 1, 1, 0]]),
        ("scale", MASK),
        ("l2 normalize", MASK),
        ("last time step", None),
        ("duplicate", [[0, 0, 0, 0, 0], [1, 0, 0, 0, 0]]),
        ("reverse", MASK),
        ("unstack", [[1, 0, 1, 1, 0]]),
        ("l2", MASK),
        ("attention", MASK),
    ],
)
def test_masks_that_go_on(name, expected):
    alone = Alone(name)
    other = np.array([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0.0]])
    masks = [MASK, other, other][: len(alone.input_types)]
    if name == "merge in time":
        masks[1] = other[:, :2]
        alone.forward([np.zeros((2, *kind.shape)) for kind in alone.input_types])
    named = np.array([[0, 0, 0, 0, 0], [1, 0, 0, 0, 0.0]])
    mask = alone.vertex.feed_forward_mask(masks, network_mask=named)
    np.testing.assert_equal(mask, None if expected is None else np.array(expected))


def test_a_series_without_a_mask_keeps_its_steps_in_a_row(rng):
    alone = Alone("merge in time")
    alone.forward(alone.inputs(rng))
    mask = alone.vertex.feed_forward_mask([None, np.array([[1, 0], [0, 0.0]])])
    np.testing.assert_array_equal(mask[:, :5], 1)
    np.testing.assert_array_equal(mask[:, 5:], [[1, 0], [0, 0]])


def test_stacked_masks_drop_what_was_filled_in(rng):
    """A series without a mask keeps its steps."""
    alone = Alone("stack of series")
    alone.forward(alone.inputs(rng))
    mask = alone.vertex.feed_forward_mask([None, MASK, None])
    np.testing.assert_array_equal(mask[:2], [[1, 1, 0, 0, 0]] * 2)
    np.testing.assert_array_equal(mask[2:4], MASK)
    np.testing.assert_array_equal(mask[4:], [[1, 1, 1, 1, 0]] * 2)


def test_without_masks_a_stack_of_one_length_has_none(rng):
    alone = Alone("stack of series")
    _, series, _ = alone.inputs(rng)
    alone.forward([series] * 3)
    assert alone.vertex.feed_forward_mask([None, None, None]) is None


def test_a_stack_of_several_lengths_drops_what_was_filled_in(rng):
    alone = Alone("stack of series")
    alone.forward(alone.inputs(rng))
    mask = alone.vertex.feed_forward_mask([None, None, None])
    np.testing.assert_array_equal(mask.sum(axis=1), [2, 2, 5, 5, 4, 4])


def test_a_stack_without_masks_has_none_in_dl4j(rng):
    alone = Alone("stack of series", dialect=DL4J)
    alone.forward(alone.inputs(rng))
    assert alone.vertex.feed_forward_mask([None, None, None]) is None


def test_masks_of_examples_are_stacked(rng):
    alone = Alone("stack")
    alone.forward(alone.inputs(rng))
    column = np.array([[1], [0.0]])
    mask = alone.vertex.feed_forward_mask([column, None, column])
    np.testing.assert_array_equal(mask[:, 0], [1, 0, 1, 1, 1, 0])


def test_no_mask_comes_out_of_a_distance_of_series():
    vertex = Vertex(L2Vertex(), [SERIES, SERIES], "me", Workspace())
    assert vertex.feed_forward_mask([MASK, MASK]) is None


def reshaped_mask(new_shape, input_type, mask, **options):
    vertex_conf = ReshapeVertex(new_shape=new_shape, **options)
    vertex = Vertex(vertex_conf, [input_type], "me", Workspace())
    return vertex.feed_forward_mask([mask])


def test_reshaped_series_keep_their_mask():
    assert reshaped_mask([-1, 5, 3], SERIES, MASK) is MASK


def test_a_mask_of_steps_becomes_one_of_rows():
    found = reshaped_mask([-1, 3], SERIES, MASK)
    np.testing.assert_array_equal(found, MASK.reshape(-1, 1))


def test_a_mask_of_rows_becomes_one_of_steps():
    column = np.arange(10.0)[:, None]
    found = reshaped_mask([-1, 3, 5], FeedForward(size=3), column)
    np.testing.assert_array_equal(found, column.reshape(2, 5))


def test_a_mask_takes_the_shape_that_is_given():
    found = reshaped_mask([-1, 3], SERIES, MASK, mask_shape=[-1, 2], order="f")
    np.testing.assert_array_equal(found, MASK.reshape(-1, 2, order="F"))


def test_without_a_mask_there_is_nothing_to_reshape():
    assert reshaped_mask([-1, 3], SERIES, None) is None
