"""Threads that have a part of the examples each compute what one of all computes.

For every kind that says it can be cut, over the tables of layers and vertices.
"""

import numpy as np
import pytest

from daskdl.arrays.random import IterationStream
from daskdl.arrays.team import Team, cuts
from daskdl.nn.cutting import can_be_cut
from daskdl.nn.layers.table import LAYERS
from daskdl.nn.preprocessors.table import PREPROCESSORS
from daskdl.nn.vertices.table import VERTICES as VERTEX_KINDS
from tests.unit.layers import vertex_cases
from tests.unit.layers.cases import CASES, Alone, labels_of

BATCH = 7
RTOL = 1e-9

every_cut_layer = pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if can_be_cut(case.conf)]
)
every_size = pytest.mark.parametrize("size", [2, 4])


def names_of(kinds):
    return sorted(kind.__name__ for kind in kinds if not kind.can_be_cut)


def test_these_kinds_need_all_examples_in_one_place():
    assert names_of(LAYERS) == [
        "AutoEncoder",
        "Capsule",
        "CapsuleStrength",
        "CenterLossOutput",
        "OCNNOutput",
        "PrimaryCapsules",
        "SpaceToBatch",
        "VariationalAutoencoder",
        "Yolo2Output",
    ]
    assert names_of(VERTEX_KINDS) == ["ReshapeVertex", "StackVertex", "UnstackVertex"]
    assert names_of(PREPROCESSORS) == [
        "CnnToRnn",
        "FeedForwardToRnn",
        "Reshape",
        "RnnToCnn",
        "RnnToFeedForward",
    ]


def stream(cut=None):
    return IterationStream(np.random.default_rng(11), 0, 0, cut)


def pass_of(alone, x, mask, target, cut=None):
    """Return output, gradient in the input and gradients, of a part of a minibatch."""
    for layer in alone.layer.walk():
        layer.run.cut = cut
    x, target = x.copy(), target.copy()
    output = alone.layer.forward(
        x, training=True, mask=mask, rng=stream(cut), batch_size=len(x)
    ).copy()
    grad_x = alone.backward(target).copy()
    return output, grad_x, alone.gradients.copy()


def joined(rank_of, size, alones):
    parts = cuts(BATCH, size)

    def part(rank):
        return rank_of(alones[rank], parts[rank])

    with Team(size) as team:
        outputs, grads_x, gradients = zip(
            *team.run(part, size, parts[0].meeting), strict=True
        )
    return np.concatenate(outputs), np.concatenate(grads_x), sum(gradients)


@every_cut_layer
@every_size
def test_parts_of_a_minibatch_make_the_whole(rng, name, size):
    whole = Alone(name)
    x, mask = whole.x(rng, BATCH), whole.mask(BATCH)
    whole.params += 0.1 * rng.standard_normal(whole.params.size)
    target = rng.standard_normal(whole.out_shape(BATCH))
    alones = [Alone(name) for _ in range(size)]
    for alone in alones:
        alone.params[...] = whole.params

    def part(alone, cut):
        masked = None if mask is None else cut.rows_of(mask)
        return pass_of(alone, cut.rows_of(x), masked, cut.rows_of(target), cut)

    expected = pass_of(whole, x, mask, target)
    for found, wanted in zip(joined(part, size, alones), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=RTOL, atol=1e-11)


@pytest.mark.parametrize(
    "name",
    [n for n, c in CASES.items() if c.conf.is_output and can_be_cut(c.conf)],
)
@every_size
def test_losses_of_parts_add_up(rng, name, size):
    whole = Alone(name)
    x, mask = whole.x(rng, BATCH), whole.mask(BATCH)
    labels = labels_of(rng, whole, BATCH)
    alones = [Alone(name) for _ in range(size)]

    def part(alone, cut=None):
        rows = (lambda a: a) if cut is None else cut.rows_of
        masked = None if mask is None else rows(mask)
        alone.layer.forward(
            rows(x), training=True, mask=masked, rng=stream(cut), batch_size=BATCH
        )
        score = np.array([alone.layer.loss.score(rows(labels))])
        grad_x = alone.backward_loss(rows(labels)).copy()
        return score, grad_x, alone.gradients.copy()

    expected = part(whole)
    score, grad_x, gradients = joined(part, size, alones)
    np.testing.assert_allclose(score.sum(), expected[0][0], rtol=RTOL)
    np.testing.assert_allclose(grad_x, expected[1], rtol=RTOL, atol=1e-12)
    np.testing.assert_allclose(gradients, expected[2], rtol=RTOL, atol=1e-12)


@pytest.mark.parametrize(
    "name",
    [n for n, (c, _) in vertex_cases.VERTICES.items() if can_be_cut(c)],
)
def test_parts_of_a_minibatch_make_the_whole_of_a_vertex(rng, name):
    """The inputs of the table have two examples."""

    def outcome(inputs, part, target):
        alone = vertex_cases.Alone(name)
        mask = None if alone.vertex.run.masks else vertex_cases.MASK[part]
        output = alone.vertex.forward(
            inputs,
            masks=[mask if x.ndim == 3 and x.shape[1] == 5 else None for x in inputs],
            network_input=np.zeros((len(inputs[0]), 5, 3)),
            network_mask=mask,
            batch_size=len(inputs[0]),
        ).copy()
        target = np.cos(output) if target is None else target[part]
        grads = [grad.copy() for grad in alone.vertex.backward(target)]
        return output, grads, target

    inputs = vertex_cases.Alone(name).inputs(rng)
    output, grads, target = outcome(inputs, slice(None), None)
    halves = [
        outcome([x[part] for x in inputs], part, target)
        for part in (slice(0, 1), slice(1, 2))
    ]
    found = np.concatenate([half[0] for half in halves])
    np.testing.assert_allclose(found, output, rtol=RTOL)
    for i, grad in enumerate(grads):
        found = np.concatenate([half[1][i] for half in halves])
        np.testing.assert_allclose(found, grad, rtol=RTOL, atol=1e-12)
