"""Networks whose arrays take turns in one memory, and the same where each has its own.

All networks are small, so that arrays of any size are lent here.
"""

import numpy as np
import pytest

from daskdl import (
    LSTM,
    BatchNormalization,
    Bidirectional,
    ComputationGraph,
    ComputationGraphConfiguration,
    Convolution1D,
    Convolution2D,
    Dense,
    ElementWiseVertex,
    Frozen,
    GlobalPooling,
    MergeVertex,
    Output,
    RnnOutput,
    Subsampling,
    Upsampling2D,
    ZeroPadding,
)
from daskdl.data.dataset import DataSet
from daskdl.nn.conf.input_type import Convolutional, Recurrent
from tests.unit.networks.fusion_cases import IDENTITY, RELU, relu
from tests.unit.networks.small import sequence

LIMIT = "daskdl.arrays.workspace._LEAST_LENT_BYTES"
ADAM = {"type": "adam", "learning_rate": 0.01}
SAME = {"kernel_size": 3, "convolution_mode": "same", **IDENTITY}
IMAGES = Convolutional(height=6, width=5, channels=2)
SERIES = Recurrent(size=3)


def graph(vertices, **options):
    return ComputationGraph(
        ComputationGraphConfiguration(
            inputs={"in": IMAGES},
            vertices=vertices,
            outputs=["out"],
            **{"updater": ADAM, **options},
        )
    )


def residual(**options):
    return graph(
        {
            "c1": Convolution2D(n_out=4, inputs="in", **SAME),
            "n1": BatchNormalization(inputs="c1"),
            "r1": relu("n1"),
            "c2": Convolution2D(n_out=4, inputs="r1", **SAME),
            "n2": BatchNormalization(inputs="c2"),
            "sum": ElementWiseVertex(op="add", inputs=["n2", "r1"]),
            "block": relu("sum"),
            "half": Subsampling(kernel_size=2, stride=2, inputs="block"),
            "means": GlobalPooling(pooling_type="avg", inputs="half"),
            "out": Output(n_out=2, inputs="means"),
        },
        **options,
    )


def branches(op, **options):
    """A graph whose branches are read several times, and by an output beside them."""
    return graph(
        {
            "a": Convolution2D(
                kernel_size=(3, 2), n_out=3, activation="swish", inputs="in"
            ),
            "padded": ZeroPadding(padding=2, inputs="a"),
            "b": Convolution2D(
                kernel_size=5, n_out=3, activation="tanh", inputs="padded"
            ),
            "both": ElementWiseVertex(op=op, inputs=["a", "b"]),
            "pooled": Subsampling(pooling_type="avg", inputs="both"),
            "wide": Upsampling2D(size=2, inputs="pooled"),
            "more": MergeVertex(inputs=["wide", "wide"]),
            "d": Dense(n_out=5, activation="tanh", inputs="more", keep_probability=0.8),
            "out": Output(n_out=2, inputs="d"),
        },
        **options,
    )


def frozen(**options):
    return sequence(
        IMAGES,
        Frozen(Convolution2D(kernel_size=2, n_out=3, activation="tanh")),
        Convolution2D(n_out=3, activation="relu", kernel_size=2),
        Output(n_out=2),
        **{"updater": ADAM, **options},
    )


def recurrent(**options):
    return sequence(
        SERIES,
        Convolution1D(n_out=4, kernel_size=2, convolution_mode="same"),
        Bidirectional(LSTM(n_out=3), mode="concat"),
        RnnOutput(n_out=2),
        **{"updater": ADAM, **options},
    )


def segments(**options):
    return sequence(
        SERIES,
        LSTM(n_out=4),
        Dense(n_out=4, activation="tanh"),
        RnnOutput(n_out=2),
        backprop_type="truncated_bptt",
        tbptt_fwd_length=2,
        tbptt_back_length=2,
        **{"updater": ADAM, **options},
    )


NETWORKS = {
    "residual": residual,
    **{
        op: lambda op=op, **options: branches(op, **options)
        for op in ("add", "subtract", "product", "average", "max")
    },
    "frozen": frozen,
    "recurrent": recurrent,
    "segments": segments,
}
every_network = pytest.mark.parametrize("name", NETWORKS)


def batch_for(rng, name, n=6):
    classes = np.eye(2)
    if name in ("recurrent", "segments"):
        mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]] * (n // 2))
        labels = np.moveaxis(classes[rng.integers(0, 2, (n, 5))], -1, 1)
        return DataSet(rng.standard_normal((n, 3, 5)), labels, mask, mask)
    return DataSet(rng.standard_normal((n, 2, 6, 5)), classes[rng.integers(0, 2, n)])


def life(network, rng, name):
    """Return what comes of training and predictions of all sizes in turns."""
    found = []
    for n in (6, 6, 2, 10, 4, 6):
        batch = batch_for(rng, name, n)
        found.append(network.compute_gradients(batch))
        found.append(network.gradients.copy())
        network.fit(batch)
        asked = {"features_mask": batch.features_mask}
        found.append(network.output(batch.features, **asked))
        found.append(network.score_examples(batch))
        network.fit(batch)
    return [*found, network.params]


@every_network
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nothing_changes_by_a_bit(monkeypatch, name, dtype):
    lives = []
    for limit in (1, 1 << 60):
        monkeypatch.setattr(LIMIT, limit)
        network = NETWORKS[name](dtype=dtype, seed=3)
        lives.append(life(network, np.random.default_rng(5), name))
    for lent, own in zip(*lives, strict=True):
        np.testing.assert_array_equal(lent, own)


@every_network
def test_a_second_step_takes_no_more_memory(monkeypatch, rng, name):
    monkeypatch.setattr(LIMIT, 1)
    network, batch = NETWORKS[name](), batch_for(rng, name)
    network.fit(batch)
    held = network.workspace.nbytes
    network.fit(batch)
    assert network.workspace.nbytes == held


@every_network
def test_predictions_stay_as_they_are(monkeypatch, rng, name):
    monkeypatch.setattr(LIMIT, 1)
    network, batch = NETWORKS[name](), batch_for(rng, name)
    predicted = network.output(batch.features)
    kept = predicted.copy()
    network.fit(batch)
    network.output(batch.features + 1)
    np.testing.assert_array_equal(predicted, kept)


@every_network
def test_when_a_pass_begins_nothing_is_lent(monkeypatch, rng, name):
    monkeypatch.setattr(LIMIT, 1)
    network, batch = NETWORKS[name](), batch_for(rng, name)
    network.fit(batch)
    network.output(batch.features)
    network._program._forget_last_pass()
    memory = network.workspace._lent
    memory._take_back()
    assert not memory._watches


def deep(n_blocks):
    """Return a chain of convolutions, normalized and rectified."""
    layers = [
        layer
        for _ in range(n_blocks)
        for layer in (
            Convolution2D(n_out=8, **SAME),
            BatchNormalization(),
            RELU,
        )
    ]
    return sequence(
        Convolutional(height=32, width=32, channels=8),
        *layers,
        GlobalPooling(pooling_type="avg"),
        Output(n_out=2),
    )


def held_by(network, rng, *, training):
    n = 64
    # Each of several has a workspace of its own.
    network.threads = 1
    features = rng.standard_normal((n, 8, 32, 32), dtype=np.float32)
    if training:
        network.fit(DataSet(features, np.eye(2)[rng.integers(0, 2, n)]))
    else:
        network.output(features)
    return network.workspace._lent.nbytes / (n * 8 * 32 * 32 * 4)


def test_a_step_holds_two_arrays_a_block_and_those_it_works_on(rng):
    """The input of the normalization, and of the convolution behind it."""
    shallow, more = (held_by(deep(n), rng, training=True) for n in (4, 8))
    assert more - shallow == 2 * 4


def test_inference_holds_what_it_works_on(rng):
    shallow, more = (held_by(deep(n), rng, training=False) for n in (4, 8))
    assert more == shallow <= 3
