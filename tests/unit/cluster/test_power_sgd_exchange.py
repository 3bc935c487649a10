"""Two rounds an iteration on a scripted topic, and a peer that goes between them."""

from types import SimpleNamespace

import numpy as np
import pytest

from daskdl.arrays.flat import ParamLayout
from daskdl.cluster.bus import Left, Message
from daskdl.cluster.exchanges.power_sgd import PowerSgdExchange
from daskdl.cluster.mailbox import Mailbox
from daskdl.cluster.masters.dense_round import RoundMessage
from daskdl.cluster.masters.dense_sum import Contribution
from daskdl.cluster.masters.dense_sum import Message as Told
from daskdl.cluster.masters.options import PowerSGDTrainingMaster
from daskdl.cluster.workload import Workload
from tests.unit.cluster.test_exchange import ScriptedTopic

# A matrix of 6 x 8, and a bias.
SIZE, FACTORS, REST = 52, (6, 8), 4


@pytest.fixture
def network(rng):
    return SimpleNamespace(
        params=np.zeros(SIZE),
        gradients=rng.standard_normal(SIZE),
        layout=ParamLayout.of({"W": (6, 8), "b": (4,)}),
        running_slots=(),
        iteration_count=3,
    )


def brought(round, *vectors):
    """What the peer brings to a round: 5 examples."""
    own = Contribution(position=1, examples=5, iteration_count=3)
    told = Told("contribution", values=list(vectors), contribution=own)
    return Message("m1", "t", 1, 1, RoundMessage((0, round), (0, 1), told))


def exchange_on(topic, network, **options):
    how = {"matrix_rank": 1, "start_compress_iteration": 0, "min_compression_rate": 1.0}
    master = PowerSGDTrainingMaster(**{**how, **options})
    exchange = PowerSgdExchange(0, topic, Mailbox(), master, network)
    exchange.begin(network, frozenset({0, 1}), Workload(0, [None], {}))
    return exchange


def sizes_of(topic):
    told = [wire.message.values for wire in topic.published]
    return [[vector.size for vector in values] for values in told]


def test_an_iteration_brings_one_factor_then_the_other_with_the_rest(network):
    topic = ScriptedTopic(
        brought(0, np.ones(FACTORS[0])), brought(1, np.ones(FACTORS[1]), np.ones(REST))
    )
    bias = network.gradients[-REST:].copy()
    exchange = exchange_on(topic, network)
    assert exchange.gradients(network, 8) == 13
    assert sizes_of(topic) == [[6], [8, 4]]
    assert np.linalg.matrix_rank(network.gradients[:48].reshape(6, 8)) == 1
    np.testing.assert_array_equal(network.gradients[-REST:], bias + 1)
    assert exchange.positions == {1: 1}


def test_who_goes_between_the_rounds_has_not_had_its_minibatch(network):
    """Alone, our gradients stay whole."""
    topic = ScriptedTopic(brought(0, np.ones(FACTORS[0])), Left("m1", clean=False))
    before = network.gradients.copy()
    exchange = exchange_on(topic, network)
    assert exchange.gradients(network, 8) == 8
    np.testing.assert_array_equal(network.gradients, before)
    assert exchange.positions == {1: 0}


def test_first_iterations_bring_gradients_as_they_are(network):
    topic = ScriptedTopic(brought(0, np.ones(SIZE)))
    before = network.gradients.copy()
    exchange = exchange_on(topic, network, start_compress_iteration=4)
    assert exchange.gradients(network, 8) == 13
    np.testing.assert_array_equal(network.gradients, before + 1)


def test_a_network_without_a_matrix_takes_one_round_an_iteration(network):
    topic = ScriptedTopic(brought(0, np.ones(SIZE)))
    exchange = exchange_on(topic, network, min_compression_rate=100.0)
    exchange.gradients(network, 8)
    assert sizes_of(topic) == [[SIZE]]


def test_who_is_left_alone_adds_what_was_left_out_once(network):
    topic = ScriptedTopic(
        brought(0, np.ones(FACTORS[0])), brought(1, np.ones(FACTORS[1]), np.ones(REST))
    )
    exchange = exchange_on(topic, network)
    exchange.gradients(network, 8)
    exchange._left(1)
    before, error = network.gradients.copy(), exchange._rule.error.copy()
    assert exchange.gradients(network, 2) == 2
    np.testing.assert_allclose(network.gradients, before + 2 * error, rtol=1e-12)
    whole = network.gradients.copy()
    exchange.gradients(network, 2)
    np.testing.assert_array_equal(network.gradients, whole)


def test_where_somebody_is_new_all_begin_with_one_q(network, monkeypatch):
    exchange = exchange_on(ScriptedTopic(peers=(1, 2)), network)
    restarts = []
    monkeypatch.setattr(exchange._rule, "restart", lambda: restarts.append(phase))
    for phase, members in enumerate(({0, 1}, {0}, {0, 2}, {0, 2}), 1):
        exchange.begin(network, frozenset(members), Workload(phase, [], {}))
    assert restarts == [3]


def test_who_was_restored_goes_on_from_its_q(network, monkeypatch):
    earlier = exchange_on(ScriptedTopic(peers=(1,)), network)
    exchange = exchange_on(ScriptedTopic(peers=(1, 2)), network)
    exchange.load_state_dict(earlier.state_dict())
    restarts = []
    monkeypatch.setattr(exchange._rule, "restart", lambda: restarts.append(phase))
    for phase, members in enumerate(({0, 2}, {0, 2}, {0, 1}), 1):
        exchange.begin(network, frozenset(members), Workload(phase, [], {}))
    assert restarts == [3]
