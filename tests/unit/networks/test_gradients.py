"""The gradient of whole networks on the flat vector, in double precision."""

import numpy as np
import pytest

from daskdl import (
    LSTM,
    BatchNormalization,
    Convolution2D,
    Dense,
    DuplicateToTimeSeriesVertex,
    ElementWiseVertex,
    GlobalPooling,
    L2NormalizeVertex,
    LastTimeStepVertex,
    MergeVertex,
    Output,
    RnnOutput,
    Subsampling,
    SubsetVertex,
)
from daskdl.data.dataset import DataSet
from daskdl.data.multi_dataset import MultiDataSet
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent
from daskdl.nn.conf.network import (
    ComputationGraphConfiguration,
    MultiLayerConfiguration,
)
from daskdl.nn.graph import ComputationGraph
from daskdl.nn.multilayer import MultiLayerNetwork
from tests.gradients import check_gradient


def sequence(input_type, *layers, **options):
    options = {"dtype": "float64", "activation": "tanh", **options}
    return MultiLayerNetwork(
        MultiLayerConfiguration(input=input_type, layers=layers, **options)
    )


def one_hot(rng, *shape):
    n_classes = shape[1]
    labels = rng.integers(0, n_classes, (shape[0], *shape[2:]))
    return np.moveaxis(np.eye(n_classes)[labels], -1, 1)


def right_padded(batch, steps):
    return (np.arange(steps) < np.arange(steps, steps - batch, -1)[:, None]) * 1.0


def mlp(rng):
    network = sequence(
        FeedForward(size=4),
        Dense(n_out=5),
        Dense(n_out=4, activation="sigmoid", has_bias=False),
        Output(n_out=3),
    )
    return network, DataSet(rng.standard_normal((6, 4)), one_hot(rng, 6, 3))


def regression(rng):
    network = sequence(FeedForward(size=3), Dense(n_out=4), Output(n_out=2, loss="mse"))
    return network, DataSet(rng.standard_normal((5, 3)), rng.standard_normal((5, 2)))


def cnn_with_batch_norm(rng):
    network = sequence(
        Convolutional(height=6, width=5, channels=2),
        Convolution2D(n_out=3, kernel_size=3, convolution_mode="same"),
        BatchNormalization(),
        Subsampling(pooling_type="avg"),
        Dense(n_out=4),
        BatchNormalization(),
        Output(n_out=3),
    )
    images = rng.standard_normal((4, 2, 6, 5))
    return network, DataSet(images, one_hot(rng, 4, 3))


def lstm_with_masks(rng):
    network = sequence(
        Recurrent(size=3), LSTM(n_out=4), Dense(n_out=3), RnnOutput(n_out=2)
    )
    mask = right_padded(4, 6)
    series, labels = rng.standard_normal((4, 3, 6)), one_hot(rng, 4, 2, 6)
    return network, DataSet(series, labels, mask, mask)


def lstm_pooled(rng):
    network = sequence(
        Recurrent(size=2, data_format="NWC"),
        LSTM(n_out=3),
        GlobalPooling(pooling_type="avg"),
        Output(n_out=2),
    )
    series = rng.standard_normal((4, 5, 2))
    return network, DataSet(series, one_hot(rng, 4, 2), right_padded(4, 5))


def two_inputs(rng):
    """A vertex that feeds three others, two inputs, two outputs, most vertices."""
    conf = ComputationGraphConfiguration(
        inputs={"series": Recurrent(size=2), "row": FeedForward(size=3)},
        vertices={
            "lstm": LSTM(n_out=4, inputs=["series"]),
            "last": LastTimeStepVertex(mask_input="series", inputs=["lstm"]),
            "dense": Dense(n_out=4, inputs=["row"]),
            "sum": ElementWiseVertex(op="add", inputs=["last", "dense"]),
            "product": ElementWiseVertex(op="product", inputs=["dense", "sum"]),
            "joined": MergeVertex(inputs=["sum", "product", "dense"]),
            "unit": L2NormalizeVertex(inputs=["joined"]),
            "part": SubsetVertex(from_=2, to=8, inputs=["unit"]),
            "repeated": DuplicateToTimeSeriesVertex(
                input_name="series", inputs=["part"]
            ),
            "both": MergeVertex(inputs=["repeated", "lstm"]),
            "steps": RnnOutput(n_out=2, inputs=["both"]),
            "class": Output(n_out=3, inputs=["part"]),
        },
        outputs=["class", "steps"],
        activation="tanh",
        dtype="float64",
    )
    batch, steps = 4, 5
    mask = right_padded(batch, steps)
    examples = MultiDataSet(
        [rng.standard_normal((batch, 2, steps)), rng.standard_normal((batch, 3))],
        [one_hot(rng, batch, 3), one_hot(rng, batch, 2, steps)],
        [mask, None],
        [None, mask],
    )
    return ComputationGraph(conf), examples


def trained_part(network):
    """Return which parameters an updater changes: all but running statistics."""
    trained = np.ones(network.n_params, bool)
    for slot in network.running_slots:
        trained[slot.offset : slot.stop] = False
    return trained


@pytest.mark.parametrize(
    "make",
    [mlp, regression, cnn_with_batch_norm, lstm_with_masks, lstm_pooled, two_inputs],
)
def test_the_gradient_is_that_of_the_score(make, rng):
    network, batch = make(rng)
    trained = trained_part(network)
    start = network.params[trained] + 0.1 * rng.standard_normal(trained.sum())

    def score_and_gradient(params):
        network.params[trained] = params
        score = network.compute_gradients(batch)
        return score, network.gradients[trained]

    check_gradient(score_and_gradient, start)


def test_the_gradient_of_regularization_is_that_of_its_score(rng):
    """With Sgd of rate 1 the update of a step is the gradient of the whole score."""
    layers = [Dense(n_out=5), Output(n_out=3)]
    network = sequence(
        FeedForward(size=4),
        *layers,
        updater={"type": "sgd", "learning_rate": 1.0},
        l1=0.02,
        l2=0.3,
        l1_bias=0.05,
        l2_bias=0.1,
    )
    batch = DataSet(rng.standard_normal((6, 4)), one_hot(rng, 6, 3))
    start = network.params + 0.3 * rng.standard_normal(network.n_params)

    def score_and_update(params):
        network.params[...] = params
        return network.compute_gradients(batch), network.compute_update()

    check_gradient(score_and_update, start)


def test_a_short_minibatch_after_a_long_one_has_its_own_gradient(rng):
    """Buffers of the long one are reused; nothing of it may shine through."""
    network, batch = cnn_with_batch_norm(rng)
    alone = network.clone()
    short = batch.slice(0, 3)
    network.compute_gradients(batch)
    network.compute_gradients(short)
    alone.compute_gradients(short)
    np.testing.assert_array_equal(network.gradients, alone.gradients)
