"""Gradient sharing over a tree, against a scripted topic: who gets what, and when."""

import numpy as np
import pytest

from daskdl.cluster.bus import Left, Message
from daskdl.cluster.exchanges.gradient_sharing import GradientSharingExchange
from daskdl.cluster.mailbox import Mailbox
from daskdl.cluster.masters.dense_round import RoundMessage
from daskdl.cluster.masters.dense_sum import Contribution
from daskdl.cluster.masters.dense_sum import Message as Told
from daskdl.cluster.masters.options import SharedTrainingMaster
from daskdl.cluster.masters.shared_update import merge_waiting
from daskdl.cluster.masters.tree_messages import (
    Gathered,
    InPhase,
    Mark,
    Passed,
    Standing,
    Whole,
)
from daskdl.encoding.algorithms import FixedThresholdAlgorithm
from daskdl.encoding.residual import NoOpResidualPostProcessor
from tests.unit.cluster.scripted_topic import Network, ScriptedTopic, work

EVERYBODY = frozenset({0, 1, 2})


def exchange_of(rank, topic, network, members=EVERYBODY, **options):
    """Return the exchange of a member in a tree of fan-out 2; it has begun a phase."""
    master = SharedTrainingMaster(
        **{
            "mesh_build_mode": "mesh",
            "fan_out": 2,
            "threshold_algorithm": FixedThresholdAlgorithm(threshold=1.0),
            "residual_post_processor": NoOpResidualPostProcessor(),
            **options,
        }
    )
    exchange = GradientSharingExchange(rank, topic, Mailbox(), master, network.params)
    exchange.begin(network, members, work(3))
    return exchange


def topic_of(rank, *events, members=EVERYBODY):
    return ScriptedTopic(*events, peers=sorted(members - {rank}))


def told(rank, message, phase=0):
    return Message(f"m{rank}", "t", 1, 1, InPhase(phase, message))


def dense(value):
    return (np.full(4, value, np.float32),)


def gathered(rank, value, position=1, *, ends=False):
    """The message of a member that has told one earlier for each minibatch."""
    mark = Mark(messages=position, position=position, ends=ends)
    update = None if value is None else dense(value)
    return told(
        rank, Gathered(before={rank: position - 1}, marks={rank: mark}, update=update)
    )


def passed(marks, value, *, number=1, is_last=False, phase=0):
    return told(
        0,
        Passed(
            reign=0, number=number, marks=marks, is_last=is_last, update=dense(value)
        ),
        phase,
    )


def train(exchange, network, value=1.0):
    network.subtract(np.full(4, value, np.float32))
    exchange.updated(network)
    exchange.iteration_done(network, 8)


def sent(topic):
    """What went to whom over the tree."""
    return [
        (receiver, data.message)
        for receiver, data in zip(topic.receivers, topic.published, strict=True)
        if isinstance(data, InPhase)
    ]


def test_a_leaf_tells_its_parent_alone():
    topic, network = topic_of(1), Network()
    train(exchange_of(1, topic, network), network)
    [(receiver, message)] = sent(topic)
    assert receiver == "m0"
    assert message.marks[1].position == 1


def test_the_root_passes_one_sum_down_to_each_child():
    topic, network = topic_of(0), Network()
    exchange = exchange_of(0, topic, network)
    topic.events += [gathered(1, 3.0), gathered(2, 5.0)]
    train(exchange, network)
    assert [receiver for receiver, _ in sent(topic)] == ["m1", "m2"]
    assert {rank: m.position for rank, m in sent(topic)[0][1].marks.items()} == {
        0: 1,
        1: 1,
        2: 1,
    }


def test_what_others_told_is_subtracted_and_what_we_told_is_not_twice():
    topic, network = topic_of(0), Network()
    exchange = exchange_of(0, topic, network)
    topic.events += [gathered(1, 3.0), gathered(2, 5.0)]
    train(exchange, network)
    np.testing.assert_array_equal(network.params, -9.0)


def test_positions_are_those_in_the_base():
    topic, network = topic_of(1), Network()
    exchange = exchange_of(1, topic, network)
    marks = {0: Mark(messages=2, position=2), 2: Mark(messages=1, position=1)}
    topic.events.append(passed(marks, 1.0))
    exchange.idle(network)
    assert exchange.positions == {0: 2, 2: 1}


def test_what_only_we_have_gathered_is_in_no_position():
    """If we die it is dealt again; it went up, and nobody took it in."""
    topic, network = topic_of(1), Network()
    exchange = exchange_of(1, topic, network, fan_out=1)
    topic.events.append(gathered(2, 3.0))
    exchange.idle(network)
    assert exchange.positions == {0: 0, 2: 0}


def test_who_has_nothing_to_train_passes_on_at_once():
    topic, network = topic_of(1), Network()
    exchange = exchange_of(1, topic, network, fan_out=1)
    topic.events.append(gathered(2, 3.0))
    exchange.idle(network)
    assert [receiver for receiver, _ in sent(topic)] == ["m0"]


def test_nothing_waits_here_while_the_next_minibatch_is_trained():
    """A child that is behind was waited for already."""
    topic, network = topic_of(0), Network()
    train(exchange_of(0, topic, network), network)
    assert [receiver for receiver, _ in sent(topic)] == ["m1", "m2"]


def test_messages_of_another_phase_are_dropped():
    topic, network = topic_of(1), Network()
    exchange = exchange_of(1, topic, network)
    topic.events.append(passed({0: Mark(messages=1, position=1)}, 7.0, phase=-1))
    exchange.idle(network)
    np.testing.assert_array_equal(network.params, 0.0)


def test_the_heir_of_a_dead_root_reigns_when_it_has_heard_all_others():
    topic, network = topic_of(1), Network()
    exchange = exchange_of(1, topic, network)
    standing = Standing(reign=0, number=0, root=1, gone=frozenset({0}))
    topic.events += [Left("m0", clean=False), told(2, standing)]
    exchange.idle(network)
    exchange.idle(network)
    receiver, base = sent(topic)[0]
    assert (receiver, type(base), base.reign) == ("m2", Whole, 1)


def test_a_base_that_is_sent_whole_leaves_us_what_is_not_in_it():
    """What we told as well as what is in our residual."""
    topic, network = topic_of(2), Network()
    exchange = exchange_of(2, topic, network)
    train(exchange, network, 1.5)
    base = np.full(4, -10.0, np.float32)
    whole = Whole(reign=1, number=0, marks={}, is_last=False, base=base)
    topic.events += [Left("m0", clean=False), told(1, whole)]
    exchange.idle(network)
    exchange.idle(network)
    np.testing.assert_array_equal(network.params, -11.5)


def test_all_make_one_tree_whoever_knows_of_whose_death():
    """The ranks of the order count; who is known to be gone is bridged."""
    topic, network = topic_of(2), Network()
    exchange = exchange_of(2, topic, network)
    exchange._note_gone(0)
    topic.published.clear()
    topic.receivers.clear()
    exchange.begin(network, EVERYBODY, work(1))
    [(receiver, standing)] = sent(topic)
    assert (receiver, standing.root, standing.reign) == ("m1", 1, 0)


def ended_round(rank, members=EVERYBODY):
    brought = Told(
        "contribution", values=[np.zeros(0)], contribution=Contribution(position=1)
    )
    view = tuple(sorted(members))
    return [
        Message(f"m{rank}", "t", 1, 1, RoundMessage((0, 0), view, each))
        for each in (brought, Told("complete"))
    ]


def test_a_phase_ends_when_all_have_said_that_they_need_no_answers():
    topic, network = topic_of(0), Network()
    exchange = exchange_of(0, topic, network, warm_up=1)
    topic.events += [gathered(1, None, ends=True), gathered(2, 5.0, ends=True)]
    topic.events += [*ended_round(1), *ended_round(2)]
    exchange.end(network)
    assert [message.is_last for _, message in sent(topic)] == [True, True]
    np.testing.assert_array_equal(network.params, -5.0)
    assert topic.events.count(None) == 0


def test_whoever_has_ended_answers_until_all_others_have():
    topic, network = topic_of(1), Network()
    exchange = exchange_of(1, topic, network, warm_up=1)
    ends = {rank: Mark(messages=1, position=1, ends=True) for rank in EVERYBODY}
    topic.events.append(passed(ends, 1.0, is_last=True))
    # The root died as it told the other one, which asks its heir.
    standing = Standing(reign=0, number=0, root=1, gone=frozenset({0}))
    topic.events += [Left("m0", clean=False), told(2, standing)]
    topic.events += ended_round(2, members=frozenset({1, 2}))
    exchange.end(network)
    [*_, (receiver, base)] = sent(topic)
    assert (receiver, type(base), base.is_last) == ("m2", Whole, True)


class FullTopic(ScriptedTopic):
    """The first message has to wait for room; others come meanwhile."""

    def __init__(self, *meanwhile, **options):
        super().__init__(**options)
        self.meanwhile = meanwhile

    def publish(self, data, *, on_block, **options):
        self.events += self.meanwhile
        self.meanwhile = ()
        on_block()
        super().publish(data, **options)


def test_what_comes_while_a_message_waits_for_room_is_taken_in_behind_the_rest():
    topic, network = FullTopic(gathered(1, 3.0, 2), peers=(1, 2)), Network()
    exchange = exchange_of(0, topic, network)
    # The second one is passed on, and the third one was taken with it.
    topic.events += [gathered(2, 5.0), gathered(2, 5.0, 2), gathered(1, 3.0)]
    exchange.idle(network)
    assert exchange.positions == {1: 2, 2: 2}


def test_answers_to_that_go_behind_the_message_that_waits():
    topic, network = (
        FullTopic(gathered(1, 3.0), gathered(1, 3.0, 2), peers=(1, 2)),
        Network(),
    )
    exchange = exchange_of(0, topic, network)
    topic.events += [gathered(2, 5.0), gathered(2, 5.0, 2)]
    exchange.idle(network)
    numbers = [message.number for receiver, message in sent(topic) if receiver == "m1"]
    assert numbers == [1, 2]


@pytest.mark.parametrize(("n", "is_tree"), [(8, False), (9, True)])
def test_auto_takes_a_tree_from_nine_members_on(n, is_tree):
    members = frozenset(range(n))
    topic, network = topic_of(1, members=members), Network()
    exchange = exchange_of(1, topic, network, members, mesh_build_mode="auto")
    train(exchange, network)
    assert bool(sent(topic)) is is_tree


def test_staleness_counts_each_member_of_a_sum():
    topic, network = topic_of(1), Network()
    exchange = exchange_of(1, topic, network)
    train(exchange, network)
    train(exchange, network)
    marks = {0: Mark(messages=2, position=2), 2: Mark(messages=1, position=1)}
    topic.events.append(passed(marks, 1.0))
    exchange.idle(network)
    assert (exchange.staleness.messages, exchange.staleness.total) == (2, 1)


def test_who_is_ahead_waits_for_what_comes_over_the_tree():
    topic, network = topic_of(1), Network()
    exchange = exchange_of(1, topic, network, max_staleness=0, peer_timeout_s=0.2)
    marks = {rank: Mark(messages=1, position=1) for rank in (0, 2)}
    topic.events.append(passed(marks, 1.0))
    train(exchange, network)
    assert not exchange._peer.too_far_behind(1)


def test_it_is_certain_who_is_silent_where_one_takes_nothing(monkeypatch):
    topic, network = topic_of(0), Network()
    mesh = exchange_of(0, topic, network)._mesh
    assert (mesh.step, mesh.silent(frozenset({1, 2}))) == (1, {1, 2})
    monkeypatch.setattr(topic, "behind", lambda: ["m1"])
    assert (mesh.step, mesh.silent(frozenset({1, 2}))) == (0, {1})


def test_a_merge_drops_what_waits_of_a_tree_whose_phase_is_over():
    update = {"position": 1, "threshold": None, "data": None}
    late = InPhase(0, Standing(reign=0, number=1, root=0, gone=frozenset()))
    assert merge_waiting(4)([late, update, {**update, "position": 2}])["position"] == 2
