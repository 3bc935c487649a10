"""Networks in which parts rectify for the layer behind them, and the same without."""

import tracemalloc

import numpy as np
import pytest

from daskdl import (
    LSTM,
    Activation,
    BatchNormalization,
    ComputationGraph,
    ComputationGraphConfiguration,
    Convolution1D,
    Convolution2D,
    DataSet,
    Dense,
    ElementWiseVertex,
    Frozen,
    FrozenVertex,
    GlobalPooling,
    MultiDataSet,
    Output,
    Reshape,
    RnnOutput,
    Subsampling,
)
from daskdl.nn import structure
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent
from daskdl.nn.layers.stage import Stage
from tests.gradients import check_gradient
from tests.unit.networks.small import sequence

IDENTITY = {"activation": "identity"}
ROWS = FeedForward(size=4)
RELU = Activation(activation="relu")
SGD = {"type": "sgd", "learning_rate": 0.05}
# Of the largest number, after some iterations.
ROUNDING = {"float32": 1e-5, "float64": 1e-13}


def relu(source):
    return Activation(activation="relu", inputs=source)


def residual(**options):
    """Return a residual block of images behind a stem, and its output."""
    convolution = {
        "n_out": 3,
        "kernel_size": 3,
        "convolution_mode": "same",
        "has_bias": False,
        **IDENTITY,
    }
    vertices = {
        "stem-conv": Convolution2D(inputs="image", **convolution),
        "stem-norm": BatchNormalization(inputs="stem-conv", beta=0.2),
        "stem": relu("stem-norm"),
        "conv": Convolution2D(inputs="stem", **convolution),
        "norm": BatchNormalization(inputs="conv"),
        "sum": ElementWiseVertex(op="add", inputs=["norm", "stem"]),
        "block": relu("sum"),
        "means": GlobalPooling(pooling_type="avg", inputs="block"),
        "out": Output(n_out=2, inputs="means"),
    }
    conf = ComputationGraphConfiguration(
        inputs={"image": Convolutional(height=5, width=4, channels=2)},
        vertices=vertices,
        outputs="out",
        updater=SGD,
        **options,
    )
    return ComputationGraph(conf)


def dense_rows(**options):
    return sequence(
        ROWS,
        Dense(n_out=5, **IDENTITY),
        RELU,
        Dense(n_out=6, has_bias=False, **IDENTITY),
        BatchNormalization(gamma=0.7),
        RELU,
        Output(n_out=2),
        updater=SGD,
        **options,
    )


def convolution(**options):
    return sequence(
        Convolutional(height=5, width=4, channels=2),
        Convolution2D(n_out=3, kernel_size=2, **IDENTITY),
        RELU,
        Output(n_out=2),
        updater=SGD,
        **options,
    )


def series(**options):
    return sequence(
        Recurrent(size=3),
        Dense(n_out=4, **IDENTITY),
        RELU,
        Convolution1D(n_out=4, kernel_size=3, convolution_mode="same", **IDENTITY),
        RELU,
        BatchNormalization(use_log_std=False),
        RELU,
        LSTM(n_out=3),
        RnnOutput(n_out=2),
        updater=SGD,
        **options,
    )


def pooled(**options):
    same = {"convolution_mode": "same", "kernel_size": (3, 2)}
    return sequence(
        Convolutional(height=5, width=4, channels=2),
        Convolution2D(n_out=3, activation="relu", **same),
        Subsampling(),
        Convolution2D(n_out=4, has_bias=False, **IDENTITY, **same),
        Subsampling(kernel_size=(1, 2), stride=(1, 2)),
        Output(n_out=2),
        updater=SGD,
        **options,
    )


NETWORKS = {
    "residual block": residual,
    "pooled": pooled,
    "dense": dense_rows,
    "convolution": convolution,
    "series": series,
}
every_network = pytest.mark.parametrize("name", NETWORKS)
both_types = pytest.mark.parametrize("dtype", ROUNDING)
both_backends = pytest.mark.parametrize("backend", ["numba", "numpy"])


def batch_for(rng, name, n=6):
    if name == "series":
        mask = np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]] * (n // 2))
        labels = np.moveaxis(np.eye(2)[rng.integers(0, 2, (n, 5))], -1, 1)
        return DataSet(rng.standard_normal((n, 3, 5)), labels, mask, mask)
    shape = (n, 4) if name == "dense" else (n, 2, 5, 4)
    return DataSet(rng.standard_normal(shape), np.eye(2)[rng.integers(0, 2, n)])


@pytest.fixture
def unfused(monkeypatch):
    """Return what makes a network in which every rectifier works for itself."""

    def make(network):
        with monkeypatch.context() as patch:
            patch.setattr(structure, "join_parts", lambda parts, outputs: None)
            return network.clone()

    return make


def handed_through(network):
    """Return the names of the layers that leave their work to the part in front."""
    return [
        layer.name for layer in network._layers if vars(layer).get("_is_done_before")
    ]


def close(actual, expected, dtype):
    largest = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, 0, ROUNDING[dtype] * largest)


@both_backends
@both_types
@every_network
def test_gradients_are_those_of_a_network_without(
    rng, monkeypatch, unfused, name, dtype, backend
):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", backend)
    network = NETWORKS[name](dtype=dtype)
    plain, batch = unfused(network), batch_for(rng, name)
    close(network.compute_gradients(batch), plain.compute_gradients(batch), dtype)
    close(network.gradients, plain.gradients, dtype)


@both_types
@every_network
def test_training_goes_as_in_a_network_without(rng, unfused, name, dtype):
    network = NETWORKS[name](dtype=dtype)
    plain = unfused(network)
    # The last minibatch is short.
    batches = [batch_for(rng, name, n) for n in (6, 6, 6, 4)]
    network.fit(batches)
    plain.fit(batches)
    close(network.params, plain.params, dtype)


@both_backends
@both_types
@every_network
def test_predictions_are_those_of_a_network_without(
    rng, monkeypatch, unfused, name, dtype, backend
):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", backend)
    network, batch = NETWORKS[name](dtype=dtype), batch_for(rng, name)
    network.fit(batch)
    plain = unfused(network)
    asked = {"features_mask": batch.features_mask}
    actual = network.output(batch.features, **asked)
    close(actual, plain.output(batch.features, **asked), dtype)


@every_network
def test_the_gradient_is_that_of_the_score(rng, name):
    network, batch = NETWORKS[name](dtype="float64"), batch_for(rng, name, 4)
    # Away from the kinks, where a number would be 0.
    network.params[...] += rng.standard_normal(network.n_params) / 10

    def loss_and_grad(params):
        network.params[...] = params
        loss = network.compute_gradients(batch)
        for slot in network.running_slots:
            # Not a gradient but the update of a running statistic.
            network.gradients[slot.offset : slot.stop] = 0
        return loss, network.gradients

    check_gradient(loss_and_grad, network.params.copy())


@every_network
def test_rectifiers_and_poolings_are_left_to_what_is_in_front(name):
    network = NETWORKS[name]()
    left = [
        node.name
        for node in network.nodes
        if isinstance(node.conf, (Activation, Subsampling))
    ]
    assert handed_through(network) == left


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_not_a_number_stays_to_be_seen(rng, unfused, value):
    network = residual()
    plain, batch = unfused(network), batch_for(rng, "residual block")
    batch.features[1, 0, 2, 2] = value
    network.compute_gradients(batch)
    plain.compute_gradients(batch)
    np.testing.assert_array_equal(
        np.isnan(network.gradients), np.isnan(plain.gradients)
    )


def graph(vertices, outputs="out", **options):
    conf = ComputationGraphConfiguration(
        inputs={"a": ROWS, "b": ROWS}, vertices=vertices, outputs=outputs, **options
    )
    return ComputationGraph(conf)


def behind(source, reader="relu"):
    """Return a graph in which a rectifier reads `source`."""
    out = Output(n_out=2, inputs=[reader, "b"])
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


OTHER_POOLINGS = {
    "windows that overlap": {"kernel_size": 3},
    "windows with gaps": {"kernel_size": 1},
    "averages": {"pooling_type": "avg"},
    "padding": {"padding": 1},
    "padding by mode": {"convolution_mode": "same"},
    "dilation": {"dilation": 2},
}


@pytest.mark.parametrize("why", OTHER_POOLINGS)
def test_a_pooling_works_for_itself_where_it_must(why):
    network = sequence(
        Convolutional(height=9, width=9, channels=2),
        Convolution2D(n_out=3, kernel_size=2, **IDENTITY),
        Subsampling(**OTHER_POOLINGS[why]),
        Output(n_out=2),
    )
    assert handed_through(network) == []


def test_a_pooling_behind_another_activation_works_for_itself():
    network = sequence(
        Convolutional(height=9, width=9, channels=2),
        Convolution2D(n_out=3, kernel_size=2, activation="tanh"),
        Subsampling(),
        Output(n_out=2),
    )
    assert handed_through(network) == []


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


def normalized(*layers, **options):
    """Return a network whose running statistics are not those it began with."""
    network = sequence(
        Convolutional(height=5, width=4, channels=2),
        *layers,
        Output(n_out=2),
        updater=SGD,
        **options,
    )
    rng = np.random.default_rng(7)
    for slot in network.running_slots:
        part = network.params[slot.offset : slot.stop]
        part += rng.uniform(0, 0.5, part.shape)
    return network


NORMALIZED = {
    "a bias": [Convolution2D(n_out=3, kernel_size=2, bias_init=0.3, **IDENTITY)],
    "no bias": [Convolution2D(n_out=3, kernel_size=2, has_bias=False, **IDENTITY)],
    "padding": [Convolution2D(n_out=3, convolution_mode="same", **IDENTITY)],
    "a rectifier in between": [
        Convolution2D(n_out=3, kernel_size=2, activation="relu")
    ],
    "a pooling in between": [
        Convolution2D(n_out=3, kernel_size=2, **IDENTITY),
        Subsampling(),
    ],
    "a dense layer": [Dense(n_out=3, **IDENTITY)],
}
NORMS = {
    "plain": [BatchNormalization(beta=0.2, gamma=0.7)],
    "rectified": [BatchNormalization(beta=0.2), RELU],
    "locked": [BatchNormalization(lock_gamma_beta=True, gamma=0.7, beta=0.2)],
    "variance": [BatchNormalization(use_log_std=False, eps=0.1)],
}


@both_backends
@both_types
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("front", NORMALIZED)
def test_weights_take_the_factors_of_a_normalization(
    rng, monkeypatch, unfused, front, norm, dtype, backend
):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", backend)
    network = normalized(*NORMALIZED[front], *NORMS[norm], dtype=dtype)
    plain, x = unfused(network), rng.standard_normal((3, 2, 5, 4))
    close(network.output(x), plain.output(x), dtype)


def test_factors_are_those_of_the_parameters_of_now(rng, unfused):
    network = normalized(*NORMALIZED["a bias"], *NORMS["plain"], dtype="float64")
    x = rng.standard_normal((3, 2, 5, 4))
    before = network.output(x)
    network.fit(DataSet(x, np.eye(2)[[0, 1, 1]]))
    assert np.abs(network.output(x) - before).max() > 1e-3
    close(network.output(x), unfused(network).output(x), "float64")


def test_a_copy_is_joined_too():
    assert handed_through(residual().clone()) == ["stem", "block"]


@every_network
def test_configuration_and_summary_know_nothing_of_it(unfused, name):
    network = NETWORKS[name]()
    plain = unfused(network)
    assert network.summary() == plain.summary()
    assert network.conf == plain.conf


def test_a_step_allocates_nothing_of_the_size_of_activations(rng):
    network = residual()
    batch = batch_for(rng, "residual block", 300)
    network.fit(batch)
    largest = max(
        part.layer._output.nbytes
        for _, part in network._parts
        if isinstance(part, Stage) and "_output" in vars(part.layer)
    )
    entered = network._border.features(network._checked(batch))
    labels = network._border.labels(network._checked(batch))

    def iterate():
        network._forward(*entered, training=True, rng=None)
        network._backward(*labels)

    iterate()
    tracemalloc.start()
    try:
        iterate()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < largest / 4
