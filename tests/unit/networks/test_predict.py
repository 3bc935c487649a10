"""What `predict` gives: names, numbers, choices, values."""

import numpy as np
import pytest

import daskdl as dl

ROWS = dl.FeedForward(4)


def network(layer, input_type=ROWS):
    conf = dl.MultiLayerConfiguration(input=input_type, layers=[layer])
    return dl.MultiLayerNetwork(conf)


@pytest.fixture
def x(rng):
    return rng.standard_normal((5, 4))


def test_numbers_of_classes(x):
    net = network(dl.Output(3))
    np.testing.assert_array_equal(net.predict(x), net.output(x).argmax(axis=1))


def test_names_of_classes(x):
    net = network(dl.Output(3))
    net.class_names = ["ham", "spam", "eggs"]
    numbers = net.output(x).argmax(axis=1)
    assert net.predict(x).tolist() == [net.class_names[i] for i in numbers]


def test_a_class_for_each_time_step(rng):
    net = network(dl.RnnOutput(3), dl.Recurrent(2))
    assert net.predict(rng.standard_normal((5, 2, 7))).shape == (5, 7)


def test_choices_that_do_not_exclude_each_other(x):
    net = network(dl.Output(3, loss="xent"))
    np.testing.assert_array_equal(net.predict(x), net.output(x) > 0.5)


def test_values(x):
    net = network(dl.Output(2, loss="mse"))
    np.testing.assert_array_equal(net.predict(x), net.output(x))
