"""Series with masked steps behind them give what they give by themselves.

For layers of series that are not recurrent, alone and in a row: outputs at the steps
that are kept, and gradients of the parameters and of what went in.
"""

from dataclasses import dataclass

import numpy as np
import pytest

import daskdl as dl
from daskdl.arrays.flat import ParamLayout
from daskdl.arrays.workspace import Workspace
from daskdl.dialects import EXACT
from daskdl.nn.conf.input_type import Recurrent
from daskdl.nn.layers.layer import Layer
from tests.dialects import DL4J

N_IN, LENGTHS = 4, (11, 8, 5, 10, 7, 9, 6)
# Of which stride 2 leaves nothing over.
ODD_LENGTHS = (11, 7, 5, 9)


@dataclass(frozen=True)
class Kind:
    """Layers in a row, and the lengths of the series that go in."""

    layers: tuple[object, ...]
    lengths: tuple[int, ...] = LENGTHS


def row(*layers, lengths=LENGTHS):
    return Kind(layers, lengths)


TRUNCATE = {"convolution_mode": "truncate"}


def conv(**options):
    return _windowed(dl.Convolution1D, {"n_out": 3}, options)


def local(**options):
    return _windowed(dl.LocallyConnected1D, {"n_out": 3, **TRUNCATE}, options)


def pool(kind, **options):
    return _windowed(dl.Subsampling1D, {"pooling_type": kind}, options)


def _windowed(layer, defaults, options):
    is_strict = options.get("convolution_mode") == "strict"
    conf = layer(**{"kernel_size": 3, **defaults, **options})
    return row(conf, lengths=ODD_LENGTHS if is_strict else LENGTHS)


# Each way in which windows can lie.
WINDOWS = {
    "truncate": {},
    "stride": {"stride": 2},
    "padding": {"padding": 2},
    "padding beyond the kernel": {"padding": 4, "stride": 2},
    "dilation": {"dilation": 2, "kernel_size": 2},
    "strict": {"convolution_mode": "strict", "stride": 2},
    "same": {"convolution_mode": "same"},
    "same, stride 2": {"convolution_mode": "same", "stride": 2},
    "same, stride 3": {"convolution_mode": "same", "stride": 3, "kernel_size": 5},
    "same, even kernel": {"convolution_mode": "same", "stride": 2, "kernel_size": 4},
    "same, stride beyond the kernel": {
        "convolution_mode": "same",
        "stride": 3,
        "kernel_size": 2,
    },
    "same, dilation": {"convolution_mode": "same", "stride": 2, "dilation": 2},
}
CAUSAL = {
    "causal": {"convolution_mode": "causal"},
    "causal, stride": {"convolution_mode": "causal", "stride": 2},
    "causal, dilation, stride": {
        "convolution_mode": "causal",
        "stride": 3,
        "dilation": 2,
    },
}
POOLINGS = {
    "max": {},
    "avg": {},
    "avg of the kernel": {"include_padding": True},
    "sum": {},
    "pnorm": {"pnorm": 3},
}
KINDS = {
    **{f"convolution, {way}": conv(**o) for way, o in {**WINDOWS, **CAUSAL}.items()},
    "convolution, softmax": conv(activation="softmax"),
    "convolution, no bias, swish": conv(has_bias=False, activation="swish"),
    **{f"locally connected, {way}": local(**o) for way, o in WINDOWS.items()},
    **{
        f"subsampling, {kind}, {way}": pool(kind.split()[0], **of_kind, **options)
        for kind, of_kind in POOLINGS.items()
        for way, options in WINDOWS.items()
    },
    "zero padding": row(dl.ZeroPadding1D(padding=(2, 3))),
    "zero padding behind": row(dl.ZeroPadding1D(padding=(0, 1))),
    "cropping": row(dl.Cropping1D(cropping=(1, 2))),
    "upsampling": row(dl.Upsampling1D(size=3)),
    "activation": row(dl.Activation(activation="softmax")),
    "prelu": row(dl.PReLU(shared_axes=[2])),
    "element-wise": row(dl.ElementWiseMultiplication()),
    "dense": row(dl.Dense(n_out=3, activation="sigmoid")),
    "time distributed": row(
        dl.TimeDistributed(layer=dl.Dense(n_out=3, activation="sigmoid"))
    ),
    "steps as rows and back": row(
        dl.Dense(n_out=3, activation="sigmoid", preprocessor="rnn_to_feed_forward"),
        dl.Convolution1D(n_out=2, kernel_size=2, preprocessor="feed_forward_to_rnn"),
    ),
    "steps as images and back": row(
        dl.Convolution2D(
            n_out=3,
            kernel_size=2,
            convolution_mode="same",
            preprocessor=dl.RnnToCnn(height=2, width=2, channels=1),
        ),
        dl.Dense(n_out=3, preprocessor="cnn_to_rnn"),
    ),
    "last window": row(
        dl.LastTimeStep(layer=dl.Convolution1D(n_out=3, kernel_size=3, stride=2))
    ),
    "rnn output": row(
        dl.Convolution1D(n_out=3, kernel_size=3, stride=2), dl.RnnOutput(n_out=2)
    ),
    "in a row": row(
        dl.ZeroPadding1D(padding=(1, 2)),
        dl.Convolution1D(n_out=5, kernel_size=4, stride=2, convolution_mode="same"),
        dl.Subsampling1D(kernel_size=2, stride=1, pooling_type="avg", padding=1),
        dl.Upsampling1D(size=2),
        dl.Cropping1D(cropping=(0, 1)),
        dl.Convolution1D(n_out=2, kernel_size=3, convolution_mode="causal"),
    ),
}
every_kind = pytest.mark.parametrize("name", KINDS)


class Row:
    """The layers of a kind for series of so many steps, with first weights."""

    def __init__(self, kind, steps, dialect=EXACT):
        conf = dl.MultiLayerConfiguration(
            input=Recurrent(size=N_IN, time_steps=steps),
            layers=kind.layers,
            activation="tanh",
            dialect=dialect,
        )
        workspace = Workspace()
        self.layers, shapes = [], {}
        for node in conf.nodes():
            layer = Layer(node.conf, node.input_types[0], node.name, workspace)
            self.layers.append(layer)
            parameters = node.conf.parameter_shapes(layer.input_type)
            shapes |= {(node.name, name): shape for name, shape in parameters.items()}
        layout = ParamLayout.of(shapes)
        self.params = layout.views(np.zeros(layout.size))
        self.gradients = layout.views(np.full(layout.size, np.nan))
        for layer in self.layers:
            layer.bind(self._of(layer, self.params), self._of(layer, self.gradients))
            layer.initialize(np.random.default_rng(3))

    def _of(self, layer, views):
        name = layer.name.removesuffix(".layer")
        return {key[1]: view for key, view in views.items() if key[0] == name}

    def forward(self, x, mask=None):
        """Return the output and its mask."""
        n_examples = len(x)
        for layer in self.layers:
            x = layer.forward(
                x, training=True, mask=mask, rng=None, batch_size=n_examples
            )
            mask = layer.mask
        return x.copy(), mask

    def backward(self, grad):
        for layer in reversed(self.layers):
            grad = layer.backward(grad)
        return grad.copy()


def mask_of(lengths):
    steps = np.arange(max(lengths))
    return (steps < np.array(lengths)[:, None]).astype(float)


def by_itself(whole, kind, x):
    """Return the layers for one series alone, with the weights of `whole`.

    Locally connected layers have those of its windows, which are the first ones.
    """
    alone = Row(kind, x.shape[1])
    for name, view in alone.params.items():
        view[...] = whole.params[name][: len(view)]
    return alone


def assert_alike(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def kept_of(array, mask, example):
    """Return what a mask keeps of an example, as a batch of one."""
    if mask is None:
        return array[example : example + 1]
    return array[example : example + 1, mask[example] > 0]


@every_kind
def test_padded_series_give_what_they_give_by_themselves(rng, name):
    kind = KINDS[name]
    whole = Row(kind, max(kind.lengths))
    mask = mask_of(kind.lengths)
    x = rng.standard_normal((*mask.shape, N_IN))
    output, mask_behind = whole.forward(x, mask)
    grad_out = rng.standard_normal(output.shape)
    if mask_behind is not None:
        grad_out *= mask_behind[:, :, None]
    grad_x = whole.backward(grad_out)
    sums = {key: np.zeros_like(view) for key, view in whole.gradients.items()}
    for example, length in enumerate(kind.lengths):
        series = x[example : example + 1, :length]
        alone = by_itself(whole, kind, series)
        expected, _ = alone.forward(series)
        assert_alike(kept_of(output, mask_behind, example), expected)
        expected = alone.backward(kept_of(grad_out, mask_behind, example))
        assert_alike(grad_x[example : example + 1, :length], expected)
        for key, gradient in alone.gradients.items():
            sums[key][: len(gradient)] += gradient
    for key, gradient in whole.gradients.items():
        assert_alike(gradient, sums[key])


@every_kind
def test_what_lies_in_the_padding_changes_nothing(rng, name):
    kind = KINDS[name]
    whole = Row(kind, max(kind.lengths))
    mask = mask_of(kind.lengths)
    x = rng.standard_normal((*mask.shape, N_IN))
    found = []
    drawn = rng.standard_normal(whole.forward(x, mask)[0].shape)
    for _ in range(2):
        output, mask_behind = whole.forward(x, mask)
        grad_out = drawn
        if mask_behind is not None:
            output, grad_out = (a * mask_behind[:, :, None] for a in (output, grad_out))
        grad_x = whole.backward(grad_out) * mask[:, :, None]
        gradients = [gradient.copy() for gradient in whole.gradients.values()]
        found.append((output, grad_x, gradients))
        x[mask == 0] = 100 * rng.standard_normal(x[mask == 0].shape)
    np.testing.assert_equal(*found)


@pytest.mark.parametrize(
    "name",
    [
        "convolution, truncate",
        "convolution, same",
        "locally connected, truncate",
        "subsampling, max, truncate",
        "subsampling, avg, same",
        "zero padding",
        "cropping",
    ],
)
def test_in_dl4j_other_windows_are_kept_or_other_numbers_come_out(rng, name):
    kind = KINDS[name]
    mask = mask_of(kind.lengths)
    x = rng.standard_normal((*mask.shape, N_IN))
    found = []
    for dialect in (EXACT, DL4J):
        output, mask_behind = Row(kind, max(kind.lengths), dialect).forward(x, mask)
        kept = mask_behind[:, :, None]
        found.append(np.concatenate([kept, output * kept], axis=2))
    assert abs(found[0] - found[1]).max() > 1e-3


@pytest.mark.parametrize(
    "name", ["convolution, same, stride 2", "subsampling, max, padding", "zero padding"]
)
def test_a_series_without_any_step_gives_nothing(rng, name):
    whole = Row(KINDS[name], 8)
    x, mask = rng.standard_normal((2, 8, N_IN)), np.repeat([[1.0], [0]], 8, axis=1)
    output, mask_behind = whole.forward(x, mask)
    grad_x = whole.backward(np.ones_like(output))
    for array in (output, mask_behind, grad_x):
        np.testing.assert_array_equal(array[1], 0)


def test_whole_networks_score_and_learn_alike(rng):
    """The labels have a mask too, of the steps that come out."""
    layers = KINDS["in a row"].layers[:3]

    def network(time_steps=None):
        return dl.MultiLayerNetwork(
            dl.MultiLayerConfiguration(
                input=Recurrent(size=N_IN, time_steps=time_steps),
                layers=[*layers, dl.Dense(n_out=3), dl.RnnOutput(n_out=2)],
                dtype="float64",
                seed=3,
            )
        )

    net = network()
    mask = mask_of(LENGTHS)
    x = rng.standard_normal((len(LENGTHS), N_IN, mask.shape[1]))
    labels_mask = mask_of([-(-(length + 3) // 2) + 1 for length in LENGTHS])
    kinds = rng.integers(0, 2, labels_mask.shape)
    labels = np.eye(2)[kinds].transpose(0, 2, 1)
    net.compute_gradients(dl.DataSet(x, labels, mask, labels_mask))
    scores, total = [], np.zeros_like(net.gradients)
    alone = network()
    for example, length in enumerate(LENGTHS):
        steps = labels_mask[example] > 0
        batch = dl.DataSet(
            x[example : example + 1, :, :length],
            labels[example : example + 1][:, :, steps],
        )
        scores.append(alone.compute_gradients(batch))
        total += alone.gradients
    assert_alike(net.score, np.mean(scores))
    assert_alike(net.gradients, total / len(LENGTHS))
