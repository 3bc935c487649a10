"""A padded series with its mask is the series: of every kind that looks along time."""

from functools import partial

import numpy as np
import pytest

import daskdl as dl
from daskdl.data.dataset import DataSet
from daskdl.nn.conf.input_type import Recurrent
from tests.dialects import DL4J
from tests.unit.layers.case import SERIES
from tests.unit.layers.cases import CASES, Alone, labels_of
from tests.unit.layers.cases_attention import ATTENTION_CASES
from tests.unit.layers.cases_recurrent import RECURRENT_CASES
from tests.unit.layers.vertex_cases import Alone as AloneVertex
from tests.unit.networks.small import sequence

assert_alike = partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-12)

# Three series of different lengths, of at most five steps.
KEPT = {
    "padded behind": [[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]],
    "padded in front": [[0, 1, 1, 1, 1], [0, 0, 0, 0, 1], [1, 1, 1, 1, 1]],
    "with holes": [[1, 0, 1, 0, 1], [0, 1, 0, 0, 1], [0, 0, 1, 1, 0]],
}
every_padding = pytest.mark.parametrize("padding", KEPT)

LAYERS = [
    name
    for name in CASES
    if (
        name in {**RECURRENT_CASES, **ATTENTION_CASES}
        or name.startswith(("global pooling", "dense on series"))
    )
    and CASES[name].input_type == SERIES
    and "dropout" not in name
    and CASES[name].steps > 1
]
OUTPUTS = [name for name in LAYERS if CASES[name].conf.is_output]
VERTICES = [
    "merge of series",
    "subtract",
    "l2 of series",
    "l2 normalize of series",
    "attention",
    "last time step",
    "last time step, masked",
    "reverse",
    "reverse, masked",
]


def mask_of(padding):
    return np.array(KEPT[padding], float)


def padded_with(rng, x, mask):
    """Return series with other numbers, large ones, where the mask drops steps."""
    return np.where(mask[:, :, None] > 0, x, 100 * rng.standard_normal(x.shape))


class Piecewise:
    """Sums and pieces of what series give one by one, without padding.

    `by_step` says whether targets have steps that the mask drops.
    """

    def __init__(self, alone, series, target, mask, *, run, by_step):
        self.outputs, self.grads = [], []
        self.gradients = np.zeros_like(alone.gradients)
        for example, kept in enumerate(mask > 0):
            row = slice(example, example + 1)
            own = target[row][:, kept] if by_step else target[row]
            output, grad = run(series[row][:, kept], own)
            self.outputs.append(output[0].copy())
            self.grads.append(grad[0].copy())
            self.gradients += alone.gradients

    def check(self, output, grad_x, gradients, mask, *, has_steps):
        for example, kept in enumerate(mask > 0):
            own = output[example][kept] if has_steps else output[example]
            assert_alike(own, self.outputs[example])
            assert_alike(grad_x[example][kept], self.grads[example])
            np.testing.assert_array_equal(grad_x[example][~kept], 0)
        assert_alike(gradients, self.gradients)


def ran(alone, x, target, mask=None):
    output = alone.forward(x, mask=mask).copy()
    return output, alone.backward(np.ascontiguousarray(target)).copy()


@every_padding
@pytest.mark.parametrize("name", LAYERS)
def test_padding_changes_neither_outputs_nor_gradients(rng, name, padding):
    alone, mask = Alone(name), mask_of(padding)
    series = rng.standard_normal((3, 5, 3))
    x = padded_with(rng, series, mask)
    target = rng.standard_normal(alone.forward(x, mask=mask).shape)
    has_steps = alone.mask_behind is not None
    output, grad_x = ran(alone, x, target, mask)
    gradients = alone.gradients.copy()
    if has_steps:
        np.testing.assert_array_equal(output[mask == 0], 0)
    run = partial(ran, alone)
    pieces = Piecewise(alone, series, target, mask, run=run, by_step=has_steps)
    pieces.check(output, grad_x, gradients, mask, has_steps=has_steps)


@pytest.mark.parametrize("name", LAYERS)
def test_what_lies_in_the_padding_makes_no_difference_at_all(rng, name):
    alone, mask = Alone(name), mask_of("with holes")
    series = rng.standard_normal((3, 5, 3))
    found = []
    for _ in range(2):
        x = padded_with(rng, series, mask)
        output = alone.forward(x, mask=mask).copy()
        grad_x = alone.backward(np.cos(output)).copy()
        found.append((output, grad_x, alone.gradients.copy()))
    np.testing.assert_equal(*found)


@every_padding
@pytest.mark.parametrize("name", OUTPUTS)
def test_padding_is_not_in_the_loss(rng, name, padding):
    alone, mask = Alone(name), mask_of(padding)
    series = rng.standard_normal((3, 5, 3))
    alone.forward(padded_with(rng, series, mask), mask=mask)
    labels = labels_of(rng, alone, 3)[:, :1].repeat(5, axis=1)
    scores = alone.layer.loss.score_examples(labels)
    grad_x, gradients = alone.backward_loss(labels).copy(), alone.gradients.copy()

    def run(x, labels):
        alone.forward(x, mask=None)
        return alone.layer.loss.score_examples(labels), alone.backward_loss(labels)

    pieces = Piecewise(alone, series, labels, mask, run=run, by_step=True)
    pieces.check(scores, grad_x, gradients, mask, has_steps=False)


@every_padding
@pytest.mark.parametrize("name", VERTICES)
def test_padding_changes_nothing_of_a_vertex(rng, name, padding):
    alone, mask = AloneVertex(name), mask_of(padding)
    sizes = [kind.size for kind in alone.input_types]
    series = [rng.standard_normal((3, 5, size)) for size in sizes]

    def run(inputs, target, mask=None):
        output = alone.vertex.forward(
            inputs, masks=[mask] * len(inputs), network_mask=mask
        )
        if target is None:
            target = rng.standard_normal(output.shape)
        grads = alone.vertex.backward(np.ascontiguousarray(target))
        return output.copy(), np.concatenate(grads, axis=2), target

    x = [padded_with(rng, one, mask) for one in series]
    _, _, target = run(x, None, mask)
    mask_behind = alone.vertex.feed_forward_mask([mask] * len(x), network_mask=mask)
    has_steps = mask_behind is not None
    if has_steps:
        # What is dropped here is masked further on.
        target *= mask[:, :, None]
    output, grads, _ = run(x, target, mask)
    gradients = alone.gradients.copy()
    cuts = np.cumsum(sizes)[:-1]
    pieces = Piecewise(
        alone,
        np.concatenate(series, axis=2),
        target,
        mask,
        run=lambda joined, own: run(np.split(joined, cuts, axis=2), own)[:2],
        by_step=has_steps,
    )
    pieces.check(output, grads, gradients, mask, has_steps=has_steps)


STACKED = [
    dl.LSTM(n_out=4),
    dl.Bidirectional(layer=dl.GravesLSTM(n_out=3)),
    dl.SelfAttention(n_out=6),
    dl.SimpleRnn(n_out=3),
]
HEADS = {
    "a loss a step": [dl.RnnOutput(n_out=2)],
    "pooled": [dl.GlobalPooling(pooling_type="avg"), dl.Output(n_out=2)],
}


def network_of(head, **options):
    layers = [*STACKED, *HEADS[head]]
    return sequence(Recurrent(size=3), *layers, dtype="float64", **options)


def score_and_gradients(network, features, labels, mask=None):
    score = network.compute_gradients(DataSet(features, labels, features_mask=mask))
    return score, network.gradients.copy()


@every_padding
@pytest.mark.parametrize("head", HEADS)
def test_a_network_learns_the_same_from_a_padded_minibatch(rng, head, padding):
    network, mask = network_of(head), mask_of(padding)
    series = rng.standard_normal((3, 5, 3))
    features = padded_with(rng, series, mask).swapaxes(1, 2)
    by_step = np.eye(2)[rng.integers(0, 2, (3, 5))].swapaxes(1, 2)
    labels = by_step if head == "a loss a step" else by_step[:, :, 0]
    score, gradients = score_and_gradients(network, features, labels, mask)
    pieces = []
    for example, kept in enumerate(mask > 0):
        own = labels[example : example + 1]
        own = own[:, :, kept] if own.ndim == 3 else own
        series_alone = features[example : example + 1][:, :, kept]
        pieces.append(score_and_gradients(network, series_alone, own))
    assert_alike(score, np.mean([piece[0] for piece in pieces]))
    assert_alike(gradients, np.mean([piece[1] for piece in pieces], axis=0))


def test_series_of_several_lengths_may_go_through_the_same_layers(rng):
    """What a stack fills the shorter ones with is padding."""
    network = dl.ComputationGraph(
        dl.ComputationGraphConfiguration(
            inputs={"long": Recurrent(size=3), "short": Recurrent(size=3)},
            vertices={
                "stack": dl.StackVertex(inputs=["long", "short"]),
                "lstm": dl.Bidirectional(layer=dl.LSTM(n_out=4), inputs="stack"),
                "second": dl.UnstackVertex(from_=1, stack_size=2, inputs="lstm"),
                "pool": dl.GlobalPooling(pooling_type="avg", inputs="second"),
                "out": dl.Output(n_out=2, inputs="pool"),
            },
            outputs=["out"],
            dtype="float64",
        )
    )
    long, short = rng.standard_normal((2, 3, 5)), rng.standard_normal((2, 3, 2))
    assert_alike(network.output([long, short]), network.output([short, short]))


def test_padding_in_front_changes_what_dl4j_computes(rng):
    network, mask = network_of("pooled", dialect=DL4J), mask_of("padded in front")
    features = rng.standard_normal((3, 3, 5))
    padded = network.output(features, features_mask=mask)
    alone = network.output(features[:1, :, 1:])
    assert abs(padded[0] - alone[0]).max() > 1e-4
