"""Partitions are trained where they lie, whole, and each once."""

from types import SimpleNamespace

import pytest

from daskdl import SharedTrainingMaster
from daskdl.cluster.epoch_order import EpochOrder
from daskdl.cluster.homes import deal_at_home, homes_of
from daskdl.data.plan import plan_minibatches
from daskdl.data.room import LEAST_ROOM
from daskdl.data.sources.partition import Partition
from daskdl.errors import OptionError
from daskdl.nn.fitting.run_state import RunPosition
from tests.unit.cluster.inline_client import InlineClient

PLAN = plan_minibatches([8, 8, 8, 8], 4)


class Held(Partition):
    """A partition of which workers hold some chunks."""

    def __init__(self, *keys):
        self.keys = keys

    def held_keys(self):
        return self.keys

    def load(self):
        raise AssertionError("Nothing is loaded to be dealt.")


class WhoHas(InlineClient):
    """Stands in for a client whose scheduler knows who holds what."""

    def __init__(self, holders):
        super().__init__()

        async def who_has(keys):
            return {key: holders.get(key, []) for key in keys}

        self.scheduler = SimpleNamespace(who_has=who_has)

    def sync(self, function, *args, **options):
        return super().sync(lambda: function(*args, **options))


def partitions_of(shares):
    return {
        rank: [one.pieces[0].partition for one in share]
        for rank, share in shares.items()
    }


def test_a_partition_lies_where_most_of_it_is():
    client = WhoHas({"x": ["b"], "y": ["a", "b"], "z": ["elsewhere"]})
    parts = [Held("x", "y"), Held("z"), Held()]
    assert homes_of(client, parts, {0: "a", 1: "b"}) == {0: 1}


def test_nobody_is_asked_where_stored_data_lie():
    assert homes_of(InlineClient(), [Held(), Held()], {0: "a"}) == {}


def test_each_partition_is_trained_where_it_lies():
    shares = deal_at_home(PLAN, {0: 1, 1: 1, 2: 0, 3: 1}, [0, 1])
    assert partitions_of(shares) == {0: [2, 2], 1: [0, 0, 1, 1, 3, 3]}


def test_a_partition_that_lies_nowhere_goes_whole_to_who_has_least():
    shares = deal_at_home(PLAN, {0: 1, 1: 7}, [0, 1])
    assert partitions_of(shares) == {0: [1, 1, 2, 2], 1: [0, 0, 3, 3]}


def test_minibatches_keep_their_order():
    shares = deal_at_home(PLAN[::-1], {0: 0, 1: 0, 2: 0, 3: 0}, [0, 1])
    assert shares == {0: PLAN[::-1], 1: []}


@pytest.fixture
def order():
    data = SimpleNamespace(
        minibatches=PLAN,
        source=SimpleNamespace(in_memory=False),
        epoch=lambda epoch, n, **how: [PLAN] if n == 1 else [PLAN[:4], PLAN[4:]],
    )
    options = {"epoch": 0, "shuffled": False, "seed": 0, "room": LEAST_ROOM}
    return EpochOrder(data=data, homes={0: 1, 3: 1, 1: 0, 2: 0}, **options)


def test_an_epoch_begins_where_partitions_lie(order):
    shares = order.deal(RunPosition(), [0, 1])
    assert partitions_of(shares) == {0: [1, 1, 2, 2], 1: [0, 0, 3, 3]}


def test_what_is_left_amid_an_epoch_is_told_by_its_minibatches(order):
    """Also where it looks as if it had been dealt in equal shares."""
    left = order.position(0, {0: PLAN[1:4], 1: PLAN[5:]})
    assert left.left == ((1, 2, 3), (5, 6, 7))
    assert order.deal(left, [0, 1]) == {0: PLAN[1:4], 1: PLAN[5:]}


def test_no_work_moves_from_where_it_lies():
    assert SharedTrainingMaster().moves_work
    assert not SharedTrainingMaster(repartition="never").moves_work


@pytest.mark.parametrize("given", ["NumPartitionsWorkersDiffers", None, True])
def test_other_repartitions_are_refused(given):
    with pytest.raises(OptionError, match="repartition must be one of 'always', 'n"):
        SharedTrainingMaster(repartition=given)
