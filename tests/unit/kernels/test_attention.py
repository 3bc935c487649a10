import math

import numpy as np
import pytest

from daskdl.kernels.attention import (
    attention_backward,
    attention_forward,
    heads_backward,
    heads_forward,
)
from daskdl.kernels.attention.recurrence import (
    recurrent_attention_backward,
    recurrent_attention_forward,
)
from daskdl.kernels.attention.trace import RecurrentAttentionWeights, take_trace
from daskdl.nn.activations.table import activation_function
from tests.gradients import check_gradient

BATCH, HEADS, QUERIES, TIME, SIZE, VALUE_SIZE = 2, 2, 3, 4, 3, 2
MASK = np.array([[1, 0, 1, 1], [0, 1, 1, 0.0]])


def drawn(rng):
    """Return queries, keys and values."""
    shapes = [(QUERIES, SIZE), (TIME, SIZE), (TIME, VALUE_SIZE)]
    return [rng.standard_normal((BATCH, HEADS, *shape)) for shape in shapes]


def attend(queries, keys, values, mask=None, **options):
    weights = np.empty((*queries.shape[:3], keys.shape[2]), queries.dtype)
    out = np.empty((*queries.shape[:3], values.shape[3]), queries.dtype)
    attention_forward(queries, keys, values, mask, weights=weights, out=out, **options)
    return out, weights


def gradients(grad_out, queries, keys, values, weights):
    grads = [np.full_like(array, np.nan) for array in (queries, keys, values)]
    attention_backward(
        grad_out,
        queries,
        keys,
        values,
        weights,
        work=np.empty_like(weights),
        grad_queries=grads[0],
        grad_keys=grads[1],
        grad_values=grads[2],
    )
    return grads


def naive(query, keys, values):
    """Answer one query of one head by plain loops."""
    scores = [math.fsum(query * key) / math.sqrt(len(query)) for key in keys]
    total = math.fsum(math.exp(score) for score in scores)
    answer = np.zeros(values.shape[1])
    for score, value in zip(scores, values, strict=True):
        answer += math.exp(score) / total * value
    return answer


@pytest.mark.parametrize("mask", [None, MASK])
def test_attention_is_what_loops_compute(rng, mask):
    queries, keys, values = drawn(rng)
    out, _ = attend(queries, keys, values, mask)
    for example, head, query in np.ndindex(BATCH, HEADS, QUERIES):
        kept = slice(None) if mask is None else mask[example] > 0
        place = example, head
        expected = naive(queries[place][query], keys[place][kept], values[place][kept])
        np.testing.assert_allclose(out[place][query], expected, rtol=1e-12)


def test_the_weights_of_a_query_sum_to_one(rng):
    _, weights = attend(*drawn(rng), MASK)
    np.testing.assert_allclose(weights.sum(axis=3), 1)


def test_masked_keys_count_nothing(rng):
    _, weights = attend(*drawn(rng), MASK)
    np.testing.assert_array_equal(weights[0, :, :, 1], 0)


def test_where_all_keys_are_masked_none_counts(rng):
    out, weights = attend(*drawn(rng), np.zeros((BATCH, TIME)))
    assert not out.any()
    assert not weights.any()


def test_a_key_of_no_weight_leaves_small_scores_what_they_are(rng):
    queries, keys, values = drawn(rng)
    keys[:, :, 1] *= 1e4
    kept = [0, *range(2, TIME)]
    expected, _ = attend(queries, keys[:, :, kept], values[:, :, kept])
    mask = np.ones((BATCH, TIME))
    mask[:, 1] = 0
    np.testing.assert_allclose(attend(queries, keys, values, mask)[0], expected)


def test_where_a_number_masks_all_keys_all_count(rng):
    """It is added to all, so that it changes nothing."""
    parts = drawn(rng)
    masked, _ = attend(*parts, np.zeros((BATCH, TIME)), shifts_masked=True)
    # 1e9 leaves seven digits of a score.
    np.testing.assert_allclose(masked, attend(*parts)[0], atol=1e-6)


def test_large_scores_do_not_overflow(rng):
    queries, keys, values = drawn(rng)
    out, _ = attend(queries * 1e4, keys, values)
    assert np.isfinite(out).all()


@pytest.mark.parametrize("mask", [None, MASK])
def test_gradients_of_attention_are_central_differences(rng, mask):
    parts = drawn(rng)
    ends = np.cumsum([part.size for part in parts])[:-1]
    target = rng.standard_normal((BATCH, HEADS, QUERIES, VALUE_SIZE))

    def loss_and_grad(vector):
        given = [
            piece.reshape(part.shape)
            for piece, part in zip(np.split(vector, ends), parts, strict=True)
        ]
        out, weights = attend(*given, mask)
        grads = gradients(target, *given, weights)
        return float((out * target).sum()), np.concatenate([g.ravel() for g in grads])

    check_gradient(loss_and_grad, np.concatenate([part.ravel() for part in parts]))


def test_heads_are_products_with_each_heads_weight(rng):
    x = rng.standard_normal((BATCH, TIME, 5))
    weight = rng.standard_normal((HEADS, SIZE, 5))
    heads = heads_forward(x, weight, out=np.empty((BATCH, TIME, HEADS, SIZE)))
    np.testing.assert_allclose(heads[:, 1], x @ weight[1].T, rtol=1e-12)


def test_gradients_of_heads(rng):
    x = rng.standard_normal((BATCH, TIME, 5))
    weight = rng.standard_normal((HEADS, SIZE, 5))
    target = rng.standard_normal((BATCH, TIME, HEADS, SIZE))

    def loss_and_grad(vector):
        parts = (
            vector[: x.size].reshape(x.shape),
            vector[x.size :].reshape(weight.shape),
        )
        out = np.empty_like(target)
        heads_forward(*parts, out=out)
        grad_x, grad_weight = np.empty_like(x), np.empty_like(weight)
        heads_backward(target, *parts, grad_weight=grad_weight, grad_x=grad_x)
        grads = np.concatenate([grad_x.ravel(), grad_weight.ravel()])
        return float((out * target).sum()), grads

    check_gradient(loss_and_grad, np.concatenate([x.ravel(), weight.ravel()]))


def test_each_output_of_the_recurrence_asks_with_the_one_before(rng, workspace):
    x = rng.standard_normal((BATCH, TIME, SIZE))
    weight, recurrent = rng.standard_normal((2, SIZE, SIZE))
    weights = RecurrentAttentionWeights(weight, recurrent, None, None, None, None, None)
    trace = take_trace(workspace, ("me", "trace"), x, n_out=SIZE, heads=1, size=SIZE)
    tanh = activation_function("tanh")
    out = recurrent_attention_forward(
        x, weights, tanh, trace, workspace, mask=MASK, out=np.empty_like(x)
    )
    for example in range(BATCH):
        kept = x[example][MASK[example] > 0]
        before = np.tanh(x[example, 0] @ weight)
        np.testing.assert_allclose(out[example, 0], before)
        for step in range(1, TIME):
            asked = naive(before, kept, kept)
            before = np.tanh(x[example, step] @ weight + asked @ recurrent)
            np.testing.assert_allclose(out[example, step], before)


def test_the_recurrence_needs_no_gradient_of_its_input(rng, workspace):
    x = rng.standard_normal((BATCH, TIME, SIZE))
    arrays = [
        rng.standard_normal(shape)
        for shape in [(3, 4), (4, 4), (4,), (2, 2, 4), (2, 2, 3), (2, 2, 3), (4, 4)]
    ]
    weights = RecurrentAttentionWeights(*arrays)
    sizes = {"n_out": 4, "heads": 2, "size": 2}
    trace = take_trace(workspace, ("me", "trace"), x, **sizes)
    tanh = activation_function("tanh")
    shape = (BATCH, TIME, 4)
    recurrent_attention_forward(
        x, weights, tanh, trace, workspace, mask=None, out=np.empty(shape)
    )
    found = []
    for grad_x in (None, np.empty_like(x)):
        grads = RecurrentAttentionWeights(*(np.full_like(a, np.nan) for a in arrays))
        recurrent_attention_backward(
            np.ones(shape),
            x,
            weights,
            tanh,
            trace,
            workspace,
            grads=take_trace(workspace, ("me", "grads"), x, **sizes),
            gradients=grads,
            grad_x=grad_x,
        )
        found.append(grads)
    np.testing.assert_array_equal(found[0].key, found[1].key)
    np.testing.assert_array_equal(found[0].weight, found[1].weight)
