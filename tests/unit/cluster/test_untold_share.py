"""What of a residual was never told: alone, and where it decides how a phase ends."""

from dataclasses import replace

import numpy as np
import pytest

from daskdl.cluster.masters.gradient_sharing import GradientSharingPeer
from daskdl.cluster.masters.options import SharedTrainingMaster
from daskdl.cluster.masters.untold_share import UntoldShare
from daskdl.encoding.algorithms import AdaptiveThresholdAlgorithm

N, ROWS = 4000, 50
# Elements that move in the same direction each time: what messages are made for.
LOUD, MOVED = 1.0, 40
# A row of its own in each iteration, which does not come again.
ONCE = 0.01
PHASE = 30


def share_of(base, params, before):
    share = UntoldShare(len(before))
    share.begin(np.array(before, np.float32))
    return share.of(np.array(base, np.float32), np.array(params, np.float32))


def test_what_nobody_told_of_is_untold():
    assert share_of([0, 0], [0, -3], before=[0, 0]) == 1


def test_what_rounding_leaves_beside_much_that_was_told_is_not():
    assert share_of([-5, 5], [-6, 5.5], before=[0, 0]) == 0


def test_few_elements_count_by_their_magnitudes():
    assert share_of([-5, -5, 0], [-6, -5.5, 6], before=[0, 0, 0]) == pytest.approx(0.8)


def test_many_elements_count_however_small_they_are():
    assert share_of([-5, 0, 0], [-6, 0.1, 0.1], before=[0, 0, 0]) == pytest.approx(
        2 / 3
    )


def test_where_nothing_moved_nothing_is_untold():
    assert share_of([-5, 0, 0], [-6, 0, 0], before=[0, 0, 0]) == 0


def test_without_a_residual_nothing_is_untold():
    assert share_of([1, 1], [1, 1], before=[0, 0]) == 0


def test_before_it_is_known_what_was_told_nothing_is_untold():
    assert UntoldShare(2).of(np.zeros(2), np.ones(2)) == 0


def test_of_a_long_vector_a_sample_of_all_its_parts_is_enough(rng):
    base = np.zeros(300_000, np.float32)
    params = np.zeros(300_000, np.float32)
    params[:150_000] = 1
    base[150_000:], params[150_000:] = 7, 8
    share = UntoldShare(base.size)
    share.begin(np.zeros(300_000, np.float32))
    assert share.of(base, params) == pytest.approx(0.5, abs=0.01)


def sharing(master=None):
    """Return a peer that has begun a phase with another, and its vector."""
    vector = np.zeros(N, np.float32)
    peer = GradientSharingPeer(master or SharedTrainingMaster(warm_up=0), vector)
    peer.begin(0, frozenset({1}))
    return peer, vector


def train_phase(peer, vector, *, once, minibatches=PHASE):
    """Train what moves some elements again and again, and others `once` an epoch."""
    for position in range(1, minibatches + 1):
        update = np.zeros(N, np.float32)
        update[:MOVED] = LOUD
        row = position * ROWS
        update[row : row + ROWS] = once
        vector -= update
        if proposal := peer.propose(update):
            peer.agree(proposal)
        peer.count_update(position)
        peer.share(update, iteration=position, position=position)


def end_phase(peer, position, number):
    """End a phase; return the update that told of it whole, if there was one."""
    last = peer.end(position)
    peer.conclude(position)
    peer.begin(number, frozenset({1}))
    return last.data


def test_rows_that_come_once_an_epoch_are_told_at_its_end():
    """They never reach a threshold that is read off what moves all the time."""
    peer, vector = sharing()
    train_phase(peer, vector, once=ONCE)
    whole = end_phase(peer, PHASE, 1)
    np.testing.assert_allclose(whole[ROWS : PHASE * ROWS], ONCE, rtol=1e-5)


def test_what_all_members_have_in_common_has_learned_them():
    peer, vector = sharing()
    train_phase(peer, vector, once=ONCE)
    end_phase(peer, PHASE, 1)
    np.testing.assert_allclose(peer.base[ROWS : PHASE * ROWS], -ONCE, rtol=1e-5)


def test_a_phase_of_which_messages_told_keeps_what_rounding_left():
    peer, vector = sharing()
    train_phase(peer, vector, once=0.0)
    assert end_phase(peer, PHASE, 1) is None


def test_each_epoch_is_compared_with_what_was_told_since_the_last_whole_one():
    peer, vector = sharing()
    for number in (1, 2, 3):
        train_phase(peer, vector, once=ONCE)
        assert end_phase(peer, PHASE, number) is not None


def test_epochs_of_few_minibatches_are_told_whole_now_and_then():
    """Otherwise small data cost a dense message for each few iterations."""
    peer, vector = sharing()
    train_phase(peer, vector, once=ONCE)
    end_phase(peer, PHASE, 1)
    wholes = []
    for number in range(2, 8):
        train_phase(peer, vector, once=ONCE, minibatches=6)
        wholes.append(end_phase(peer, 6, number) is not None)
    assert wholes == [False, False, True] * 2


def test_where_the_threshold_is_given_its_messages_are_all_that_is_told():
    given = AdaptiveThresholdAlgorithm(initial_threshold=1e-1)
    peer, vector = sharing(
        replace(SharedTrainingMaster(warm_up=0), threshold_algorithm=given)
    )
    train_phase(peer, vector, once=ONCE)
    assert end_phase(peer, PHASE, 1) is None


def test_a_warm_up_is_no_sign_that_what_came_later_was_told():
    peer, vector = sharing(SharedTrainingMaster(warm_up=9))
    train_phase(peer, vector, once=ONCE)
    assert end_phase(peer, PHASE, 1) is not None


def test_a_restored_peer_compares_with_the_same():
    peer, vector = sharing()
    train_phase(peer, vector, once=ONCE, minibatches=20)
    end_phase(peer, 20, 1)
    train_phase(peer, vector, once=ONCE, minibatches=10)
    end_phase(peer, 10, 2)
    peer.conclude(0)
    other = GradientSharingPeer(SharedTrainingMaster(warm_up=0), vector.copy())
    other.load_state_dict(peer.state_dict())
    ends = []
    for each in (peer, other):
        each.begin(3, frozenset({1}))
        train_phase(each, each._params, once=ONCE, minibatches=10)
        ends.append(each.end(10).data)
    assert ends[0] is not None
    np.testing.assert_array_equal(*ends)
