"""The exchanges against a scripted topic: who is waited for, and for how long."""

import numpy as np
import pytest

from daskdl.cluster.bus import Joined, Left, Message
from daskdl.cluster.exchanges import base, gradient_sharing
from daskdl.cluster.exchanges.gradient_sharing import GradientSharingExchange
from daskdl.cluster.exchanges.parameter_averaging import ParameterAveragingExchange
from daskdl.cluster.mailbox import Mailbox
from daskdl.cluster.masters.dense_round import RoundMessage
from daskdl.cluster.masters.dense_sum import Contribution
from daskdl.cluster.masters.dense_sum import Message as Told
from daskdl.cluster.masters.options import (
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
)
from daskdl.cluster.orders import MemberGone, Stop
from daskdl.cluster.workload import Workload
from daskdl.encoding.algorithms import FixedThresholdAlgorithm
from daskdl.encoding.residual import NoOpResidualPostProcessor
from daskdl.encoding.wire import unpack
from daskdl.errors import BusClosedError, DivergedError, StepTimeoutError
from tests.unit.cluster.scripted_topic import (
    Network,
    ScriptedTopic,
    brought,
    in_round,
    train,
    update,
    work,
)


def averaging_without_state(topic, network, mailbox=None, **options):
    return averaging(topic, network, mailbox, save_updater=False, **options)


def averaging(topic, network, mailbox=None, **options):
    master = ParameterAveragingTrainingMaster(averaging_frequency=1, **options)
    return ParameterAveragingExchange(
        0, topic, mailbox or Mailbox(), master, network.updater_state
    )


def test_a_round_averages_with_what_the_peer_brought():
    network = Network()
    exchange = averaging_without_state(ScriptedTopic(brought(1, 3.0)), network)
    exchange.begin(network, frozenset({0, 1}), work(1))
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(network.params, 2.0)


def test_what_came_before_our_own_round_is_kept():
    network = Network()
    topic = ScriptedTopic(Joined("m2", "tcp://y", {"rank": 2}), peers=(1,))
    exchange = averaging_without_state(topic, network)
    everybody = {"members": (0, 1, 2)}
    topic.events.extendleft([brought(1, 3.0, **everybody)])
    exchange.begin(network, frozenset({0, 1, 2}), work(1))
    topic.events.append(brought(2, 5.0, **everybody))
    topic.events += [in_round(rank, Told("complete"), **everybody) for rank in (1, 2)]
    train(exchange, network, 1.0)
    np.testing.assert_allclose(network.params, 3.0, rtol=1e-6)


def test_a_member_with_nothing_left_goes_on_until_all_have_nothing_left():
    network = Network()
    topic = ScriptedTopic(
        brought(1, 3.0, remaining=1), brought(1, 7.0, round=1, position=2)
    )
    exchange = averaging_without_state(topic, network)
    exchange.begin(network, frozenset({0, 1}), work(1))
    train(exchange, network, 1.0)
    exchange.end(network)
    np.testing.assert_array_equal(network.params, 7.0)


def test_what_a_dead_peer_brought_counts_if_all_that_are_left_have_it():
    network = Network()
    everybody = {"members": (0, 1, 2)}
    topic = ScriptedTopic(
        brought(1, 3.0, **everybody),
        brought(2, 5.0, **everybody),
        Left("m2", clean=False),
        peers=(1, 2),
    )
    exchange = averaging_without_state(topic, network)
    exchange.begin(network, frozenset({0, 1, 2}), work(1))
    own = Contribution(position=1, examples=8, iteration_count=1)
    held = RoundMessage(
        (0, 0), (0, 1), Told("contribution", contribution=own), holds=(0, 1, 2)
    )
    topic.events.append(Message("m1", "t", 1, 1, held))
    train(exchange, network, 1.0)
    np.testing.assert_allclose(network.params, 3.0, rtol=1e-6)
    assert exchange.positions == {1: 1, 2: 1}


def test_what_a_dead_peer_brought_is_left_out_if_another_lacks_it():
    network = Network()
    everybody = {"members": (0, 1, 2)}
    topic = ScriptedTopic(
        brought(1, 3.0, **everybody),
        brought(2, 5.0, **everybody),
        Left("m2", clean=False),
        brought(1, 3.0),
        peers=(1, 2),
    )
    exchange = averaging_without_state(topic, network)
    exchange.begin(network, frozenset({0, 1, 2}), work(1))
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(network.params, 2.0)
    assert exchange.positions == {1: 1, 2: 0}


def test_positions_are_those_of_the_last_average():
    network = Network()
    exchange = averaging_without_state(
        ScriptedTopic(brought(1, 3.0, position=5)), network
    )
    exchange.begin(network, frozenset({0, 1}), work(1))
    train(exchange, network, 1.0)
    assert exchange.positions == {1: 5}


def test_all_go_on_with_the_furthest_iteration_counter():
    """Schedules and Adam depend on it: a step back would repeat what was done."""
    network = Network()
    network.iteration_count = 5
    exchange = averaging_without_state(ScriptedTopic(brought(1, 3.0)), network)
    exchange.begin(network, frozenset({0, 1}), work(1))
    train(exchange, network, 1.0)
    assert network.iteration_count == 5


class SlowTopic(ScriptedTopic):
    """One event after the other, each a while after the last."""

    def __init__(self, clock, every_s, *events, **options):
        super().__init__(*events, **options)
        self.clock, self.every_s = clock, every_s

    def get(self, timeout_s):
        self.clock.now += self.every_s
        return super().get(timeout_s)


class Clock:
    """Stands in for the module ``time``."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


def test_a_peer_that_is_heard_of_may_take_longer_than_the_time_out(monkeypatch):
    """Each event restarts it: an epoch of a slow peer has many."""
    clock = Clock()
    monkeypatch.setattr(base, "time", clock)
    network = Network()
    # Nothing comes between two of them: that is when the time-out is looked at.
    events = [last_message(phase=0, ends=False), None] * 5
    topic = SlowTopic(clock, 0.8, *events, last_message(phase=0))
    exchange = sharing(topic, network, peer_timeout_s=1.0)
    exchange.begin(network, frozenset({0, 1}), work(0))
    exchange.end(network)
    assert clock.now > 4.0


def test_a_peer_that_falls_silent_is_named_after_the_last_event(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(base, "time", clock)
    network = Network()
    topic = SlowTopic(clock, 0.8, last_message(phase=0, ends=False))
    exchange = sharing(topic, network, peer_timeout_s=1.0)
    exchange.begin(network, frozenset({0, 1}), work(0))
    with pytest.raises(StepTimeoutError, match=r"workers \[1\] must end phase 0"):
        exchange.end(network)
    assert clock.now < 3.5


def test_a_silent_peer_is_complained_of_once_before_that(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(base, "time", clock)
    network, told = Network(), []
    topic = SlowTopic(clock, 0.4)
    exchange = sharing(topic, network, peer_timeout_s=1.0)
    exchange.complain = lambda *complaint: told.append((*complaint, clock.now))
    exchange.begin(network, frozenset({0, 1}), Workload(4))
    with pytest.raises(StepTimeoutError, match="within 2 s, got nothing from them"):
        exchange.end(network)
    ((silent, stage, now_s),) = told
    assert (set(silent), stage) == ({1}, (4, 3, 0))
    assert 1.0 < now_s < 2.0


def test_a_complaint_of_a_peer_that_is_heard_again_is_taken_back(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(base, "time", clock)
    network, told = Network(), []
    topic = SlowTopic(clock, 0.6, None, None, last_message(phase=0))
    exchange = sharing(topic, network, peer_timeout_s=1.0)
    exchange.complain = lambda silent, stage: told.append(set(silent))
    exchange.begin(network, frozenset({0, 1}), work(0))
    exchange.end(network)
    assert told == [{1}, set()]


def test_who_cannot_publish_complains_of_those_that_take_nothing(monkeypatch):
    """Before it has sent: nobody who waits for its message is at fault."""
    clock = Clock()
    monkeypatch.setattr(base, "time", clock)

    class FullTopic(ScriptedTopic):
        def behind(self):
            return ["m2"]

        def publish(self, data, *, copy, timeout_s, on_block):
            clock.now += 1.5
            on_block()
            on_block()

    network, told = Network(), []
    exchange = averaging(FullTopic(peers=(1, 2)), network, peer_timeout_s=1.0)
    exchange.complain = lambda *complaint: told.append(complaint)
    exchange.begin(network, frozenset({0, 1, 2}), work(1))
    exchange._publish({})
    assert told == [([2], (0, 2, 0))]


def test_a_silent_peer_is_named_when_its_time_is_over():
    network = Network()
    exchange = averaging(ScriptedTopic(), network, peer_timeout_s=0.1)
    exchange.begin(network, frozenset({0, 1}), work(1))
    with pytest.raises(StepTimeoutError, match=r"workers \[1\] must average phase 0"):
        train(exchange, network, 1.0)


def test_a_peer_that_the_driver_knows_to_be_gone_is_not_waited_for():
    network, mailbox = Network(), Mailbox()
    exchange = averaging(ScriptedTopic(), network, mailbox)
    exchange.begin(network, frozenset({0, 1}), work(1))
    mailbox.put(MemberGone(rank=1))
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(network.params, 1.0)


def test_a_stopped_session_ends_the_wait():
    network, mailbox = Network(), Mailbox()
    exchange = averaging(ScriptedTopic(), network, mailbox)
    exchange.begin(network, frozenset({0, 1}), work(1))
    mailbox.put(Stop(reason="the user said so"))
    with pytest.raises(BusClosedError, match="stopped, the user said so"):
        train(exchange, network, 1.0)


@pytest.mark.parametrize(("own_updater", "left"), [(False, 7.0), (True, 1.0)])
def test_without_save_updater_each_round_starts_from_the_first_state(own_updater, left):
    """Or from a worker's own."""
    network = Network()
    network.updater_state = np.full(2, 7.0, np.float32)
    options = {"save_updater": False, "own_updater": own_updater}
    exchange = averaging(ScriptedTopic(peers=()), network, **options)
    network.updater_state[...] = 1.0
    exchange.begin(network, frozenset({0}), work(1))
    train(exchange, network, 1.0)
    np.testing.assert_array_equal(network.updater_state, left)


def sharing(topic, network, **options):
    master = SharedTrainingMaster(**options)
    return GradientSharingExchange(0, topic, Mailbox(), master, network.params)


def last_message(*, phase, data=None, ends=True):
    wire = {"phase": phase, "position": 0, "ends": ends, "data": data}
    return Message("m1", "t", 1, 1, wire)


def test_a_phase_of_sharing_ends_with_a_message_to_the_peers():
    network = Network()
    topic = ScriptedTopic(
        Message(
            "m1", "t", 1, 1, {"phase": 0, "position": 0, "ends": True, "data": None}
        )
    )
    exchange = sharing(topic, network)
    exchange.begin(network, frozenset({0, 1}), work(0))
    exchange.end(network)
    assert topic.published[-1]["ends"]


def test_a_peer_that_leaves_does_not_hold_the_phase_up():
    network = Network()
    exchange = sharing(ScriptedTopic(Left("m1", clean=False)), network)
    exchange.begin(network, frozenset({0, 1}), work(0))
    exchange.end(network)
    assert exchange.positions == {1: 0}


def finishing(threshold=float("nan"), iteration_count=0):
    """The message with which a peer of sharing ends the session, in phase 3."""
    own = Contribution(threshold=threshold, iteration_count=iteration_count, examples=0)
    told = Told("contribution", contribution=own)
    return Message("m1", "t", 1, 1, RoundMessage((3, 0), (0, 1), told))


def test_no_vector_travels_at_the_finish():
    network = Network()
    network.updater_state = np.full(2, 1.0, np.float32)
    topic = ScriptedTopic(finishing())
    sharing(topic, network).finish(network, 3, frozenset({0, 1}))
    told = [one.message for one in topic.published]
    assert {one.what for one in told} == {"contribution", "over"}
    assert all(one.values is None for one in told)
    np.testing.assert_array_equal(network.updater_state, 1.0)


def test_the_counter_at_the_end_is_that_of_who_trained_most():
    """The network that is returned may be that of a member without minibatches."""
    network = Network()
    exchange = sharing(ScriptedTopic(finishing(iteration_count=7)), network)
    exchange.finish(network, 3, frozenset({0, 1}))
    assert network.iteration_count == 7


def test_a_sole_member_shares_nothing():
    network = Network()
    topic = ScriptedTopic(peers=())
    exchange = sharing(topic, network)
    exchange.begin(network, frozenset({0}), work(1))
    update(exchange, network, 1.0)
    exchange.end(network)
    assert topic.published == []


@pytest.mark.parametrize(
    ("hosts", "is_coded"),
    [
        ({0: "here", 1: "here"}, False),
        ({0: "here", 1: "there"}, True),
        ({0: "here"}, True),
        ({}, True),
    ],
)
def test_messages_are_coded_unless_all_are_on_one_host(hosts, is_coded):
    n, n_entries = 1024, 32
    network, topic = Network(n), ScriptedTopic()
    exchange = sharing(
        topic,
        network,
        threshold_algorithm=FixedThresholdAlgorithm(threshold=0.1),
        warm_up=0,
    )
    exchange.begin(network, frozenset({0, 1}), work(2), hosts)
    for _ in range(2):
        # The first message is a bitmap.
        network.subtract(np.where(np.arange(n) % (n // n_entries), 0, 0.2))
        exchange.updated(network)
        exchange.iteration_done(network, 8)
    message = topic.published[-1]["data"]
    assert (message.nbytes < 4 * n_entries) == is_coded
    assert unpack(message, n).size == 4 + n_entries


def test_several_updates_of_one_minibatch_count_as_one():
    """Truncated backpropagation through time makes an update of each segment."""
    network = Network()
    topic = ScriptedTopic(last_message(phase=0))
    exchange = sharing(topic, network)
    exchange.begin(network, frozenset({0, 1}), work(2))
    for _ in range(2):
        for _ in range(3):
            update(exchange, network, 1.0)
        exchange.iteration_done(network, 8)
    exchange.end(network)
    # The first message is what the first update asks for.
    positions = [wire["position"] for wire in topic.published]
    assert positions == [0, 1, 1, 1, 2, 2, 2, 2]


class WaitedForTopic(ScriptedTopic):
    """A topic that gives out its events only to those that wait."""

    def drain(self):
        return []


@pytest.mark.parametrize(("bound", "taken"), [(None, 0), (1, 2)])
def test_who_is_ahead_waits_for_the_slowest_where_there_is_a_bound(
    monkeypatch, bound, taken
):
    monkeypatch.setattr(gradient_sharing, "KEEP_UP_GRADIENTS", 0)
    network = Network()
    caught_up = [
        Message("m1", "t", 1, 1, {"phase": 0, "position": position, "ends": False})
        for position in (1, 2)
    ]
    topic = WaitedForTopic()
    exchange = sharing(
        topic,
        network,
        threshold_algorithm=FixedThresholdAlgorithm(threshold=1.0),
        max_staleness=bound,
    )
    exchange.begin(network, frozenset({0, 1}), work(3))
    # Nothing came while three minibatches were trained.
    exchange._trained = 2
    topic.events.extend(caught_up)
    before = len(topic.events)
    monkeypatch.setattr(exchange, "_let_peers_keep_up", lambda: None)
    update(exchange, network, 1.0)
    assert before - len(topic.events) == taken


def asked(threshold, *, position=0):
    wire = {"phase": 0, "position": position, "ends": False, "threshold": threshold}
    return Message("m1", "t", 1, 1, wire)


def first_update(exchange, network, *, asks):
    """Share an update that asks for a threshold, and return the threshold."""
    size = asks / exchange._peer._handler.threshold_for(np.ones(4, np.float32))
    exchange.begin(network, frozenset({0, 1}), work(1))
    update(exchange, network, size)
    return exchange.threshold


def test_the_first_threshold_is_the_mean_of_what_all_members_ask_for():
    network = Network()
    exchange = sharing(ScriptedTopic(asked(3.0)), network)
    assert first_update(exchange, network, asks=1.0) == pytest.approx(2.0)


def test_a_member_whose_first_update_is_zero_leaves_it_to_the_others():
    network = Network()
    exchange = sharing(ScriptedTopic(asked(float("nan"))), network)
    assert first_update(exchange, network, asks=1.0) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "news", [Left("m1", clean=False), last_message(phase=0), asked(None, position=3)]
)
def test_who_went_has_nothing_to_train_or_shares_already_is_not_asked(news):
    network = Network()
    exchange = sharing(ScriptedTopic(news), network, peer_timeout_s=0.5)
    exchange.begin(network, frozenset({0, 1}), work(1))
    update(exchange, network, 1.0)


def test_a_threshold_of_an_earlier_fit_is_gone_on_with():
    network = Network()
    master = SharedTrainingMaster()
    topic = ScriptedTopic()
    exchange = GradientSharingExchange(
        0, topic, Mailbox(), master, network.params, (), 7.0
    )
    assert first_update(exchange, network, asks=1.0) == 7.0
    assert [wire["threshold"] for wire in topic.published] == [None]


def test_members_end_with_the_mean_of_their_thresholds():
    network = Network()
    topic = ScriptedTopic(finishing(threshold=5.0))
    exchange = GradientSharingExchange(
        0, topic, Mailbox(), SharedTrainingMaster(), network.params, (), 7.0
    )
    exchange.finish(network, 3, frozenset({0, 1}))
    assert exchange.threshold == 6.0


def test_the_finish_leaves_the_network_as_it_was_scored():
    """Whole quanta of the residual were added, and made bad networks worse."""
    network = Network()
    master = SharedTrainingMaster(
        threshold_algorithm=FixedThresholdAlgorithm(threshold=0.1),
        residual_post_processor=NoOpResidualPostProcessor(),
    )
    topic = ScriptedTopic()
    exchange = GradientSharingExchange(0, topic, Mailbox(), master, network.params)
    exchange.begin(network, frozenset({0, 1}), work(1))
    update(exchange, network, 100.0)
    topic.events.append(last_message(phase=0))
    exchange.end(network)
    scored = network.params.copy()
    topic.events.append(finishing())
    exchange.finish(network, 3, frozenset({0, 1}))
    np.testing.assert_array_equal(network.params, scored)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_an_update_that_is_not_finite_is_refused_before_it_is_shared(wrong):
    network = Network()
    topic = ScriptedTopic(asked(1.0))
    exchange = sharing(topic, network)
    exchange.begin(network, frozenset({0, 1}), work(1))
    network.subtract([1.0, wrong, 1.0, 1.0])
    with pytest.raises(DivergedError, match=r"for parameter 1\. Lower"):
        exchange.updated(network)
    assert not any(wire["data"] is not None for wire in topic.published)


def test_an_update_whose_square_overflows_is_shared():
    network = Network()
    exchange = sharing(ScriptedTopic(asked(1e30)), network)
    exchange.begin(network, frozenset({0, 1}), work(1))
    update(exchange, network, 1e30)
    assert np.isfinite(network.params).all()


def test_each_encoded_message_is_measured_once_and_logged(caplog):
    network = Network()
    exchange = sharing(
        ScriptedTopic(),
        network,
        threshold_algorithm=FixedThresholdAlgorithm(threshold=1.0),
        encoding_debug_mode=True,
    )
    exchange.begin(network, frozenset({0, 1}), work(2))
    network.iteration_count = 5
    with caplog.at_level("INFO", logger="daskdl"):
        update(exchange, network, 3.0)
    [measured] = exchange.take_residuals()
    assert (measured["iteration"], measured["largest"]) == (5, 3.0)
    assert caplog.messages[0].startswith("Worker 0, iteration 5: residual vector: ")
    assert exchange.take_residuals() == []


def test_what_all_know_is_held_to_the_constraints_too():
    """Each replica holds its own parameters to them; the sum of all may pass them."""
    network = Network()
    network.most = 3.0
    topic = ScriptedTopic()
    exchange = sharing(topic, network)
    exchange.begin(network, frozenset({0, 1}), work(0))
    topic.events.append(last_message(phase=0, data=np.full(4, 5.0, np.float32)))
    exchange.end(network)
    np.testing.assert_array_equal(network.params, -3.0)
