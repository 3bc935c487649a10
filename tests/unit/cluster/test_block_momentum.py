"""Averaging with an outer momentum against a scripted topic."""

import numpy as np

from daskdl import FeedForward, MultiLayerConfiguration, MultiLayerNetwork, Output
from daskdl.cluster import session
from daskdl.cluster.exchanges.block_momentum import BlockMomentumExchange
from daskdl.cluster.exchanges.parameter_averaging import ParameterAveragingExchange
from daskdl.cluster.mailbox import Mailbox
from daskdl.cluster.masters.options import (
    BlockMomentumTrainingMaster,
    ParameterAveragingTrainingMaster,
)
from tests.unit.cluster.scripted_topic import (
    Network,
    ScriptedTopic,
    brought,
    train,
    work,
)


def block_momentum(topic, network, velocity=None, **options):
    options = {"outer_momentum": 0.5, "outer_learning_rate": 2.0, **options}
    master = BlockMomentumTrainingMaster(
        averaging_frequency=1, save_updater=False, outer_nesterov=False, **options
    )
    return BlockMomentumExchange(0, topic, Mailbox(), master, network, velocity)


def test_momentum_of_one_round_goes_into_the_next():
    """From 0 to 2 * 2 by the first mean; then with half of its direction."""
    network = Network()
    topic = ScriptedTopic(brought(1, 3.0))
    exchange = block_momentum(topic, network)
    exchange.begin(network, frozenset({0, 1}), work(2))
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(network.params, 4.0)
    topic.events.append(brought(1, 5.0, round=1))
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(network.params, 4.0 + 2 * (1.0 + 0.5 * 2.0))
    np.testing.assert_array_equal(exchange.velocity, 2.0)


def test_a_member_that_joins_takes_the_direction_of_the_others():
    network = Network()
    direction = np.full(4, 2.0, np.float32)
    exchange = block_momentum(ScriptedTopic(brought(1, 3.0)), network, direction)
    exchange.begin(network, frozenset({0, 1}), work(1))
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(network.params, 2 * (2.0 + 0.5 * 2.0))


def test_who_trains_alone_takes_no_outer_step_and_forgets_its_direction():
    network = Network()
    exchange = block_momentum(ScriptedTopic(peers=()), network, np.ones(4))
    exchange.begin(network, frozenset({0}), work(1))
    train(exchange, network, 1.0)
    exchange.end(network)
    np.testing.assert_array_equal(network.params, 1.0)
    assert exchange.velocity is None


def test_a_round_to_which_nobody_brings_anything_moves_nothing():
    network = Network()
    topic = ScriptedTopic(brought(1, 3.0, examples=0))
    exchange = block_momentum(topic, network, np.ones(4, np.float32))
    exchange.begin(network, frozenset({0, 1}), work(0))
    exchange.end(network)
    np.testing.assert_array_equal(network.params, 0.0)
    np.testing.assert_array_equal(exchange.velocity, 1.0)


def test_an_outer_step_ends_within_the_constraints():
    network = Network()
    network.most = 2.5
    exchange = block_momentum(ScriptedTopic(brought(1, 3.0)), network)
    exchange.begin(network, frozenset({0, 1}), work(1))
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(network.params, 2.5)


def test_averaging_has_no_direction():
    network = Network()
    master = ParameterAveragingTrainingMaster()
    exchange = ParameterAveragingExchange(
        0, ScriptedTopic(), Mailbox(), master, network.updater_state
    )
    assert exchange.velocity is None


def test_a_snapshot_for_newcomers_has_the_direction(monkeypatch):
    network = MultiLayerNetwork(
        MultiLayerConfiguration(input=FeedForward(size=2), layers=[Output(n_out=2)])
    ).init()
    mailbox = Mailbox()
    direction = np.ones(network.n_params, np.float32)
    mailbox.network = network
    mailbox.exchange = block_momentum(ScriptedTopic(), network, direction)
    monkeypatch.setattr(session, "mailbox_of", lambda *whose: mailbox)
    state = session.snapshot("s", 0, None)
    np.testing.assert_array_equal(state.velocity, direction)
