"""Gradient sharing between peers that live in one process: pure rules."""

from collections import deque
from dataclasses import replace

import numpy as np
import pytest

from daskdl.arrays.flat import Slot
from daskdl.cluster.masters.gradient_sharing import (
    MOST_LATE,
    GradientSharingPeer,
    iterations_together,
)
from daskdl.cluster.masters.options import SharedTrainingMaster
from daskdl.cluster.masters.shared_update import SharedUpdate, merge_waiting
from daskdl.cluster.masters.staleness import StalenessTally
from daskdl.encoding.algorithms import FixedThresholdAlgorithm
from daskdl.encoding.residual import (
    NoOpResidualPostProcessor,
    ResidualClippingPostProcessor,
)
from daskdl.encoding.wire import pack, unpack
from daskdl.errors import DamagedMessageError, ShapeError, StaleMessageError

N = 200


@pytest.fixture
def master():
    return SharedTrainingMaster(
        threshold_algorithm=FixedThresholdAlgorithm(threshold=0.01),
        residual_post_processor=NoOpResidualPostProcessor(),
        warm_up=0,
    )


def make_peers(master, count):
    vectors = [np.zeros(N, np.float32) for _ in range(count)]
    peers = [GradientSharingPeer(master, vector) for vector in vectors]
    for rank, peer in enumerate(peers):
        peer.begin(0, frozenset(range(count)) - {rank})
    return peers, vectors


def train(peer, vector, update, position=1):
    """Subtract an update, as a network does, and share it."""
    vector -= update
    return peer.share(update, iteration=position, position=position)


def step(peers, vectors, updates, position):
    messages = {
        rank: train(*replica, position)
        for rank, replica in enumerate(zip(peers, vectors, updates, strict=True))
    }
    for rank, message in messages.items():
        for other, peer in enumerate(peers):
            if other != rank and message is not None:
                peer.receive(rank, message)


def test_replicas_agree_after_every_message_was_taken_in(master, rng):
    peers, vectors = make_peers(master, 3)
    for position in range(1, 20):
        updates = rng.normal(0, 0.02, (3, N)).astype(np.float32)
        step(peers, vectors, updates, position)
    for peer in peers:
        peer.conclude(19)
    np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-6)


def test_an_own_update_moves_the_own_parameters_whole_and_at_once(master):
    """Quantized, and held back by the threshold, only the peers see it."""
    (one, other), vectors = make_peers(master, 2)
    update = np.full(N, 0.013, np.float32)
    other.receive(0, train(one, vectors[0], update))
    np.testing.assert_array_equal(vectors[0], -update)
    np.testing.assert_allclose(vectors[1], -0.01, rtol=1e-6)
    np.testing.assert_allclose(one.residual, 0.003, rtol=1e-4)


def test_the_residual_is_measured_before_its_message(master):
    (peer, _), (vector, _) = make_peers(replace(master, encoding_debug_mode=True), 2)
    train(peer, vector, np.full(N, 0.013, np.float32))
    measured = peer.measured
    assert (measured.length, measured.threshold, measured.reached) == (N, 0.01, N)
    assert measured.largest == pytest.approx(0.013)


def test_nothing_is_measured_of_dense_messages_nor_unless_it_is_asked_for(master):
    for options in ({"encoding_debug_mode": True, "warm_up": 5}, {}):
        (peer, _), (vector, _) = make_peers(replace(master, **options), 2)
        train(peer, vector, np.full(N, 0.013, np.float32))
        assert peer.measured is None


def test_measuring_changes_no_message(master, rng):
    plain, measuring = (
        make_peers(replace(master, encoding_debug_mode=mode), 2)
        for mode in (False, True)
    )
    for position in range(1, 6):
        update = rng.normal(0, 0.02, N).astype(np.float32)
        messages = [
            train(peers[0], vectors[0], update, position)
            for peers, vectors in (plain, measuring)
        ]
        np.testing.assert_array_equal(messages[0].data, messages[1].data)


def aware_of(master, positions):
    """Return a peer of rank 0 that has seen so much of the others, and its vector."""
    aware = replace(master, staleness_aware=True)
    peers, vectors = make_peers(aware, len(positions) + 1)
    for rank, position in enumerate(positions, 1):
        told = SharedUpdate(phase=0, position=position, ends=False)
        peers[0].receive(rank, told)
    return peers[0], vectors[0]


def heeded(peer, vector, position):
    update = np.ones(N, np.float32)
    vector -= update
    peer.heed_staleness(update, position)
    np.testing.assert_allclose(vector, -update, rtol=1e-6)
    return update


@pytest.mark.parametrize(
    ("positions", "position", "divisor"),
    [
        ([5], 6, 1),  # it has seen all
        ([5], 7, 1),  # one that is late is as good as any: Zhang's staleness of 1
        ([5], 10, 4),
        ([5, 8], 10, 2.5),  # the mean of 4 and 1
        ([5, 20], 10, 2),  # who is ahead is not late
        (
            [0, 7],
            10,
            2,
        ),  # who is so far behind is slow: of its messages none is missing
        ([0], 10, 1),
    ],
)
def test_an_own_update_is_divided_by_what_it_had_not_seen(
    master, positions, position, divisor
):
    peer, vector = aware_of(master, positions)
    np.testing.assert_allclose(heeded(peer, vector, position), 1 / divisor, rtol=1e-6)


def test_who_has_ended_the_phase_is_not_late(master):
    peer, vector = aware_of(master, [5])
    peer.receive(1, SharedUpdate(phase=0, position=5, ends=True))
    np.testing.assert_array_equal(heeded(peer, vector, 10), 1.0)


def test_what_will_be_told_together_is_not_late(master):
    peer, vector = aware_of(replace(master, iterations_together=4), [5])
    assert not peer.count_update(256)  # of four one
    np.testing.assert_allclose(heeded(peer, vector, 11), 1 / 2)


def test_unless_it_is_asked_for_no_update_is_divided(master):
    (peer, _), vectors = make_peers(master, 2)
    np.testing.assert_array_equal(heeded(peer, vectors[0], 5), 1.0)


def test_running_statistics_are_not_divided(master):
    vector = np.zeros(N, np.float32)
    slots = [Slot("mean", (4,), 0)]
    aware = replace(master, staleness_aware=True)
    peer = GradientSharingPeer(aware, vector, slots)
    peer.begin(0, frozenset({1}))
    vector -= 1
    peer.heed_staleness(np.ones(N, np.float32), 5)
    np.testing.assert_array_equal(vector[:4], -1.0)
    np.testing.assert_array_equal(vector[4:], -0.25)


def test_replicas_agree_on_updates_that_were_divided(master, rng):
    """By different numbers: the sender's, and all subtract the same message."""
    aware = replace(master, staleness_aware=True)
    peers, vectors = make_peers(aware, 2)
    late = deque()
    for position in range(1, 12):
        messages = []
        for peer, vector in zip(peers, vectors, strict=True):
            update = rng.normal(0, 0.02, N).astype(np.float32)
            vector -= update
            peer.heed_staleness(update, position)
            messages.append(peer.share(update, iteration=position, position=position))
        peers[0].receive(1, messages[1])
        late.append(messages[0])
        if len(late) > 3:
            peers[1].receive(0, late.popleft())
    for message in late:
        peers[1].receive(0, message)
    for peer in peers:
        peer.conclude(11)
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)


def test_what_is_clipped_off_the_residual_is_taken_back(master):
    clipping = replace(
        master,
        residual_post_processor=ResidualClippingPostProcessor(
            threshold_multiple=2.0, frequency=2
        ),
    )
    (peer, _), vectors = make_peers(clipping, 2)
    train(peer, vectors[0], np.full(N, 0.1, np.float32), 1)
    np.testing.assert_allclose(vectors[0], -0.1, rtol=1e-6)
    train(peer, vectors[0], np.zeros(N, np.float32), 2)
    # Two quanta were sent, two are the most that is kept.
    np.testing.assert_allclose(vectors[0], -0.04, rtol=1e-6)


def test_clipping_that_fell_due_between_two_messages_is_done(master):
    clipping = replace(
        master,
        residual_post_processor=ResidualClippingPostProcessor(
            threshold_multiple=2.0, frequency=5
        ),
        iterations_together=2,
    )
    (peer, _), vectors = make_peers(clipping, 2)
    train(peer, vectors[0], np.full(N, 0.1, np.float32), 4)
    train(peer, vectors[0], np.zeros(N, np.float32), 6)
    np.testing.assert_allclose(peer.residual, 0.02, rtol=1e-6)


def test_nothing_is_lost_residuals_hold_what_was_not_sent(master, rng):
    peers, vectors = make_peers(master, 2)
    total = np.zeros(N)
    for position in range(1, 20):
        updates = rng.normal(0, 0.02, (2, N)).astype(np.float32)
        total += updates.sum(axis=0)
        step(peers, vectors, updates, position)
    for peer in peers:
        peer.conclude(19)
    held = -vectors[0] + peers[0].residual + peers[1].residual
    np.testing.assert_allclose(held, total, atol=1e-5)


@pytest.mark.parametrize("iterations", [1, 15])
def test_a_short_phase_leaves_nothing_in_the_residuals(master, rng, iterations):
    """A fit of a few minibatches would else return the network that it was given."""
    peers, vectors = make_peers(master, 2)
    total = np.zeros(N)
    for position in range(1, iterations + 1):
        updates = rng.normal(0, 0.001, (2, N)).astype(np.float32)
        total += updates.sum(axis=0)
        step(peers, vectors, updates, position)
    for rank, peer in enumerate(peers):
        peers[1 - rank].receive(rank, peer.end(iterations))
    for peer in peers:
        peer.conclude(iterations)
    np.testing.assert_allclose(-vectors[0], total, atol=1e-6)
    np.testing.assert_array_equal(vectors[0], vectors[1])


def test_a_network_of_one_minibatch_a_phase_is_not_told_whole_for_ever(master):
    peers, vectors = make_peers(master, 2)
    is_whole = []
    for phase in range(20):
        peers[0].begin(phase, frozenset({1}))
        train(peers[0], vectors[0], np.full(N, 0.001, np.float32))
        is_whole.append(peers[0].end(1).data is not None)
        peers[0].conclude(1)
    assert is_whole == [True] * 15 + [False] * 5


def test_messages_of_the_first_iterations_are_dense(master, rng):
    (peer, _), (vector, _) = make_peers(replace(master, warm_up=2), 2)
    updates = rng.normal(0, 0.02, (3, N)).astype(np.float32)
    kinds = []
    for iteration, update in enumerate(updates):
        vector -= update
        message = peer.share(update, iteration=iteration, position=iteration + 1)
        kinds.append(message.data.dtype.kind)
    assert kinds == ["f", "f", "u"]


def test_after_a_dense_message_replicas_are_equal_bit_for_bit(master, rng):
    (one, other), vectors = make_peers(replace(master, warm_up=2), 2)
    update = rng.normal(0, 0.02, N).astype(np.float32)
    vectors[0] -= update
    other.receive(0, one.share(update, iteration=0, position=1))
    np.testing.assert_array_equal(vectors[0], vectors[1])


def test_who_warmed_up_does_not_end_a_short_phase_with_a_dense_message(master):
    (peer, _), (vector, _) = make_peers(replace(master, warm_up=2), 2)
    for iteration in range(4):
        update = np.full(N, 0.001, np.float32)
        vector -= update
        peer.share(update, iteration=iteration, position=iteration + 1)
    assert peer.end(4).data is None


@pytest.mark.parametrize(("members", "is_dense"), [(2, False), (3, False), (4, True)])
def test_only_several_members_warm_up_unless_they_are_told(master, members, is_dense):
    peers, vectors = make_peers(replace(master, warm_up=None), members)
    message = train(peers[0], vectors[0], np.full(N, 0.01, np.float32))
    assert (message.data.dtype == np.float32) == is_dense


def test_a_network_that_was_trained_before_does_not_warm_up(master):
    (peer, _), _ = make_peers(replace(master, warm_up=2), 2)
    message = peer.share(np.zeros(N, np.float32), iteration=2, position=1)
    assert message.data.dtype == np.uint8


def two_phases(make_second, master, rng):
    """Return what a peer shares in the second of two phases, and its parameters."""
    vector, sent = np.zeros(N, np.float32), []
    peer = GradientSharingPeer(master, vector)
    for phase in range(2):
        peer.begin(phase, frozenset({1}))
        for position in range(1, 21):
            update = rng.normal(0, 0.004, N).astype(np.float32)
            message = train(peer, vector, update, 20 * phase + position)
            sent.append(None if message.data is None else message.data.tobytes())
        peer.conclude(20)
        if not phase:
            peer = make_second(peer, vector)
    return sent[20:], vector


def restored(master):
    def make(peer, vector):
        other = GradientSharingPeer(master, vector)
        other.load_state_dict(peer.state_dict())
        return other

    return make


def test_a_restored_peer_sends_the_same_bytes(master):
    rngs = [np.random.default_rng(3) for _ in range(2)]
    went_on = two_phases(lambda peer, vector: peer, master, rngs[0])
    came_back = two_phases(restored(master), master, rngs[1])
    assert went_on[0] == came_back[0]
    np.testing.assert_array_equal(went_on[1], came_back[1])


def test_a_residual_of_another_network_is_refused(master):
    state = GradientSharingPeer(master, np.zeros(N + 1, np.float32)).state_dict()
    peer = GradientSharingPeer(master, np.zeros(N, np.float32))
    with pytest.raises(ShapeError, match=r"must have shape \(200,\)"):
        peer.load_state_dict(state)


@pytest.mark.parametrize(("ahead", "behind"), [(3, set()), (4, {1})])
def test_who_is_ahead_by_more_than_the_bound_waits(master, ahead, behind):
    (peer, _), _ = make_peers(replace(master, max_staleness=2), 2)
    peer.receive(1, SharedUpdate(phase=0, position=1, ends=False))
    assert peer.too_far_behind(ahead) == behind


def test_nobody_waits_for_a_peer_that_has_ended_the_phase(master):
    (peer, _), _ = make_peers(replace(master, max_staleness=2), 2)
    peer.receive(1, SharedUpdate(phase=0, position=1, ends=True))
    assert peer.too_far_behind(9) == set()


def test_without_a_bound_nobody_is_too_far_behind(master):
    (peer, _), _ = make_peers(master, 2)
    assert peer.too_far_behind(10**6) == set()


def test_a_message_is_late_by_what_we_have_told_since(master):
    (peer, other), vectors = make_peers(master, 2)
    messages = [
        train(other, vectors[1], np.full(N, 0.02, np.float32), position)
        for position in (1, 2)
    ]
    train(peer, vectors[0], np.full(N, 0.02, np.float32), 4)
    for message in messages:
        peer.receive(1, message)
    assert peer.staleness == StalenessTally(messages=2, total=5, most=3)


def test_only_peers_that_are_a_little_behind_are_waited_for(master):
    (peer, _), _ = make_peers(master, 2)
    assert not peer.is_waited_for(0)
    assert peer.is_waited_for(1)
    assert peer.is_waited_for(MOST_LATE)
    assert not peer.is_waited_for(MOST_LATE + 1)
    peer.left(1)
    assert not peer.is_waited_for(1)


def test_a_peer_that_takes_much_longer_is_not_waited_for(master):
    (peer, _), _ = make_peers(master, 2)
    tells = {"phase": 0, "ends": False}
    peer.receive(1, SharedUpdate(**tells, position=1, step_s=0.3))
    assert peer.is_waited_for(2, step_s=0.2)
    assert not peer.is_waited_for(2, step_s=0.1)


def test_a_long_phase_keeps_its_residual(master):
    peers, vectors = make_peers(master, 2)
    train(peers[0], vectors[0], np.full(N, 0.001, np.float32))
    assert peers[0].end(16).data is None


def test_whoever_trained_nothing_sends_no_residual(master):
    peers, _ = make_peers(master, 2)
    assert peers[0].end(0).data is None


def test_at_the_end_the_residual_stays_where_it_is(master):
    """It was no part of the network whose score was told."""
    peers, vectors = make_peers(master, 2)
    train(peers[1], vectors[1], np.full(N, 0.034, np.float32))
    before = peers[1].residual.copy()
    peers[1].conclude(1)
    peers[1].finish()
    peers[1].begin(1, frozenset({0}))
    peers[1].left(0)
    peers[1].return_to_base()
    np.testing.assert_array_equal(peers[1].residual, before)


def test_alone_it_is_never_time_to_share(master):
    (peer,), _ = make_peers(master, 1)
    assert not peer.count_update(0)


@pytest.mark.parametrize(
    ("iteration", "together"), [(0, 1), (127, 1), (128, 2), (255, 3), (9999, 4)]
)
def test_iterations_are_told_together_once_much_was_learned(iteration, together):
    assert iterations_together(4, iteration) == together


def test_nobody_is_late_with_what_will_be_told_together(master):
    (peer, _), _ = make_peers(replace(master, iterations_together=4), 2)
    shares = [peer.count_update(900) for _ in range(4)]
    assert shares == [False, False, False, True]
    assert not peer.is_waited_for(3)
    assert peer.is_waited_for(4)
    assert peer.is_waited_for(3 + MOST_LATE)
    assert not peer.is_waited_for(4 + MOST_LATE)


def test_a_phase_shares_its_rest_unless_it_is_short(master):
    (peer, _), vectors = make_peers(replace(master, iterations_together=4), 2)
    peer.count_update(900)
    assert peer.has_rest(16)
    assert not peer.has_rest(15)
    train(peer, vectors[0], np.ones(N, np.float32))
    assert not peer.has_rest(16)


def test_the_last_survivor_keeps_its_residual(master):
    peers, vectors = make_peers(master, 2)
    train(peers[0], vectors[0], np.full(N, 0.004, np.float32))
    peers[0].left(1)
    peers[0].conclude(1)
    np.testing.assert_allclose(vectors[0], -0.004, rtol=1e-5)


def test_a_phase_waits_for_the_last_message_of_each_peer(master):
    peers, _ = make_peers(master, 2)
    assert peers[0].waiting_for == {1}


def test_the_last_message_ends_the_wait(master):
    peers, _ = make_peers(master, 2)
    peers[0].receive(1, peers[1].end(3))
    assert peers[0].waiting_for == frozenset()


def test_positions_tell_how_far_a_peer_was_taken_in(master):
    peers, _ = make_peers(master, 2)
    peers[0].receive(1, SharedUpdate(phase=0, position=3, ends=False, data=None))
    assert peers[0].positions == {1: 3}


def test_an_older_phase_reaches_the_parameters_but_not_the_positions(master):
    peers, _ = make_peers(master, 2)
    peers[0].begin(1, frozenset({1}))
    peers[0].receive(1, SharedUpdate(phase=0, position=9, ends=True, data=None))
    assert peers[0].positions == {1: 0}


def test_a_message_from_the_future_is_refused(master):
    peers, _ = make_peers(master, 2)
    with pytest.raises(StaleMessageError, match="phase 0 or an older one, got phase 4"):
        peers[0].receive(1, SharedUpdate(phase=4, position=1, ends=False, data=None))


def test_merged_messages_have_the_sum_of_their_parts(master, rng):
    peers, vectors = make_peers(master, 2)
    waiting = []
    for position in range(1, 6):
        update = rng.normal(0, 0.05, N).astype(np.float32)
        message = train(peers[1], vectors[1], update, position)
        waiting.append(message.to_wire())
    peers[0].receive(1, SharedUpdate(**merge_waiting(N)(waiting)))
    peers[1].conclude(5)
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)


def sparse_messages(peer, vector, count):
    """Return what a peer sends after its first message, which is a bitmap."""
    updates = np.zeros((count + 1, N), np.float32)
    updates[1:, 7::50] = 0.01
    messages = [
        train(peer, vector, update, position) for position, update in enumerate(updates)
    ]
    return messages[1:]


def test_updates_travel_packed(master):
    peers, vectors = make_peers(master, 2)
    (message,) = sparse_messages(peers[1], vectors[1], 1)
    assert message.data.dtype == np.uint8
    assert message.data.nbytes == pack(unpack(message.data)).nbytes


def test_merged_messages_of_one_threshold_are_a_message_again(master):
    peers, vectors = make_peers(master, 2)
    waiting = [
        message.to_wire() for message in sparse_messages(peers[1], vectors[1], 3)
    ]
    merged = merge_waiting(N)(waiting)
    assert merged["data"].nbytes < sum(item["data"].nbytes for item in waiting)
    peers[0].receive(1, SharedUpdate(**merged))
    peers[1].conclude(3)
    np.testing.assert_array_equal(vectors[0], vectors[1])


def test_a_message_that_was_damaged_on_its_way_changes_nothing(master):
    peers, vectors = make_peers(master, 2)
    (message,) = sparse_messages(peers[1], vectors[1], 1)
    message.data[-1] ^= 1
    with pytest.raises(DamagedMessageError, match="must hold checksum"):
        peers[0].receive(1, message)
    assert not vectors[0].any()
    assert peers[0].positions == {1: 0}


def test_a_merged_message_has_the_position_of_its_last_part(master):
    folded = merge_waiting(N)(
        [
            SharedUpdate(phase=0, position=2, ends=False, data=None).to_wire(),
            SharedUpdate(phase=0, position=5, ends=True, data=None).to_wire(),
        ]
    )
    assert (folded["position"], folded["ends"]) == (5, True)


def test_a_merged_message_keeps_what_the_first_update_asks_for():
    wire = {"phase": 0, "position": 0, "ends": False}
    folded = merge_waiting(N)(
        [
            SharedUpdate(**wire, threshold=0.5).to_wire(),
            SharedUpdate(**wire).to_wire(),
        ]
    )
    assert folded["threshold"] == 0.5
