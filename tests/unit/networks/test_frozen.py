"""Frozen layers: what stays, what goes on learning, and what is in the score."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.dialects import EXACT
from daskdl.errors import OptionError
from daskdl.nn.conf.input_type import FeedForward
from tests.dialects import DL4J

ROWS = FeedForward(size=4)
ADAM = {"type": "adam", "learning_rate": 0.1}


def network(*layers, **options):
    options = {"updater": ADAM, "dtype": "float64", "activation": "tanh", **options}
    conf = dl.MultiLayerConfiguration(
        input=ROWS, layers=[*layers, dl.Output(n_out=2)], **options
    )
    return dl.MultiLayerNetwork(conf)


def dense(**options):
    return dl.Dense(n_out=3, **options)


@pytest.fixture
def data(rng):
    return dl.DataSet(rng.standard_normal((6, 4)), np.eye(2)[[0, 1, 0, 1, 1, 0]])


def moved(net, data, n=3):
    before = net.params.copy()
    for _ in range(n):
        net.fit(data)
    return {
        slot.name
        for slot in net.layout
        if (net.params != before)[slot.offset : slot.stop].any()
    }


BEHIND = {"1_W", "1_b", "2_W", "2_b"}


def test_a_frozen_layer_stays(data):
    net = network(dl.Frozen(layer=dense()), dense(), l2=0.1, weight_decay=0.1)
    assert moved(net, data) == BEHIND


def test_and_has_no_updater_state(data):
    frozen, plain = (
        network(dl.Frozen(layer=dense()), dense()),
        network(dense(), dense()),
    )
    assert plain.updater_state.size - frozen.updater_state.size == 2 * (4 * 3 + 3)


def test_what_is_in_front_of_it_learns_nothing(data):
    """DL4J takes the last update for its gradient, again and again."""
    net = network(dense(), dl.Frozen(layer=dense()), updater="sgd")
    assert moved(net, data) == {"2_W", "2_b"}


def test_but_what_regularization_does_to_it(data):
    net = network(dense(), dl.Frozen(layer=dense()), updater="sgd", l2=0.1)
    first = net.param_table()["0_W"].copy()
    net.fit(data)
    net.fit(data)
    np.testing.assert_allclose(net.param_table()["0_W"], first * (1 - 1e-4) ** 2)


def test_its_penalty_is_not_in_the_score(data):
    frozen = network(dl.Frozen(layer=dense()), l2=0.1)
    frozen.param_table()["0_W"][...] = 100
    assert frozen.compute_score(data) < 100


def test_it_drops_nothing(data):
    net = network(dl.Frozen(layer=dense(keep_probability=0.5)))
    assert not any(node.conf.draws_random_numbers for node in net.nodes)


def test_batch_normalization_in_it_uses_the_running_statistics(data):
    net = network(dl.Frozen(layer=dl.BatchNormalization()), dense())
    assert moved(net, data) == BEHIND


def test_in_a_graph_only_the_way_through_it_is_closed(data):
    conf = dl.ComputationGraphConfiguration(
        inputs={"in": ROWS},
        vertices={
            "front": dense(inputs="in"),
            "frozen": dl.Frozen(layer=dense(), inputs="front"),
            "open": dense(inputs="front"),
            "both": dl.MergeVertex(inputs=("frozen", "open")),
            "out": dl.Output(n_out=2, inputs="both"),
        },
        outputs=("out",),
    )
    net = dl.ComputationGraph(conf)
    names = {name.partition("_")[0] for name in moved(net, data)}
    assert names == {"front", "open", "out"}


def test_with_backprop_what_is_in_front_of_it_learns(data):
    net = network(dense(), dl.FrozenWithBackprop(layer=dense()))
    assert moved(net, data) == {"0_W", "0_b", "2_W", "2_b"}


def test_and_gets_the_gradient_that_it_had(data):
    frozen = network(dense(), dl.FrozenWithBackprop(layer=dense()))
    plain = network(dense(), dense())
    for net in (frozen, plain):
        net.params[...] = plain.params
        net.compute_gradients(data)
    np.testing.assert_allclose(frozen.gradients[:15], plain.gradients[:15])


@pytest.mark.parametrize(
    "layer", [dense(), dl.PReLU(), dl.FrozenWithBackprop(layer=dense())]
)
def test_with_backprop_its_own_gradient_is_0(data, layer):
    net = network(dl.FrozenWithBackprop(layer=layer))
    net.gradients[...] = np.nan
    net.compute_gradients(data)
    own = [slot for slot in net.layout if slot.name.startswith("0_")]
    np.testing.assert_array_equal(net.gradients[: own[-1].stop], 0)


PENALIZED = {"l2": 0.1, "weight_decay": 0.1, "updater": "sgd"}


def test_with_backprop_regularization_ends(data):
    net = network(dense(), dl.FrozenWithBackprop(layer=dense()), **PENALIZED)
    assert moved(net, data) == {"0_W", "0_b", "2_W", "2_b"}


def test_with_backprop_there_is_no_updater_state():
    kinds = dl.Frozen, dl.FrozenWithBackprop
    once, held = (network(kind(layer=dense())) for kind in kinds)
    assert held.updater_state.size == once.updater_state.size


def test_with_backprop_regularization_goes_on_in_dl4j(data):
    layer = dl.FrozenWithBackprop(layer=dense())
    net = network(dense(), layer, dialect=DL4J, **PENALIZED)
    assert "1_W" in moved(net, data)


@pytest.mark.parametrize("dialect", [EXACT, DL4J])
def test_but_is_not_in_the_score(data, dialect):
    net = network(dl.FrozenWithBackprop(layer=dense()), l2=0.1, dialect=dialect)
    net.param_table()["0_W"][...] = 100
    assert net.compute_score(data) < 100


def test_with_backprop_constraints_do_not_hold(data):
    constraint = {"type": "max_norm", "max_norm": 0.1, "dimensions": (0,)}
    net = network(dl.FrozenWithBackprop(layer=dense(constraints=(constraint,))))
    assert moved(net, data) == {"1_W", "1_b"}


def test_with_backprop_running_statistics_stay(data):
    net = network(dense(), dl.FrozenWithBackprop(layer=dl.BatchNormalization()))
    assert moved(net, data) == {"0_W", "0_b", "2_W", "2_b"}


@pytest.mark.parametrize("kind", [dl.Frozen, dl.FrozenWithBackprop])
def test_output_layers_cannot_be_frozen(kind):
    with pytest.raises(OptionError, match="layer: must be no output layer, got Output"):
        kind(layer=dl.Output(n_out=2)).output_type(ROWS)


@pytest.mark.parametrize("kind", [dl.Frozen, dl.FrozenWithBackprop])
def test_a_frozen_layer_has_the_parameters_of_its_layer(kind):
    shapes = kind(layer=dense()).parameter_shapes(ROWS)
    assert shapes == dense().parameter_shapes(ROWS)
