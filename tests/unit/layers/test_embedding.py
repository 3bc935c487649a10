"""Embeddings: dense layers on one-hot rows, and the numbers they take."""

import numpy as np
import pytest

from daskdl import Dense, Embedding, EmbeddingSequence
from daskdl.errors import DataError, OptionError
from daskdl.nn.conf.input_type import FeedForward, Recurrent
from tests.unit.layers.single import Single

ONE = FeedForward(size=1)


def embedding(**options):
    conf = Embedding(n_in=4, n_out=3, has_bias=True, activation="tanh", **options)
    return Single(conf, ONE, bias_init=0.2)


def one_hot_dense(single):
    dense = Single(Dense(n_out=3, activation="tanh"), FeedForward(size=4))
    dense.params[...] = single.params
    return dense


NUMBERS = np.array([[2.0], [0.0], [2.0], [3.0]])
ONE_HOT = np.eye(4)[[2, 0, 2, 3]]


def test_it_is_a_dense_layer_on_one_hot_rows():
    single = embedding()
    expected = one_hot_dense(single).forward(ONE_HOT)
    np.testing.assert_allclose(single.forward(NUMBERS), expected)


def test_so_are_its_gradients(rng):
    """Rows that occur twice get both gradients, others none."""
    single = embedding()
    dense = one_hot_dense(single)
    grad_out = rng.standard_normal((4, 3))
    for layer, x in ((single, NUMBERS), (dense, ONE_HOT)):
        layer.forward(x)
        layer.layer.backward(grad_out)
    np.testing.assert_allclose(single.gradients, dense.gradients)


def test_fresh_weights_do_not_depend_on_the_number_of_rows():
    conf = Embedding(n_in=2000, n_out=50)
    weight = Single(conf, ONE).layer.run.params["W"]
    np.testing.assert_allclose(weight.std(), np.sqrt(2 / 51), rtol=0.02)


@pytest.mark.parametrize("number", [-1, 4, 1.5, np.nan])
def test_what_is_no_number_of_a_row_is_refused(number):
    with pytest.raises(
        DataError, match="'me': features must be whole numbers from 0 to 3"
    ):
        embedding().forward(np.array([[1.0], [number]]))


def test_the_number_of_rows_must_be_given():
    with pytest.raises(OptionError, match="n_in: must be given"):
        Single(Embedding(n_out=3), ONE)


def test_several_numbers_an_example_need_the_layer_for_sequences():
    with pytest.raises(OptionError, match="Use EmbeddingSequence for several"):
        Single(Embedding(n_in=4, n_out=3), FeedForward(size=2))


@pytest.mark.parametrize(
    ("input_type", "x"),
    [
        (FeedForward(size=2), np.array([[2.0, 0], [2, 3]])),
        (FeedForward(size=None), np.array([[2.0, 0], [2, 3]])),
        (Recurrent(size=1), np.array([[[2.0], [0]], [[2], [3]]])),
    ],
)
def test_a_sequence_is_looked_up_step_by_step(input_type, x):
    single = Single(EmbeddingSequence(n_in=4, n_out=3), input_type)
    weight = single.layer.run.params["W"]
    expected = weight[[[2, 0], [2, 3]]]
    np.testing.assert_array_equal(single.forward(x), expected)


def test_masked_steps_come_out_as_zero():
    conf = EmbeddingSequence(n_in=4, n_out=3, has_bias=True)
    single = Single(conf, FeedForward(size=2), bias_init=1.0)
    output = single.forward(np.ones((1, 2)), mask=np.array([[1.0, 0]]))
    np.testing.assert_array_equal(output[0, 1], 0)


def test_the_mask_goes_on():
    single = Single(EmbeddingSequence(n_in=4, n_out=3), FeedForward(size=2))
    mask = np.array([[1.0, 0]])
    single.layer.forward(np.ones((1, 2)), training=True, mask=mask)
    assert single.layer.mask is mask


@pytest.mark.parametrize("output_format", ["NCW", "NWC"])
def test_the_format_of_a_sequence_is_told(output_format):
    conf = EmbeddingSequence(n_in=4, n_out=3, output_format=output_format)
    expected = Recurrent(size=3, time_steps=5, data_format=output_format)
    assert conf.output_type(FeedForward(size=5)) == expected


def test_a_given_length_must_be_that_of_the_input():
    conf = EmbeddingSequence(n_in=4, n_out=3, infer_input_length=False, input_length=3)
    with pytest.raises(OptionError, match="input_length: must be 5, the length of"):
        conf.output_type(FeedForward(size=5))


def test_a_given_length_stands_for_one_that_is_not_known():
    conf = EmbeddingSequence(n_in=4, n_out=3, infer_input_length=False, input_length=3)
    assert conf.output_type(Recurrent(size=1)).time_steps == 3


def test_series_of_several_features_are_refused():
    with pytest.raises(OptionError, match="needs rows or series of single numbers"):
        Single(EmbeddingSequence(n_in=4, n_out=3), Recurrent(size=2))
