"""Output layers: scores, gradients from the loss, and masks."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.dialects import EXACT, quirks_of
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.activations.table import activation_function
from daskdl.nn.losses.table import loss_function
from tests.dialects import DL4J
from tests.gradients import check_gradient
from tests.unit.layers.cases import OUTPUTS, Alone, labels_of

SERIES_MASKS = {
    "none": None,
    "steps": np.array([[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0.0]]),
}
ROW_MASKS = {
    "none": None,
    "rows": np.array([1, 0, 1.0]),
    "column": np.array([[1], [0], [1.0]]),
}


def masks_of(name):
    return SERIES_MASKS if name.startswith("rnn") else ROW_MASKS


@pytest.mark.parametrize(
    ("name", "mask"), [(name, mask) for name in OUTPUTS for mask in masks_of(name)]
)
def test_gradients_of_the_loss_are_central_differences(rng, name, mask):
    alone = Alone(name)
    x, labels = alone.x(rng), labels_of(rng, alone)
    mask = masks_of(name)[mask]
    n_params = alone.params.size

    def loss_and_grad(vector):
        alone.params[...] = vector[:n_params]
        alone.forward(vector[n_params:].reshape(x.shape))
        scores = alone.layer.loss.score_examples(labels, mask)
        grad_x = alone.backward_loss(labels, mask)
        grad = np.concatenate([alone.gradients, grad_x.ravel()])
        return float(scores.sum()), grad

    check_gradient(loss_and_grad, np.concatenate([alone.params, x.ravel()]))


@pytest.mark.parametrize("name", OUTPUTS)
def test_there_is_one_score_for_each_example(rng, name):
    alone = Alone(name)
    alone.forward(alone.x(rng))
    assert alone.layer.loss.score_examples(labels_of(rng, alone)).shape == (3,)


def test_scores_of_series_are_summed_over_time(rng):
    alone = Alone("rnn output")
    output = alone.forward(alone.x(rng))
    labels = labels_of(rng, alone)
    expected = -(labels * np.log(output)).sum(axis=(1, 2))
    np.testing.assert_allclose(alone.layer.loss.score_examples(labels), expected)


def test_masked_steps_add_nothing_to_score_and_gradient(rng):
    alone = Alone("rnn output")
    alone.forward(alone.x(rng))
    labels, mask = labels_of(rng, alone), SERIES_MASKS["steps"]
    scores = alone.layer.loss.score_examples(labels, mask)
    grad_x = alone.backward_loss(labels, mask).copy()
    labels[mask == 0] = 99
    np.testing.assert_array_equal(alone.layer.loss.score_examples(labels, mask), scores)
    np.testing.assert_array_equal(alone.backward_loss(labels, mask), grad_x)
    np.testing.assert_array_equal(grad_x[mask == 0], 0)


def test_single_outputs_of_series_can_be_masked(rng):
    alone = Alone("rnn output, dropout")  # xent, sigmoid
    alone.forward(alone.x(rng))
    labels = labels_of(rng, alone)
    mask = rng.integers(0, 2, labels.shape).astype(float)
    scores = alone.layer.loss.score_examples(labels, mask)
    labels[mask == 0] = 0.5
    np.testing.assert_array_equal(alone.layer.loss.score_examples(labels, mask), scores)


def test_a_mask_of_the_features_counts_for_rows(rng):
    alone = Alone("output")
    x, labels = alone.x(rng), labels_of(rng, alone)
    alone.layer.forward(x, training=False, mask=ROW_MASKS["column"])
    assert alone.layer.loss.score_examples(labels)[1] == 0


def test_a_mask_of_the_labels_replaces_that_of_the_features(rng):
    alone = Alone("output")
    x, labels = alone.x(rng), labels_of(rng, alone)
    alone.layer.forward(x, training=False, mask=ROW_MASKS["column"])
    assert alone.layer.loss.score_examples(labels, np.ones(3))[1] > 0


@pytest.mark.parametrize("name", ["rnn output", "rnn loss"])
def test_a_mask_of_the_features_counts_for_series(rng, name):
    alone = Alone(name)
    x, labels, mask = alone.x(rng), labels_of(rng, alone), SERIES_MASKS["steps"]
    alone.layer.forward(x, training=False)
    expected = alone.layer.loss.score_examples(labels, mask)
    alone.layer.forward(x, training=False, mask=mask)
    np.testing.assert_array_equal(alone.layer.loss.score_examples(labels), expected)


def test_a_mask_of_the_features_does_not_count_for_series_in_dl4j(rng):
    """Its RnnOutputLayer stores it and never reads it."""
    alone = Alone("rnn output", dialect=DL4J)
    x, labels = alone.x(rng), labels_of(rng, alone)
    alone.layer.forward(x, training=False)
    expected = alone.layer.loss.score_examples(labels)
    alone.layer.forward(x, training=False, mask=SERIES_MASKS["steps"])
    np.testing.assert_array_equal(alone.layer.loss.score_examples(labels), expected)


@pytest.mark.parametrize("name", OUTPUTS)
def test_labels_of_another_shape_are_refused(rng, name):
    alone = Alone(name)
    alone.forward(alone.x(rng))
    with pytest.raises(ShapeError, match=r"'me': labels must have shape \(3, .*got"):
        alone.backward_loss(np.ones((3, 9)))


def test_a_mask_that_is_not_of_the_steps_is_refused(rng):
    alone = Alone("rnn output")
    alone.forward(alone.x(rng))
    with pytest.raises(
        ShapeError, match=r"mask of the labels must have shape \(3, 4\)"
    ):
        alone.layer.loss.score_examples(labels_of(rng, alone), np.ones((3, 1)))


def test_single_outputs_of_a_softmax_cannot_be_masked_in_dl4j(rng):
    alone = Alone("rnn output", dialect=DL4J)
    alone.forward(alone.x(rng))
    labels = labels_of(rng, alone)
    with pytest.raises(OptionError, match="needs an activation other than softmax"):
        alone.layer.backward_loss(labels, np.ones(labels.shape))


@pytest.mark.parametrize("dialect", [EXACT, DL4J])
@pytest.mark.parametrize("activation", ["sigmoid", "softmax"])
def test_the_score_sees_what_was_before_the_activation(rng, activation, dialect):
    """It is not overwritten by the output."""
    conf = dl.MultiLayerConfiguration(
        input=dl.FeedForward(size=4),
        layers=[dl.Output(n_out=3, loss="xent", activation=activation)],
        validate_output_layer=False,
        dialect=dialect,
        dtype="float64",
    )
    network = dl.MultiLayerNetwork(conf)
    x, labels = rng.random((5, 4)), np.eye(3)[[0, 1, 2, 0, 1]]
    preout = x @ network.param_table()["0_W"] + network.param_table()["0_b"]
    quirks = quirks_of(dialect)
    function = activation_function(activation, quirks)
    expected = loss_function("xent", quirks).score(labels, preout, function) / 5
    assert network.compute_score(dl.DataSet(x, labels)) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["output", "loss layer", "center loss output"])
def test_masked_examples_come_out_as_zero(rng, name):
    """A mask that arrives with the input drops whole rows, as in DL4J."""
    alone = Alone(name)
    x, mask = alone.x(rng), ROW_MASKS["column"]
    output = alone.layer.forward(x, training=False, mask=mask)
    np.testing.assert_array_equal(output[1], 0)


@pytest.mark.parametrize("name", ["rnn output", "rnn loss"])
def test_masked_steps_come_out_as_zero(rng, name):
    alone = Alone(name)
    x, mask = alone.x(rng), SERIES_MASKS["steps"]
    output = alone.layer.forward(x, training=False, mask=mask)
    np.testing.assert_array_equal((output == 0).all(axis=2), mask == 0)


@pytest.mark.parametrize("name", ["rnn output", "rnn loss"])
def test_steps_that_the_features_mask_come_out_as_they_are_in_dl4j(rng, name):
    alone = Alone(name, dialect=DL4J)
    x, mask = alone.x(rng), SERIES_MASKS["steps"]
    expected = alone.layer.forward(x, training=False).copy()
    output = alone.layer.forward(x, training=False, mask=mask)
    np.testing.assert_array_equal(output, expected)
