"""Which rectifiers are left to the part in front of them."""

import numpy as np
import pytest

from daskdl import (
    Activation,
    BatchNormalization,
    ComputationGraph,
    ComputationGraphConfiguration,
    Dense,
    ElementWiseVertex,
    Frozen,
    FrozenVertex,
    MultiDataSet,
    Output,
    Reshape,
)
from daskdl.nn.conf.input_type import FeedForward
from tests.gradients import check_gradient
from tests.unit.networks.fusion_cases import close, handed_through, relu

ROWS = FeedForward(size=4)


def graph(vertices, outputs="out", **options):
    conf = ComputationGraphConfiguration(
        inputs={"a": ROWS, "b": ROWS}, vertices=vertices, outputs=outputs, **options
    )
    return ComputationGraph(conf)


def behind(source):
    """Return a graph in which a rectifier reads `source`."""
    out = Output(n_out=2, inputs=["relu", "b"])
    return {"source": source, "relu": relu("source"), "out": out}


NORM = BatchNormalization(inputs="a")
SEPARATE = {
    "another reader": (
        {**behind(NORM), "out": Output(n_out=2, inputs=["relu", "b", "source"])},
        "out",
    ),
    "an output of the network": (
        {**behind(Output(n_out=3, inputs="a")), "norm": NORM.replaced(inputs="source")},
        ["source", "out", "norm"],
    ),
    "a network input": ({**behind(NORM), "relu": relu("a")}, ["out", "source"]),
    "a locked scale": (behind(NORM.replaced(lock_gamma_beta=True)), "out"),
    "a frozen layer": (
        behind(Frozen(layer=BatchNormalization(), inputs="a")),
        "out",
    ),
    "a frozen vertex": (
        behind(FrozenVertex(vertex=ElementWiseVertex(op="add"), inputs=["a", "b"])),
        "out",
    ),
    "a difference": (
        behind(ElementWiseVertex(op="subtract", inputs=["a", "b"])),
        "out",
    ),
    "a sum of three": (
        behind(ElementWiseVertex(op="add", inputs=["a", "b", "a"])),
        "out",
    ),
    "a dense layer with an activation": (
        behind(Dense(n_out=3, activation="tanh", inputs="a")),
        "out",
    ),
    "another activation": (
        {**behind(NORM), "relu": Activation(activation="relu6", inputs="source")},
        "out",
    ),
    "a rectifier with options": (
        {
            **behind(NORM),
            "relu": Activation(
                activation={"type": "relu", "threshold": 0.1}, inputs="source"
            ),
        },
        "out",
    ),
    "a rectifier with a preprocessor": (
        {
            **behind(NORM),
            "relu": Activation(
                activation="relu",
                preprocessor=Reshape(target_shape=(4,)),
                inputs="source",
            ),
        },
        "out",
    ),
}


@pytest.mark.parametrize("why", SEPARATE)
def test_a_rectifier_works_for_itself_where_it_must(why):
    assert handed_through(graph(*SEPARATE[why])) == []


@pytest.mark.parametrize("why", ["another reader", "a frozen layer", "a locked scale"])
def test_such_a_network_is_trained_as_ever(rng, unfused, why):
    network = graph(*SEPARATE[why], dtype="float64")
    plain = unfused(network)
    labels = np.eye(2)[rng.integers(0, 2, 5)]
    batch = MultiDataSet([rng.standard_normal((5, 4)) for _ in "ab"], [labels])
    network.fit(batch)
    plain.fit(batch)
    np.testing.assert_array_equal(network.params, plain.params)


def test_a_sum_that_repeats_an_input_is_rectified_too(rng, unfused):
    vertices = {
        "one": Dense(n_out=1, activation="tanh", inputs="b"),
        "many": Dense(n_out=4, activation="tanh", inputs="a"),
        "source": ElementWiseVertex(op="add", inputs=["many", "one"]),
        "relu": relu("source"),
        "out": Output(n_out=2, inputs="relu"),
    }
    network = graph(vertices, dtype="float64")
    plain = unfused(network)
    labels = np.eye(2)[rng.integers(0, 2, 5)]
    batch = MultiDataSet([rng.standard_normal((5, 4)) for _ in "ab"], [labels])
    assert handed_through(network) == ["relu"]
    network.fit(batch)
    plain.fit(batch)
    close(network.params, plain.params, "float64")


def test_the_gradient_of_a_sum_of_one_thing_twice_counts_twice(rng):
    vertices = {
        "d": Dense(n_out=3, activation="tanh", inputs="a"),
        "sum": ElementWiseVertex(op="add", inputs=["d", "d"]),
        "relu": relu("sum"),
        "out": Output(n_out=2, inputs=["relu", "b"]),
    }
    network = graph(vertices, dtype="float64")
    labels = np.eye(2)[rng.integers(0, 2, 5)]
    batch = MultiDataSet([rng.standard_normal((5, 4)) for _ in "ab"], [labels])

    def loss_and_grad(params):
        network.params[...] = params
        return network.compute_gradients(batch), network.gradients

    check_gradient(loss_and_grad, network.params.copy())
