"""Where a run stands in an epoch, and what is dealt behind that."""

from itertools import chain

import pytest

from daskdl.cluster.epoch_order import EpochOrder
from daskdl.data.room import LEAST_ROOM
from daskdl.nn.fitting.run_state import RunPosition
from tests.unit.cluster.simulation_cluster import numbered_data


@pytest.fixture(params=[True, False], ids=["memory", "stored"])
def order(request):
    data = numbered_data([40, 8], 4, in_memory=request.param)
    return EpochOrder(data=data, epoch=1, shuffled=True, seed=3, room=LEAST_ROOM)


def whole(order, ranks):
    return order.deal(RunPosition(epoch=1), ranks)


def numbers(shares):
    return {rank: [one.index for one in share] for rank, share in shares.items()}


def test_shares_go_on_behind_what_each_member_trained(order):
    shares = whole(order, [0, 2])
    left = {0: shares[0][2:], 2: shares[2][3:]}
    position = order.position(1, left)
    assert (position.epoch, position.positions, position.left) == (1, (2, 3), ())
    assert numbers(order.deal(position, [0, 2])) == numbers(left)


def test_what_was_moved_is_named(order):
    shares = whole(order, [0, 1])
    left = {0: [*shares[0][2:], shares[1][-1]], 1: shares[1][3:-1]}
    position = order.position(1, left)
    assert position.left == tuple(map(tuple, numbers(left).values()))
    assert numbers(order.deal(position, [0, 1])) == numbers(left)


@pytest.mark.parametrize("moves", [0, 1])
@pytest.mark.parametrize("n_members", [1, 3])
def test_other_members_get_each_minibatch_once(order, n_members, moves):
    shares = whole(order, [0, 1])
    stop = len(shares[1]) - moves
    left = {0: [*shares[0][2:], *shares[1][stop:]], 1: shares[1][3:stop]}
    dealt = order.deal(order.position(1, left), range(n_members))
    assert sorted(chain(*numbers(dealt).values())) == sorted(
        chain(*numbers(left).values())
    )
