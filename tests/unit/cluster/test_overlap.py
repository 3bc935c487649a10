"""Averaging that overlaps training, against a scripted topic and in whole fits."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.learning.averaging import Averaging, Together
from benchmarks.learning.tasks import Task
from daskdl import (
    Dense,
    FeedForward,
    MultiLayerConfiguration,
    MultiLayerNetwork,
    Output,
)
from daskdl.arrays.flat import Slot
from daskdl.cluster.exchanges.block_momentum import BlockMomentumExchange
from daskdl.cluster.exchanges.parameter_averaging import ParameterAveragingExchange
from daskdl.cluster.mailbox import Mailbox
from daskdl.cluster.masters.delayed_mean import carried_on
from daskdl.cluster.masters.options import (
    BlockMomentumTrainingMaster,
    ParameterAveragingTrainingMaster,
)
from daskdl.data.dataset import DataSet
from daskdl.data.plan import plan_minibatches
from daskdl.data.scan import PartitionFacts
from daskdl.data.sources.partition import Partition, Source
from daskdl.nn.conf.updaters import Adam
from daskdl.nn.fitting.preparation import PreparedData
from tests.unit.cluster.scripted_topic import (
    Network,
    ScriptedTopic,
    brought,
    train,
    work,
)
from tests.unit.cluster.simulation_cluster import Worker, numbered_data, simulate

MASTERS = {
    "averaging": ParameterAveragingTrainingMaster(overlap=True, dealing="fixed"),
    "block_momentum": BlockMomentumTrainingMaster(overlap=True, dealing="fixed"),
}


def overlapping(topic, network, **options):
    options = {"averaging_frequency": 2, "save_updater": False, **options}
    master = ParameterAveragingTrainingMaster(overlap=True, **options)
    return ParameterAveragingExchange(
        0, topic, Mailbox(), master, network.updater_state
    )


def begun(minibatches, **options):
    """Two members, of which this one has filled its first round: 2 is on its way."""
    network, topic = Network(), ScriptedTopic()
    exchange = overlapping(topic, network, **options)
    exchange.begin(network, frozenset({0, 1}), work(minibatches))
    for _ in range(2):
        train(exchange, network, 1.0)
    return network, topic, exchange


def arrives(value, **how):
    """What the peer brings, of as many examples as a round of two minibatches has."""
    return brought(1, value, **{"examples": 16, **how})


def values(message):
    return [float(vector[0]) for vector in message.message.values]


def test_training_goes_on_while_a_round_is_under_way():
    network, topic, exchange = begun(4)
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(network.params, 3.0)
    assert [values(message) for message in topic.published] == [[2.0]]


def test_a_mean_that_arrives_gets_what_was_trained_since():
    network, topic, exchange = begun(4)
    topic.events.append(arrives(6.0))
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(network.params, 4.0 + 1.0)


def test_where_the_next_round_is_full_the_mean_is_waited_for():
    network, topic, exchange = begun(4)
    train(exchange, network, 1.0)
    # What comes only to those who wait for it.
    topic.drain = list
    topic.events.append(arrives(6.0))
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(network.params, 4.0 + 2.0)
    assert [values(message) for message in topic.published] == [[2.0], [6.0]]


def test_with_fixed_dealing_a_mean_is_taken_when_the_next_round_is_full():
    network, topic, exchange = begun(4, dealing="fixed")
    topic.events.append(arrives(6.0))
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(network.params, 3.0)
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(network.params, 4.0 + 2.0)


def test_what_is_trained_meanwhile_does_not_change_what_was_sent():
    network, topic, exchange = begun(4)
    topic.is_roomy = False
    sent = topic.published.pop().message.values[0]
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(sent, 2.0)


def test_without_room_a_message_goes_later_and_training_on():
    network, topic = Network(), ScriptedTopic()
    topic.is_roomy = False
    exchange = overlapping(topic, network)
    exchange.begin(network, frozenset({0, 1}), work(4))
    for _ in range(3):
        train(exchange, network, 1.0)
    assert topic.published == []
    topic.is_roomy, topic.events = True, [arrives(6.0)]
    topic.drain = list
    topic.get = lambda timeout_s: topic.events.pop()
    train(exchange, network, 1.0)
    assert [values(message) for message in topic.published] == [[2.0], [6.0]]


def test_the_last_round_of_a_phase_has_what_was_trained_since_the_one_before():
    network, topic, exchange = begun(3)
    train(exchange, network, 1.0)
    topic.events += [arrives(6.0, remaining=1), arrives(7.0, round=1, examples=8)]
    exchange.end(network)
    # 4 and the last minibatch is 5; the peer has 7.
    np.testing.assert_array_equal(network.params, 6.0)


def test_counters_go_on_from_the_furthest_with_what_was_trained_since():
    network, topic, exchange = begun(4)
    network.iteration_count = 3
    topic.events.append(arrives(6.0, iteration_count=8))
    train(exchange, network, 1.0)
    assert network.iteration_count == 8 + 3


def test_what_exceeds_constraints_with_what_was_trained_since_is_cut():
    network, topic, exchange = begun(4)
    network.most = 4.5
    topic.events.append(arrives(6.0))
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(network.params, 4.5)


def test_without_save_updater_a_round_starts_from_the_first_state_when_it_begins():
    network = Network()
    network.updater_state = np.zeros(2, np.float32)
    exchange = overlapping(ScriptedTopic(), network)
    exchange.begin(network, frozenset({0, 1}), work(4))
    network.updater_state += 1
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(network.updater_state, 1.0)
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(network.updater_state, 0.0)


def test_updater_states_are_averaged_at_the_end_by_what_each_has_trained():
    network = Network()
    network.updater_state = np.full(4, 1.0, np.float32)
    topic = ScriptedTopic()
    exchange = overlapping(topic, network, save_updater=True)
    exchange.begin(network, frozenset({0, 1}), work(2))
    for _ in range(2):
        train(exchange, network, 1.0)
    topic.events += [brought(1, 4.0), brought(1, 4.0, round=1, examples=32)]
    exchange.end(network)
    np.testing.assert_array_equal(network.params, np.float32(16 * 2 + 8 * 4) / 24)
    np.testing.assert_array_equal(network.updater_state, (16 * 1 + 32 * 4) / 48)


def test_an_outer_step_is_taken_from_where_all_are_and_then_carried_on():
    """From 0 to 2 * 4; the next mean of 12 is 4 further, and half of the first way."""
    network, topic = Network(), ScriptedTopic()
    master = BlockMomentumTrainingMaster(
        averaging_frequency=1,
        save_updater=False,
        outer_momentum=0.5,
        outer_learning_rate=2.0,
        outer_nesterov=False,
        overlap=True,
    )
    exchange = BlockMomentumExchange(0, topic, Mailbox(), master, network, None)
    exchange.begin(network, frozenset({0, 1}), work(3))
    train(exchange, network, 2.0)
    topic.events.append(brought(1, 6.0))
    train(exchange, network, 3.0)
    np.testing.assert_array_equal(network.params, 8.0 + 3.0)
    topic.events.append(brought(1, 13.0, round=1))
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(exchange.velocity, 4.0 + 0.5 * 4.0)
    np.testing.assert_array_equal(network.params, 8.0 + 2 * 6.0 + 1.0)


def test_running_statistics_stay_ours_where_training_went_on():
    mean, now, sent = np.full(3, 5.0), np.full(3, 1.0), np.full(3, 10.0)
    slot = Slot("var", (1,), 1)
    np.testing.assert_array_equal(
        carried_on(mean, now, sent, [slot]), [-4.0, 1.0, -4.0]
    )


class Examples(Partition):
    name = "examples"

    def __init__(self, features, labels):
        self.rows, self._examples = len(features), DataSet(features, labels)

    def load(self):
        return self._examples


@pytest.fixture
def task(rng):
    """Of 23 minibatches, so that three workers do not have as many."""
    features = rng.normal(size=(230, 3)).astype(np.float32)
    labels = np.eye(2, dtype=np.float32)[(features.sum(axis=1) > 0).astype(int)]

    def configuration(seed, learning_rate):
        return MultiLayerConfiguration(
            seed=seed,
            updater=Adam(learning_rate=learning_rate),
            input=FeedForward(3),
            layers=[Dense(n_out=5), Output(n_out=2, loss="mcxent")],
        )

    return Task((features, labels), (features, labels), configuration, 0.01, epochs=2)


def fitted(monkeypatch, task, n, master, batch_size=10):
    """Return the network that `n` simulated workers have trained in turn."""
    features, labels = task.train
    rows = (len(features),)
    prepared = PreparedData(
        Source("examples", (Examples(features, labels),), in_memory=True),
        PartitionFacts("examples", *rows, (features.shape[1:],), (labels.shape[1:],)),
        tuple(plan_minibatches(rows, batch_size)),
        None,
        rows,
        (0,),
    )
    network = MultiLayerNetwork(task.configuration(1, task.learning_rate)).init()
    workers = [Worker(f"w{rank}") for rank in range(n)]
    made = (monkeypatch, 1, master, workers, prepared)
    outcome = simulate(*made, network=network, epochs=task.epochs, shuffle=False)
    assert outcome.error is None
    return outcome.network


def in_step(task, n, master, batch_size=10):
    """Return the network of replicas that train in step."""
    replicas = [
        Averaging(MultiLayerNetwork(task.configuration(1, task.learning_rate)).init())
        for _ in range(n)
    ]
    together = Together(master, replicas)
    numbers = np.arange(len(task.train[0]))
    starts = range(0, len(numbers), batch_size)
    for _ in range(task.epochs):
        together.fit_epoch(task, [numbers[at : at + batch_size] for at in starts])
    return replicas[0].network


@pytest.mark.parametrize("master", MASTERS)
@pytest.mark.parametrize("frequency", [1, 3, 4])
@pytest.mark.parametrize("n", [2, 3])
def test_workers_end_with_the_bits_of_replicas_in_step(
    monkeypatch, task, n, frequency, master
):
    rule = replace(MASTERS[master], averaging_frequency=frequency)
    trained, expected = fitted(monkeypatch, task, n, rule), in_step(task, n, rule)
    np.testing.assert_array_equal(trained.params, expected.params)
    np.testing.assert_array_equal(trained.updater_state, expected.updater_state)
    assert trained.iteration_count == expected.iteration_count


@pytest.mark.parametrize("master", MASTERS)
def test_one_worker_is_one_process_bit_for_bit(monkeypatch, task, master):
    trained = fitted(monkeypatch, task, 1, replace(MASTERS[master], dealing="balanced"))
    alone = in_step(task, 1, ParameterAveragingTrainingMaster())
    np.testing.assert_array_equal(trained.params, alone.params)
    np.testing.assert_array_equal(trained.updater_state, alone.updater_state)


def test_in_a_fit_means_arrive_while_the_next_round_is_trained(monkeypatch):
    """Where minibatches take longer than messages, as on the bus of this seed."""
    trained_since = []
    carry_on = ParameterAveragingExchange._carry_on

    def noting(exchange, network, means):
        trained_since.append(exchange._since_round)
        carry_on(exchange, network, means)

    monkeypatch.setattr(ParameterAveragingExchange, "_carry_on", noting)
    master = ParameterAveragingTrainingMaster(overlap=True)
    workers = [Worker(f"w{rank}", minibatch_s=0.1) for rank in range(3)]
    data = numbered_data([300], 4, in_memory=True)
    simulate(monkeypatch, 0, master, workers, data)
    *amid, last = np.reshape(trained_since, (-1, len(workers))).tolist()
    assert last == [0, 0, 0]
    assert all(0 < since < 5 for each in amid for since in each)
