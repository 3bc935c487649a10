"""Graphs at work: outputs that others read, stacks, frozen vertices, orders."""

import numpy as np
import pytest

from daskdl import (
    AttentionVertex,
    ComputationGraph,
    ComputationGraphConfiguration,
    Dense,
    ElementWiseVertex,
    FeedForward,
    Frozen,
    FrozenVertex,
    GlobalPooling,
    L2Vertex,
    MultiDataSet,
    Output,
    Recurrent,
    ScaleVertex,
    StackVertex,
    UnstackVertex,
)
from daskdl.dialects import EXACT
from tests.dialects import DL4J
from tests.gradients import check_gradient

TWO = {"a": FeedForward(size=4), "b": FeedForward(size=4)}
SERIES = {"q": Recurrent(size=3), "k": Recurrent(size=2)}


def graph(vertices, outputs="out", inputs=TWO, **options):
    conf = ComputationGraphConfiguration(
        inputs=inputs,
        vertices=vertices,
        outputs=outputs,
        dtype="float64",
        activation="tanh",
        **options,
    )
    return ComputationGraph(conf)


def dense(inputs, n_out=3):
    return Dense(n_out=n_out, inputs=inputs)


def out(inputs, n_out=2, **options):
    return Output(n_out=n_out, inputs=inputs, **options)


def read_output():
    return graph(
        {
            "d": dense("a"),
            "first": out("d"),
            "second": out(["first", "b"]),
            "third": dense("first"),
            "out": out("third", loss="mse"),
        },
        outputs=["first", "second", "out"],
    )


def first_layer_is_an_output():
    vertices = {"first": out("a"), "second": out(["first", "b"])}
    return graph(vertices, outputs=["first", "second"])


def output_in_the_middle():
    return graph({"first": out("a"), "out": out(["first", "b"])})


def frozen_between():
    return graph(
        {
            "d": dense("a"),
            "f": FrozenVertex(vertex=ScaleVertex(scale_factor=2), inputs="d"),
            "out": out(["f", "b"]),
        }
    )


def shared_layer():
    return graph(
        {
            "stack": StackVertex(inputs=["a", "b"]),
            "d": dense("stack"),
            "first": UnstackVertex(from_=0, stack_size=2, inputs="d"),
            "second": UnstackVertex(from_=1, stack_size=2, inputs="d"),
            "distance": L2Vertex(inputs=["first", "second"]),
            "out": out(["distance", "first"]),
        }
    )


GRAPHS = {
    "an output that others read": read_output,
    "a first layer that is an output": first_layer_is_an_output,
    "an output layer in the middle": output_in_the_middle,
    "a layer behind a stack": shared_layer,
    "a frozen vertex": frozen_between,
}


def minibatch(network, rng, n=3):
    features = [rng.standard_normal((n, 4)) for _ in network.inputs]
    labels = [np.eye(2)[rng.integers(0, 2, n)] for _ in network.outputs]
    return MultiDataSet(features, labels)


@pytest.mark.parametrize("name", GRAPHS)
def test_the_gradient_of_a_graph_is_that_of_its_score(rng, name):
    network = GRAPHS[name]()
    batch = minibatch(network, rng)

    def loss_and_grad(vector):
        network.params[...] = vector
        return network.compute_gradients(batch), network.gradients

    check_gradient(loss_and_grad, network.params.copy())


def test_an_output_in_the_middle_is_its_activation(rng):
    network = output_in_the_middle()
    batch = minibatch(network, rng)
    table = network.param_table()
    first = np.exp(batch.features[0] @ table["first_W"])
    first /= first.sum(axis=1, keepdims=True)
    joined = np.hstack([first, batch.features[1]])
    expected = np.exp(joined @ table["out_W"])
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(network.output(batch.features), expected)


def test_parameters_lie_in_the_order_that_is_given():
    vertices = {"d": dense("a"), "e": dense("b", 2), "out": out(["d", "e"])}
    plain = graph(vertices)
    names = ["b", "a", "e", "d", "out-merge", "out"]
    ordered = graph(vertices, order=names)
    assert next(iter(plain.param_table())) == "d_W"
    assert next(iter(ordered.param_table())) == "e_W"


def attention(dialect=EXACT, **options):
    vertices = {
        "att": AttentionVertex(
            n_out=4, n_heads=2, project_input=True, inputs=["q", "k", "k"], **options
        ),
        "pool": GlobalPooling(pooling_type="avg", inputs="att"),
        "out": out("pool"),
    }
    return graph(vertices, inputs=SERIES, dialect=dialect)


def test_nothing_in_front_of_a_frozen_layer_learns(rng):
    network = graph(
        {
            "d": dense("a"),
            "f": Frozen(layer=Dense(n_out=3), inputs="d"),
            "out": out("f"),
        },
        inputs={"a": TWO["a"]},
    )
    before = network.params.copy()
    for _ in range(2):
        network.fit(minibatch(network, rng))
    learned = network.layout.views(network.params != before)
    assert not any(learned[name].any() for name in ("d_W", "d_b", "f_W", "f_b"))
    assert learned["out_W"].all()


def series(rng, n=3):
    features = [rng.standard_normal((n, 3, 5)), rng.standard_normal((n, 2, 4))]
    masks = [np.ones((n, 5)), np.ones((n, 4))]
    masks[0][0, 3:] = masks[1][1, 2:] = 0
    return MultiDataSet(features, [np.eye(2)[[0, 1, 0]]], masks, None)


def test_the_gradient_behind_attention_counts_twice_in_dl4j(rng):
    """That of the layers above counts once."""
    network = attention(DL4J)
    batch = series(rng)
    network.compute_gradients(batch)
    gradient = network.gradients.copy()
    start = network.params.copy()
    counts = np.ones(network.n_params)
    for name, view in network.layout.views(counts).items():
        view[...] = 2 if name.startswith("att_") else 1

    def loss_and_grad(vector):
        network.params[...] = vector
        return network.compute_gradients(batch), gradient / counts

    # Only here: the gradient belongs to the start.
    score, _ = loss_and_grad(start)
    step = 1e-6
    for i in range(0, network.n_params, 7):
        moved = start.copy()
        moved[i] += step
        above, _ = loss_and_grad(moved)
        numeric = (above - score) / step
        assert gradient[i] / counts[i] == pytest.approx(numeric, abs=1e-5)


def test_attention_learns_as_its_options_say(rng):
    """A vertex with parameters has an updater of its own, like a layer."""
    network = attention(updater={"type": "sgd", "learning_rate": 0.5})
    batch, before = series(rng), network.params.copy()
    network.compute_gradients(batch)
    expected = network.layout.views(before - 0.5 * network.gradients)["att_Wq"]
    network.fit(batch)
    np.testing.assert_allclose(network.param_table()["att_Wq"], expected)


def test_attention_is_penalized_as_its_options_say(rng):
    plain, penalized = attention(), attention(l2=9.0)
    batch = series(rng)
    plain.compute_gradients(batch)
    penalized.compute_gradients(batch)
    difference = penalized.compute_update() - plain.compute_update()
    shrinks = penalized.layout.views(difference * penalized.params > 0)
    assert shrinks["att_Wq"].all()
    assert not shrinks["out_W"].any()


@pytest.mark.parametrize(("dialect", "is_scored"), [(EXACT, True), (DL4J, False)])
def test_the_score_knows_of_it_but_in_dl4j(rng, dialect, is_scored):
    plain, penalized = attention(dialect), attention(dialect, l2=9.0)
    batch = series(rng)
    table = plain.param_table()
    squares = sum((table[name] ** 2).sum() for name in table if name[:3] == "att")
    more = penalized.compute_gradients(batch) - plain.compute_gradients(batch)
    assert more == pytest.approx(4.5 * squares * is_scored)


def test_what_a_frozen_vertex_holds_does_not_learn(rng):
    vertices = {
        "att": FrozenVertex(
            vertex=AttentionVertex(n_out=4, project_input=True),
            inputs=["q", "k", "k"],
        ),
        "pool": GlobalPooling(pooling_type="avg", inputs="att"),
        "out": out("pool"),
    }
    network = graph(vertices, inputs=SERIES, updater="sgd", l2=0.1)
    before = network.params.copy()
    network.fit(series(rng))
    learned = network.layout.views(network.params != before)
    assert not any(learned[f"att_W{name}"].any() for name in "qkvo")
    assert learned["out_W"].all()


def test_series_behind_a_stack_keep_their_examples(rng):
    """Preprocessors behind it see twice as many examples as the minibatch has."""
    rows = Dense(n_out=3, inputs="stack", preprocessor="rnn_to_feed_forward")
    again = GlobalPooling(
        pooling_type="avg", inputs="d", preprocessor="feed_forward_to_rnn"
    )
    explicit = {
        "stack": StackVertex(inputs=["a", "b"]),
        "d": rows,
        "pool": again,
        "first": UnstackVertex(from_=0, stack_size=2, inputs="pool"),
        "second": UnstackVertex(from_=1, stack_size=2, inputs="pool"),
        "sum": ElementWiseVertex(op="add", inputs=["first", "second"]),
        "out": out("sum"),
    }
    implied = {
        **explicit,
        "d": dense("stack"),
        "pool": GlobalPooling(pooling_type="avg", inputs="d"),
    }
    inputs = {"a": Recurrent(size=2), "b": Recurrent(size=2)}
    first, second = (graph(v, inputs=inputs) for v in (explicit, implied))
    second.params[...] = first.params
    features = [rng.standard_normal((3, 2, 4)) for _ in inputs]
    np.testing.assert_allclose(
        first.output(features), second.output(features), rtol=1e-12
    )
