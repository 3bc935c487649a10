"""A network with a normalizer answers on a cluster as it does in one process."""

import pickle

import numpy as np
import pytest

import daskdl as dl
from daskdl.cluster.frontend import front_end
from daskdl.errors import OptionError, ShapeError
from daskdl.nn.fitting.preparation import prepare
from daskdl.training.local import fit
from daskdl.training.state import network_from_state, state_of
from tests.unit.cluster.inline_client import InlineClient
from tests.unit.networks.small import mlp, sequence


@pytest.fixture
def data(rng):
    features = rng.normal(500, 100, (20, 4)).astype(np.float32)
    labels = np.eye(3, dtype=np.float32)[rng.integers(0, 3, 20)]
    return dl.DataSet(features, labels, keys=np.arange(20))


@pytest.fixture
def network(data):
    made = mlp()
    made.normalizer = dl.NormalizerStandardize().fit(data)
    made.class_names = ["ant", "bee", "cat"]
    return made


@pytest.fixture
def front(network):
    return front_end(InlineClient(), network)


def predictions(pairs):
    return np.stack([output for _, output in pairs])


def test_predictions_are_those_of_the_network(front, network, data):
    found = predictions(front.feed_forward_with_key(data))
    np.testing.assert_allclose(found, network.output(data.features), rtol=1e-6)


def test_evaluations_are_those_of_the_network(front, network, data):
    assert front.evaluate(data).stats() == network.evaluate(data).stats()


def test_the_loss_is_that_of_the_network(front, network, data):
    np.testing.assert_allclose(
        front.score(data), network.score_examples(data).mean(), rtol=1e-6
    )


def test_none_is_for_data_that_are_normalized_already(front, network, data):
    ready = network.normalizer.transform(data)
    found = front.feed_forward_with_key(ready, normalizer=None)
    expected = network.output(data.features)
    np.testing.assert_allclose(predictions(found), expected, rtol=1e-6)
    again = front.evaluate(ready, normalizer=None).stats()
    assert again == network.evaluate(data).stats()


def test_a_front_end_gives_its_normalizer_to_the_network(data):
    normalizer = dl.NormalizerStandardize()
    front = front_end(InlineClient(), mlp(), normalizer=normalizer)
    assert front.network.normalizer is normalizer


def test_a_front_end_can_take_it_away(network):
    assert front_end(InlineClient(), network, normalizer=None).normalizer is None
    assert network.normalizer is None


def test_one_that_has_learnt_nothing_is_refused_before_a_task_starts(data):
    client = InlineClient()
    front = front_end(client, mlp(), normalizer=dl.NormalizerStandardize())
    with pytest.raises(OptionError, match="normalizer must be fitted before it is"):
        front.evaluate(data)
    with pytest.raises(OptionError, match="normalizer must be fitted before it is"):
        front.feed_forward_with_key(data)
    assert client.submitted == 0


def test_a_regression_is_evaluated_in_the_units_of_the_data(rng, data):
    network = sequence(
        dl.FeedForward(size=4), dl.Output(n_out=1, loss="mse", activation="identity")
    )
    prices = dl.DataSet(data.features, rng.normal(9000, 50, (20, 1)), keys=data.keys)
    network.normalizer = dl.NormalizerStandardize(fit_label=True).fit(prices)
    front = front_end(InlineClient(), network)
    found = front.evaluate(prices)
    error = np.abs(network.output(data.features) - prices.labels).mean()
    assert type(found) is dl.RegressionEvaluation
    np.testing.assert_allclose(found.mean_absolute_error()[0], error, rtol=1e-4)
    # The loss is what training makes small: that of normalized labels.
    assert front.score(prices) < 100


def test_a_state_takes_normalizer_and_names_along(network, data):
    there = network_from_state(pickle.loads(pickle.dumps(state_of(network))))
    expected = network.output(data.features)
    np.testing.assert_array_equal(there.output(data.features), expected)
    assert there.class_names == network.class_names


def test_one_that_does_not_fit_the_data_is_refused_before_training(network):
    network.normalizer = dl.NormalizerStandardize().fit(dl.DataSet(np.eye(7)))
    data = dl.DataSet(np.ones((6, 4)), np.eye(3)[[0, 1, 2] * 2])
    with pytest.raises(ShapeError, match="features: must have 7 entries along axis 1"):
        prepare(network, data, batch_size=2, normalizer=network.normalizer)


def test_a_fit_in_one_process_gives_it_to_the_network(data):
    network, other = mlp(), mlp()
    fit(network, data, batch_size=5, normalizer=dl.NormalizerStandardize())
    ready = dl.NormalizerStandardize().fit(data).transform(data)
    fit(other, ready, batch_size=5)
    np.testing.assert_array_equal(network.params, other.params)
    assert network.normalizer.is_fitted


def test_a_fit_of_data_that_are_ready_keeps_it(network, data):
    other = network.clone()
    fit(network, network.normalizer.transform(data), batch_size=5, normalizer=None)
    fit(other, data, batch_size=5)
    np.testing.assert_array_equal(network.params, other.params)
    assert network.normalizer is not None
