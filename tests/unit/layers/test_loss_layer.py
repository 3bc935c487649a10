"""The output layer without weights."""

import numpy as np
import pytest

from daskdl import LossLayer
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.conf.input_type import Convolutional, FeedForward, Recurrent
from tests.unit.layers.single import Single

ROWS = FeedForward(size=3)
LABELS = np.eye(3)[[0, 2]]


@pytest.fixture
def x(rng):
    return rng.standard_normal((2, 3))


def test_its_activation_belongs_to_the_loss(x):
    output = Single(LossLayer(), ROWS).forward(x)
    np.testing.assert_allclose(output.sum(axis=1), 1)


def test_its_score_in_training_is_that_of_its_input(x):
    """DL4J's is that of an input which the gradient has overwritten."""
    single = Single(LossLayer(loss="mse", activation="sigmoid"), ROWS)
    output = single.forward(x)
    expected = ((LABELS - output) ** 2).sum() / 3
    single.layer.backward_loss(LABELS, None)
    np.testing.assert_allclose(single.layer.loss.score(LABELS), expected)


def test_a_mask_of_the_features_counts(x):
    layer = Single(LossLayer(), ROWS).layer
    layer.forward(x, training=True, mask=np.array([[1.0], [0.0]]))
    assert layer.loss.score_examples(LABELS)[1] == 0


def test_but_that_of_the_labels_takes_its_place(x):
    layer = Single(LossLayer(), ROWS).layer
    layer.forward(x, training=True, mask=np.array([[1.0], [0.0]]))
    assert layer.loss.score_examples(LABELS, np.ones(2))[1] > 0


def test_masked_rows_come_out_as_zero(x):
    single = Single(LossLayer(), ROWS)
    output = single.forward(x, training=False, mask=np.array([[1.0], [0.0]]))
    np.testing.assert_array_equal(output[1], 0)


def test_labels_of_another_shape_are_refused(x):
    single = Single(LossLayer(), ROWS)
    single.forward(x)
    with pytest.raises(ShapeError, match=r"'me': labels must have shape \(2, 3\)"):
        single.layer.loss.score(np.ones((2, 4)))


@pytest.mark.parametrize(
    "input_type", [Recurrent(size=3), Convolutional(height=2, width=2, channels=3)]
)
def test_all_but_rows_are_refused(input_type):
    with pytest.raises(OptionError, match="LossLayer needs rows, got"):
        LossLayer().output_type(input_type)


def test_rows_of_any_size_are_taken():
    assert LossLayer().output_type(FeedForward(size=None)).size is None
