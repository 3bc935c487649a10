"""Masks of labels as given: of steps, of single outputs, and of nothing at all."""

import numpy as np
import pytest

from daskdl import LSTM, Output, RnnLoss, RnnOutput
from daskdl.data.dataset import DataSet
from daskdl.dialects import EXACT
from daskdl.errors import ShapeError
from daskdl.evaluation.regression import RegressionEvaluation
from daskdl.nn.conf.input_type import FeedForward, Recurrent
from tests.dialects import DL4J
from tests.gradients import check_gradient
from tests.unit.networks.small import rnn, sequence

BATCH, N_OUT, TIME = 3, 2, 4


def series(data_format="NCW", **options):
    return sequence(
        Recurrent(size=3, data_format=data_format),
        LSTM(n_out=4),
        RnnOutput(n_out=N_OUT, loss="mse", activation="identity"),
        **{"dtype": "float64", **options},
    )


@pytest.fixture
def data(rng):
    """Each output of each step has a mask of its own; the axes differ in length."""
    shape = (BATCH, N_OUT, TIME)
    mask = (rng.random(shape) < 0.5).astype(float)
    features = rng.standard_normal((BATCH, 3, TIME))
    return DataSet(features, rng.standard_normal(shape), labels_mask=mask)


def turned(data):
    """Return the same as (batch, time, features)."""
    arrays = (data.features, data.labels, data.labels_mask)
    features, labels, mask = (array.transpose(0, 2, 1) for array in arrays)
    return DataSet(features, labels, labels_mask=mask)


def test_a_mask_of_single_outputs_has_the_format_of_the_labels(data):
    first, last = series("NCW"), series("NWC")
    assert first.compute_gradients(data) == last.compute_gradients(turned(data))
    np.testing.assert_array_equal(first.gradients, last.gradients)


def test_the_score_counts_what_the_mask_keeps(data):
    network = series()
    missed = (network.output(data.features) - data.labels) ** 2 * data.labels_mask
    expected = missed.sum(axis=(1, 2)) / N_OUT
    np.testing.assert_allclose(network.score_examples(data), expected, rtol=1e-12)


def test_the_gradient_counts_what_the_mask_keeps(data):
    network = series()

    def loss_and_grad(vector):
        network.params[...] = vector
        return network.compute_gradients(data), network.gradients

    check_gradient(loss_and_grad, network.params.copy())


def test_an_evaluation_counts_what_the_mask_keeps(data):
    network = series()
    evaluation = network.evaluate(data, RegressionEvaluation())
    missed = (network.output(data.features) - data.labels) ** 2 * data.labels_mask
    expected = missed.sum(axis=(0, 2)) / data.labels_mask.sum(axis=(0, 2))
    found = evaluation.mean_squared_error()
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize(("dialect", "n_steps"), [(EXACT, 7), (DL4J, BATCH * TIME)])
def test_an_evaluation_counts_steps_that_the_features_keep(rng, dialect, n_steps):
    """In DL4J it counts all, unless the labels have a mask."""
    mask = (np.arange(TIME) < np.array([[4], [2], [1]])).astype(float)
    labels = np.moveaxis(np.eye(2)[rng.integers(0, 2, (BATCH, TIME))], -1, 1)
    features = rng.standard_normal((BATCH, 3, TIME))
    data = DataSet(features, labels, features_mask=mask)
    evaluation = rnn(dialect=dialect).evaluate(data)
    assert evaluation.confusion_matrix.sum() == n_steps


@pytest.mark.parametrize(("dialect", "factor"), [(EXACT, 0), (DL4J, 1)])
def test_a_mask_of_the_labels_drops_outputs_of_a_loss(data, dialect, factor):
    """DL4J drops those of layers with weights only."""
    network = sequence(
        Recurrent(size=3),
        RnnLoss(loss="mse", activation="identity"),
        dialect=dialect,
        dtype="float64",
    )
    mask = data.labels_mask[:, 0]
    output = network.output(data.features, labels_mask=mask)
    expected = data.features * np.maximum(mask, factor)[:, None]
    np.testing.assert_array_equal(output, expected)


@pytest.mark.parametrize("shape", [(BATCH, TIME, N_OUT), (BATCH, TIME + 1), (1, 1)])
def test_a_prediction_refuses_a_mask_of_another_shape(data, shape):
    with pytest.raises(
        ShapeError,
        match=r"RnnOutput\): labels_mask must have shape \(3, 4\) or \(3, 2, 4\), got",
    ):
        series().output(data.features, labels_mask=np.ones(shape))


def test_a_prediction_refuses_masks_of_other_outputs(data):
    with pytest.raises(ShapeError, match="labels masks must be 1 array, got 2"):
        series().output(data.features, labels_mask=[None, None])


@pytest.mark.parametrize("shape", [(BATCH, TIME, N_OUT), (BATCH,), (BATCH, 1)])
def test_another_shape_is_refused(data, shape):
    wrong = DataSet(data.features, data.labels, labels_mask=np.ones(shape))
    with pytest.raises(
        ShapeError,
        match=r"RnnOutput\): labels_mask must have shape \(3, 4\) or \(3, 2, 4\), got",
    ):
        series().check_batch(wrong)


def test_a_mask_of_nothing_but_zeros_gives_no_loss_and_no_gradient(rng):
    network = rnn(dtype="float64")
    labels = np.moveaxis(np.eye(2)[rng.integers(0, 2, (BATCH, TIME))], -1, 1)
    features = rng.standard_normal((BATCH, 3, TIME))
    zeros = np.zeros((BATCH, TIME))
    data = DataSet(features, labels, features_mask=zeros, labels_mask=zeros)
    assert network.compute_gradients(data) == 0
    assert not network.gradients.any()


def test_examples_masked_out_give_no_loss_and_no_gradient(rng):
    network = sequence(FeedForward(size=3), Output(n_out=2), dtype="float64")
    data = DataSet(
        rng.standard_normal((4, 3)), np.eye(2)[[0, 1, 1, 0]], labels_mask=np.zeros(4)
    )
    assert network.compute_gradients(data) == 0
    assert not network.gradients.any()


@pytest.mark.parametrize("shape", [(4,), (4, 1)])
def test_masked_examples_leave_the_others_as_they_are(rng, shape):
    network = sequence(FeedForward(size=3), Output(n_out=2), dtype="float64")
    features, labels = rng.standard_normal((4, 3)), np.eye(2)[[0, 1, 1, 0]]
    mask = np.array([1.0, 0, 1, 0]).reshape(shape)
    scores = network.score_examples(DataSet(features, labels, labels_mask=mask))
    expected = network.score_examples(DataSet(features, labels)) * [1, 0, 1, 0]
    np.testing.assert_array_equal(scores, expected)
