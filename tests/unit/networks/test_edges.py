"""The smallest batches and series, and what predicting must not change."""

import numpy as np
import pytest

from daskdl import (
    LSTM,
    Activation,
    BatchNormalization,
    Convolution2D,
    Dense,
    Dropout,
    GlobalPooling,
    Output,
    RnnOutput,
    Subsampling,
)
from daskdl.data.dataset import DataSet
from daskdl.errors import DataError, ShapeError
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent
from tests.gradients import check_gradient
from tests.unit.layers.cases import CASES
from tests.unit.networks.small import sequence

ROWS, SERIES, IMAGES = (4,), (3, 5), (2, 6, 6)


def dense(**options):
    layers = [Dense(n_out=5), Output(n_out=3)]
    return sequence(FeedForward(size=4), *layers, **options)


def restless(**options):
    """Everything that training does otherwise than predicting."""
    layers = [
        Dense(n_out=5, keep_probability=0.7),
        BatchNormalization(),
        Dropout(keep_probability=0.8),
        Output(n_out=3),
    ]
    return sequence(FeedForward(size=4), *layers, **options)


def recurrent(**options):
    layers = [LSTM(n_out=4), LSTM(n_out=3), RnnOutput(n_out=3)]
    return sequence(Recurrent(size=3), *layers, **options)


def pooled_series(**options):
    layers = [LSTM(n_out=4), GlobalPooling(pooling_type="avg"), Output(n_out=3)]
    return sequence(Recurrent(size=3), *layers, **options)


def images(**options):
    layers = [
        Convolution2D(n_out=3, kernel_size=3, convolution_mode="same"),
        Subsampling(),
        Dense(n_out=4),
        Output(n_out=3),
    ]
    return sequence(Convolutional(height=6, width=6, channels=2), *layers, **options)


NETWORKS = {
    "dense": (dense, ROWS),
    "restless": (restless, ROWS),
    "recurrent": (recurrent, SERIES),
    "pooled series": (pooled_series, SERIES),
    "images": (images, IMAGES),
}
every_network = pytest.mark.parametrize("name", NETWORKS)
OPTIONS = {"dtype": "float64", "activation": "tanh"}


def make(name, **options):
    return NETWORKS[name][0](**{**OPTIONS, **options})


def data(rng, name, n, steps=None):
    shape = NETWORKS[name][1]
    if steps is not None:
        shape = (shape[0], steps)
    classes = rng.integers(0, 3, (n, *shape[1:]) if name == "recurrent" else n)
    labels = np.moveaxis(np.eye(3)[classes], -1, 1)
    return DataSet(rng.standard_normal((n, *shape)), labels)


def check_whole_gradient(network, batch):
    def loss_and_grad(vector):
        network.params[...] = vector
        return network.compute_gradients(batch), network.gradients

    check_gradient(loss_and_grad, network.params.copy())


@pytest.mark.parametrize("name", sorted({*NETWORKS} - {"restless"}))
def test_a_batch_of_one_has_its_gradient(rng, name):
    check_whole_gradient(make(name), data(rng, name, 1))


@pytest.mark.parametrize("name", ["recurrent", "pooled series"])
@pytest.mark.parametrize("n", [1, 3])
def test_series_of_one_step_have_their_gradient(rng, name, n):
    check_whole_gradient(make(name), data(rng, name, n, steps=1))


@every_network
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_batch_of_one_is_trained_on(rng, name, dtype):
    """Batch normalization too, whose batch then has no variance."""
    network = make(name, dtype=dtype)
    network.fit([data(rng, name, 1)], epochs=3)
    assert np.isfinite(network.params).all()


@every_network
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_that_comes_out_has_the_type_of_the_configuration(rng, name, dtype):
    network = make(name, dtype=dtype)
    batch = data(rng, name, 4)
    network.fit(batch)
    found = {
        network.output(batch.features).dtype,
        network.score_examples(batch).dtype,
        network.updater_state.dtype,
        network.compute_update().dtype,
    }
    assert found == {np.dtype(dtype)}


@every_network
def test_predicting_changes_nothing_of_training(rng, name):
    """Between two minibatches, and between a gradient and its update."""
    first, second, other = (data(rng, name, n) for n in (4, 5, 7))
    calm, asked = make(name, updater="adam"), make(name, updater="adam")
    for batch in (first, second):
        calm.fit_minibatch(batch)

    for batch in (first, second):
        asked.compute_gradients(batch)
        asked.output(other.features)
        asked.score_examples(other)
        asked.evaluate(other)
        asked.summary()
        asked.apply_update(asked.compute_update())
        asked.iteration_count += 1
    np.testing.assert_array_equal(asked.params, calm.params)
    np.testing.assert_array_equal(asked.updater_state, calm.updater_state)
    assert asked.score == calm.score


@every_network
def test_no_examples_have_no_predictions(rng, name):
    """An empty part of a data set is no mistake."""
    network, batch = make(name), data(rng, name, 2)
    expected = (0, *network.output(batch.features).shape[1:])
    assert network.output(batch.features[:0]).shape == expected


@pytest.mark.parametrize("name", CASES)
def test_no_layer_needs_an_example(name):
    case = CASES[name]
    network = sequence(case.input_type, case.conf)
    shape = [case.steps if n is None else n for n in case.input_type.border_shape]
    expected = network.output(np.zeros((2, *shape))).shape
    assert network.output(np.zeros((0, *shape))).shape == (0, *expected[1:])


IMAGE = {"height": 2, "width": 3}


@pytest.mark.parametrize(
    ("input_type", "there", "back"),
    [
        (Recurrent(size=6), "rnn_to_feed_forward", "feed_forward_to_rnn"),
        (Recurrent(size=6), {"type": "rnn_to_cnn", **IMAGE}, "cnn_to_rnn"),
        (
            FeedForward(size=6),
            {"type": "feed_forward_to_cnn", **IMAGE},
            "cnn_to_feed_forward",
        ),
    ],
)
def test_no_preprocessor_needs_an_example(input_type, there, back):
    network = sequence(
        input_type,
        Activation(activation="tanh", preprocessor=there),
        Activation(activation="tanh", preprocessor=back),
    )
    shape = [1 if n is None else n for n in input_type.border_shape]
    assert network.output(np.zeros((0, *shape))).shape == (0, *shape)


@every_network
def test_nothing_can_be_learned_from_no_examples(rng, name):
    network, batch = make(name), data(rng, name, 2)
    empty = DataSet(batch.features[:0], batch.labels[:0])
    with pytest.raises(DataError, match=r"a minibatch must hold an example, got none"):
        network.fit(empty)


@pytest.mark.parametrize("features", [np.array([["a"] * 4]), np.full((1, 4), 1j)])
def test_features_that_are_no_numbers_are_refused(features):
    with pytest.raises(DataError, match=r"features must hold real numbers, got dtype"):
        make("dense").output(features)


def test_a_mask_too_many_is_refused(rng):
    features = data(rng, "recurrent", 2).features
    masks = [np.ones((2, 5)), None]
    with pytest.raises(ShapeError, match=r"features masks must be 1 array, got 2"):
        make("recurrent").output(features, features_mask=masks)


@every_network
def test_the_prediction_of_an_example_does_not_depend_on_its_batch(rng, name):
    network, batch = make(name), data(rng, name, 6)
    network.fit(batch)
    whole = network.output(batch.features)
    alone = [network.output(batch.features[i : i + 1]) for i in range(6)]
    np.testing.assert_allclose(np.concatenate(alone), whole, rtol=1e-10)


def test_dropout_follows_the_seed(rng):
    batches = [data(rng, "restless", 8) for _ in range(3)]

    def trained(seed):
        network = make("restless", seed=seed)
        start = make("restless", seed=1).params
        network.params[...] = start
        return network.fit(batches, epochs=2).params

    np.testing.assert_array_equal(trained(1), trained(1))
    assert not np.array_equal(trained(1), trained(2))


def test_evaluation_uses_running_statistics(rng):
    """One example at a time, which has no variance of its own."""
    network, batch = make("restless"), data(rng, "restless", 40)
    network.fit(batch, epochs=5)
    whole = network.evaluate(batch).accuracy()
    assert network.evaluate(batch.batches(1)).accuracy() == whole


@pytest.mark.parametrize("option", ["l1", "l2", "l1_bias", "l2_bias"])
@pytest.mark.parametrize("name", sorted({*NETWORKS} - {"restless"}))
def test_regularization_of_every_layer_is_in_the_gradient(rng, name, option):
    """The update of plain SGD is the gradient of the score."""
    updater = {"type": "sgd", "learning_rate": 1.0}
    network = make(name, updater=updater, **{option: 0.3})
    # Away from 0, where the absolute value has no derivative.
    network.params[...] += np.copysign(0.05, network.params)
    batch = data(rng, name, 3)

    def loss_and_grad(vector):
        network.params[...] = vector
        score = network.compute_gradients(batch)
        return score, network.compute_update()

    check_gradient(loss_and_grad, network.params.copy())


@pytest.mark.parametrize("updater", ["adagrad", "nesterovs", "rmsprop", "adam", "sgd"])
def test_single_precision_follows_double(rng, updater):
    batches = [data(rng, "dense", 16) for _ in range(10)]
    trained = [
        make("dense", dtype=dtype, updater=updater).fit(batches).params
        for dtype in ("float32", "float64")
    ]
    np.testing.assert_allclose(*trained, atol=2e-5)
