"""Training in one process: the trainer, epochs, states."""

import numpy as np
import pytest

from daskdl.data.normalizers.standardize import NormalizerStandardize
from daskdl.errors import DivergedError, OptionError
from daskdl.training.local import fit
from daskdl.training.state import network_from_state, state_of


def test_fit_equals_the_networks_own_loop(network, examples):
    data = examples(64)
    labels = np.eye(3, dtype=np.float32)[data.labels]
    data.labels = labels
    own = network.clone().fit(list(data.batches(10)), epochs=3)
    np.testing.assert_array_equal(
        fit(network, data, epochs=3, batch_size=10).params, own.params
    )


def test_fit_learns(network, examples):
    data = examples(200)
    before = _loss(network, data)
    fit(network, data, epochs=20, batch_size=16)
    assert _loss(network, data) < before


def test_epochs_are_counted(network, examples):
    fit(network, examples(20), epochs=3, batch_size=10)
    assert (network.epoch_count, network.iteration_count) == (3, 6)


def test_training_twice_goes_on_with_the_next_epoch_of_the_shuffle(network, examples):
    data = examples(60)
    once = fit(network.clone(), data, epochs=2, batch_size=7, shuffle=True)
    fit(network, data, epochs=1, batch_size=7, shuffle=True)
    fit(network, data, epochs=1, batch_size=7, shuffle=True)
    np.testing.assert_array_equal(network.params, once.params)


def test_a_normalizer_is_applied(network, examples):
    data = examples(40)
    normalizer = NormalizerStandardize()
    fit(network, data, batch_size=10, normalizer=normalizer)
    np.testing.assert_allclose(
        normalizer.transform(data).features.std(axis=0), 1.0, rtol=1e-5
    )


@pytest.mark.parametrize("epochs", [0, -1])
def test_an_illegal_number_of_epochs_is_refused(network, examples, epochs):
    with pytest.raises(OptionError, match="epochs must be a whole number > 0"):
        fit(network, examples(10), epochs=epochs, batch_size=5)


def test_a_state_brings_the_network_back(network, examples):
    fit(network, examples(30), batch_size=10)
    copy = network_from_state(state_of(network))
    np.testing.assert_array_equal(copy.updater_state, network.updater_state)


def test_a_network_goes_on_from_its_state_bit_for_bit(network, examples):
    data = examples(30)
    fit(network, data, batch_size=10)
    copy = network_from_state(state_of(network))
    fit(network, data, batch_size=10)
    np.testing.assert_array_equal(fit(copy, data, batch_size=10).params, network.params)


def test_a_state_is_a_copy(network):
    state = state_of(network)
    network.params[...] = 7
    assert not np.any(state.params == 7)


def test_an_exchange_sees_every_iteration(network, examples):
    seen = []

    class Listening:
        adds_up_gradients = False

        def updated(self, network):
            seen.append(network.gradients.any())

        def iteration_done(self, network, examples):
            seen.append((network.iteration_count, examples))

    data = examples(25)
    data.labels = np.eye(3, dtype=np.float32)[data.labels]
    for batch in data.batches(10):
        network.fit_minibatch(batch, exchange=Listening())
    assert seen == [True, (1, 10), True, (2, 10), True, (3, 5)]


def _loss(network, data):
    labels = np.eye(3, dtype=np.float32)[data.labels]
    probabilities = network.output(data.features)
    return -np.log((probabilities * labels).sum(axis=1)).mean()


def test_a_score_that_is_no_number_ends_training(network, examples):
    network.params[...] = np.nan
    with pytest.raises(DivergedError, match="score must be a number, got nan in iter"):
        fit(network, examples(10), batch_size=5)
