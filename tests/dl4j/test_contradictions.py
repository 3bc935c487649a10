"""Where DL4J contradicts itself: why random_networks.py does not draw some networks.

Each test compares DL4J with DL4J. One that fails says that a network can be drawn.
"""

import zipfile

import numpy as np
import pytest

from daskdl.data.dataset import DataSet
from daskdl.dl4j.network import model_zip
from daskdl.nn.batches import as_arrays
from tests.dl4j.random_parts import build, new
from tests.dl4j.real_dl4j import RefusedError

DENSE = build("DenseLayer", ("nOut", 4), ("activation", "TANH"))
PRELU = build("PReLULayer", ("inputShape", [4]))
LOSS = (("lossFunction", "MSE"), ("activation", "IDENTITY"))
OUT = build("OutputLayer", *LOSS, ("nOut", 3))
RNN_OUT = build("RnnOutputLayer", *LOSS, ("nOut", 3))
LSTM = build("LSTM", ("nOut", 4))


def rows(n_features=4):
    return {"static": "InputType", "call": "feedForward", "args": [n_features]}


def series(*data_format):
    return {"static": "InputType", "call": "recurrent", "args": [3, 6, *data_format]}


def sequence(input_type, *layers, then=()):
    return {"layers": layers, "input_types": [input_type], **_common(then)}


def graph(input_type, *vertices, then=()):
    """Return a graph that begins at "in" and ends with the last vertex."""
    ends = [vertices[-1][0]]
    described = {"inputs": ["in"], "vertices": vertices, "outputs": ends}
    return {**described, "input_types": [input_type], **_common(then)}


def _common(then):
    updater = ["updater", new("Sgd", 0.1)]
    return {"global": [["seed", 1], updater], "then": list(then)}


def cut(length):
    return [["backpropType", "TruncatedBPTT"], ["tBPTTLength", length]]


def minibatches(rng, features, labels, *, n=2, mask=None):
    return [
        DataSet(
            rng.standard_normal((5, *features)),
            rng.standard_normal((5, *labels)),
            mask,
            None,
        )
        for _ in range(n)
    ]


def built(dl4j, described):
    return dl4j.build(described, seed=1)[0]


def trained(dl4j, model, batches, **options):
    """Return the network, as it is here, that DL4J has trained."""
    return model_zip.load(dl4j.fit(model, batches, dtype="float64", **options)[1])


def test_graphs_make_one_pass_of_pretraining_whatever_they_are_asked_for(dl4j, rng):
    encoder = build("AutoEncoder", ("nOut", 3), ("corruptionLevel", 0.0))
    batches = minibatches(rng, [4], [3])
    described = graph(rows(), ["encoder", encoder, ["in"]], ["out", OUT, ["encoder"]])
    model = built(dl4j, described)
    once, twice = (trained(dl4j, model, batches, pretrain=n) for n in (1, 2))
    np.testing.assert_array_equal(once.params, twice.params)
    model = built(dl4j, sequence(rows(), encoder, OUT))
    once, twice = (trained(dl4j, model, batches, pretrain=n) for n in (1, 2))
    assert np.abs(once.params - twice.params).max() > 1e-6


def test_sequences_pretrain_each_layer_on_the_features_themselves(dl4j, rng):
    encoder = build("AutoEncoder", ("nOut", 3), ("corruptionLevel", 0.0))
    wider = build("DenseLayer", ("nOut", 5), ("activation", "TANH"))
    batches = minibatches(rng, [4], [3], n=1)
    described = graph(
        rows(),
        ["wider", wider, ["in"]],
        ["encoder", encoder, ["wider"]],
        ["out", OUT, ["encoder"]],
    )
    plain, pretrained = (
        trained(dl4j, built(dl4j, described), batches, pretrain=n) for n in (0, 1)
    )
    assert np.abs(plain.params - pretrained.params).max() > 1e-6
    model = built(dl4j, sequence(rows(), wider, encoder, OUT))
    with pytest.raises(RefusedError):
        trained(dl4j, model, batches, pretrain=1)


def test_graphs_forget_what_wrapped_layers_carry_in_files_only(dl4j, rng):
    wrapped = new("FrozenLayerWithBackprop", LSTM)
    described = graph(
        series(), ["lstm", wrapped, ["in"]], ["out", RNN_OUT, ["lstm"]], then=cut(4)
    )
    first, second = minibatches(rng, [3, 6], [3, 6])
    model = built(dl4j, described)
    in_one_go = trained(dl4j, model, [first, second])
    _, stored = dl4j.fit(model, [first], dtype="float64")
    by_a_file = trained(dl4j, stored, [second])
    assert np.abs(in_one_go.params - by_a_file.params).max() > 1e-6


@pytest.mark.parametrize(("data_format", "n_updates"), [("NCW", 2), ("NWC", 1)])
def test_truncation_takes_the_last_axis_for_time(dl4j, rng, data_format, n_updates):
    last = [("dataFormat", data_format)] if data_format == "NWC" else []
    out = build("RnnOutputLayer", *LOSS, ("nOut", 3), *last)
    shape = [3, 6] if data_format == "NCW" else [6, 3]
    model = built(dl4j, sequence(series(data_format), out, then=cut(3)))
    network = trained(dl4j, model, minibatches(rng, shape, shape, n=1))
    assert network.iteration_count == n_updates


@pytest.mark.parametrize(
    "layer",
    [PRELU, build("ActivationLayer", ("activation", "TANH"))],
    ids=["prelu", "activation"],
)
def test_what_activates_overwrites_what_other_vertices_read(dl4j, rng, layer):
    both = ["both", new("MergeVertex"), ["in", "one"]]
    described = graph(rows(), ["one", layer, ["in"]], both, ["out", DENSE, ["both"]])
    model = built(dl4j, {**described, "outputs": ["out", "both"]})
    (batch,) = minibatches(rng, [4], [3], n=1)
    _, merged = dl4j.output(model, as_arrays("test", batch), dtype="float64")
    np.testing.assert_array_equal(merged[:, :4], merged[:, 4:])
    assert np.abs(merged[:, :4] - batch.features).max() > 0.01


def test_frozen_with_backprop_what_activates_has_another_gradient(dl4j, rng):
    activation = build("ActivationLayer", ("activation", "TANH"))
    batches = minibatches(rng, [4], [3], n=1)
    plain, frozen = (
        trained(dl4j, built(dl4j, sequence(rows(), DENSE, layer, OUT)), batches)
        for layer in (activation, new("FrozenLayerWithBackprop", activation))
    )
    assert np.abs(plain.params - frozen.params).max() > 1e-6


@pytest.mark.parametrize(
    "resizing",
    [
        build("Upsampling1D", ("size", 2)),
        build("ZeroPadding1DLayer", args=[1]),
        build("Cropping1D", args=[1]),
    ],
    ids=["upsampling", "padding", "cropping"],
)
def test_masks_keep_the_length_that_series_had(dl4j, rng, resizing):
    pool = build("GlobalPoolingLayer", ("poolingType", "AVG"))
    model = built(dl4j, sequence(series(), resizing, pool, OUT))
    (batch,) = minibatches(rng, [3, 6], [3], n=1, mask=np.ones((5, 6)))
    with pytest.raises(RefusedError):
        dl4j.output(model, as_arrays("test", batch), dtype="float64")


def test_files_say_nothing_of_volumes_where_no_layer_has_weights(dl4j):
    args = ["NCDHW", 4, 5, 4, 3]
    volumes = {"static": "InputType", "call": "convolutional3D", "args": args}
    pool = build("GlobalPoolingLayer", ("poolingType", "AVG"))
    with zipfile.ZipFile(built(dl4j, sequence(volumes, pool, OUT))) as file:
        said = file.read("configuration.json")
    assert b"DHW" not in said
    assert b"3D" not in said


ENCODER = build("AutoEncoder", ("nOut", 3))
FAILING = {
    "no bias": sequence(
        series(), build("RnnOutputLayer", *LOSS, ("nOut", 3), ("hasBias", False))
    ),
    "frozen autoencoder": sequence(rows(), new("FrozenLayer", ENCODER), OUT),
    "frozen normalization": sequence(
        rows(), new("FrozenLayerWithBackprop", build("BatchNormalization")), OUT
    ),
    "normalized series": sequence(series(), build("BatchNormalization"), RNN_OUT),
    "masks of zeros both ways": sequence(
        series(),
        new("Bidirectional", "ADD", new("MaskZeroLayer", LSTM, 0.0)),
        RNN_OUT,
    ),
}


@pytest.mark.parametrize("described", FAILING.values(), ids=FAILING)
def test_dl4j_cannot_build_use_or_train_it(dl4j, rng, described):
    is_rows = described["input_types"][0]["call"] == "feedForward"
    shapes = ([4], [3]) if is_rows else ([3, 6], [3, 6])
    (batch,) = minibatches(rng, *shapes, n=1)
    with pytest.raises(RefusedError):
        _used(dl4j, described, batch)


def _used(dl4j, described, batch):
    model = built(dl4j, described)
    dl4j.output(model, as_arrays("test", batch), dtype="float64")
    trained(dl4j, model, [batch])
