import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskdl.data.plan import (
    Minibatch,
    PartitionRows,
    deal,
    deal_rest,
    plan_given,
    plan_minibatches,
    shuffle,
    shuffle_in_windows,
)
from daskdl.data.room import Room
from daskdl.errors import OptionError

ROWS = st.lists(st.integers(0, 40), max_size=12)
BATCH_SIZES = st.integers(1, 50)


def rows_of(minibatch):
    return [
        (piece.partition, row)
        for piece in minibatch.pieces
        for row in range(piece.start, piece.stop)
    ]


def all_rows(rows):
    return [(k, row) for k, count in enumerate(rows) for row in range(count)]


@given(ROWS, BATCH_SIZES)
def test_every_row_comes_exactly_once_and_in_order(rows, batch_size):
    plan = plan_minibatches(rows, batch_size)
    assert [row for m in plan for row in rows_of(m)] == all_rows(rows)


@given(ROWS, BATCH_SIZES)
def test_only_the_very_last_minibatch_is_short(rows, batch_size):
    sizes = [minibatch.rows for minibatch in plan_minibatches(rows, batch_size)]
    assert all(size == batch_size for size in sizes[:-1])
    assert all(0 < size <= batch_size for size in sizes[-1:])


@given(ROWS, BATCH_SIZES)
def test_rows_and_index_say_what_the_pieces_hold(rows, batch_size):
    for number, minibatch in enumerate(plan_minibatches(rows, batch_size)):
        assert minibatch.index == number
        assert minibatch.rows == sum(piece.rows for piece in minibatch.pieces)


def test_a_minibatch_spans_the_border_of_partitions():
    assert plan_minibatches([3, 0, 2], 4) == [
        Minibatch(0, (PartitionRows(0, 0, 3), PartitionRows(2, 0, 1)), 4),
        Minibatch(1, (PartitionRows(2, 1, 2),), 1),
    ]


@given(ROWS)
def test_given_minibatches_are_the_filled_partitions(rows):
    plan = plan_given(rows)
    assert [m.pieces[0].partition for m in plan] == [k for k, n in enumerate(rows) if n]
    assert [row for m in plan for row in rows_of(m)] == all_rows(rows)


@given(ROWS, BATCH_SIZES, st.integers(1, 9), st.booleans())
def test_dealing_loses_nothing_and_counts_differ_by_at_most_one(
    rows, batch_size, n_workers, interleaved
):
    plan = plan_minibatches(rows, batch_size)
    hands = deal(plan, n_workers, interleaved=interleaved)
    assert sorted(m.index for hand in hands for m in hand) == list(range(len(plan)))
    counts = [len(hand) for hand in hands]
    assert len(counts) == n_workers
    assert max(counts) - min(counts) <= 1


def test_interleaved_deals_minibatch_k_to_worker_k_mod_n():
    hands = deal(plan_minibatches([7], 1), 3, interleaved=True)
    assert [[m.index for m in hand] for hand in hands] == [[0, 3, 6], [1, 4], [2, 5]]


def test_contiguous_blocks_keep_the_order_and_the_short_one_in_the_longest():
    hands = deal(plan_minibatches([45], 10), 2, interleaved=False)
    assert [[m.rows for m in hand] for hand in hands] == [[10, 10], [10, 10, 5]]


@given(ROWS, BATCH_SIZES, st.integers(1, 9))
def test_contiguous_blocks_together_are_the_plan(rows, batch_size, n_workers):
    plan = plan_minibatches(rows, batch_size)
    hands = deal(plan, n_workers, interleaved=False)
    assert [minibatch for hand in hands for minibatch in hand] == plan


@given(ROWS, st.integers(0, 2**31), st.integers(0, 100))
def test_shuffling_is_a_permutation_that_seed_and_epoch_decide(rows, seed, epoch):
    plan = plan_minibatches(rows, 3)
    shuffled = shuffle(plan, seed, epoch)
    assert sorted(shuffled, key=lambda m: m.index) == plan
    assert shuffle(plan, seed, epoch) == shuffled


def test_every_epoch_has_its_own_order():
    plan = plan_minibatches([100], 1)
    assert shuffle(plan, 7, 0) != shuffle(plan, 7, 1)


@given(ROWS, st.integers(0, 2**31), st.integers(0, 100), st.integers(0, 400))
def test_an_order_in_windows_is_a_permutation_that_seed_and_epoch_decide(
    rows, seed, epoch, room
):
    plan = plan_minibatches(rows, 3)
    nbytes = [10 * n for n in rows]
    how = {"streams": range(len(rows)), "room": Room(room, room // 2)}
    order = shuffle_in_windows(plan, nbytes, **how, seed=seed, epoch=epoch)
    assert sorted(order, key=lambda m: m.index) == plan
    again = shuffle_in_windows(plan, nbytes, **how, seed=seed, epoch=epoch)
    assert again == order


def test_what_fits_in_one_window_is_shuffled_as_a_whole():
    plan = plan_minibatches([20, 20], 3)
    room = Room(cache_bytes=400, window_bytes=100)
    whole = shuffle_in_windows(plan, [200, 200], [0, 1], room, seed=7, epoch=2)
    assert whole == shuffle(plan, 7, 2)


def test_the_minibatches_of_a_window_are_together_and_shuffled():
    plan = plan_minibatches([60] * 8, 3)
    given = (plan, [100] * 8, range(8), Room(cache_bytes=200, window_bytes=200))
    order = shuffle_in_windows(*given, seed=7, epoch=0)
    numbers = [one.pieces[0].partition for one in order]
    windows = [set(numbers[at : at + 40]) for at in range(0, 160, 40)]
    assert [len(window) for window in windows] == [2] * 4
    assert sorted(set().union(*windows)) == list(range(8))
    first = [one.index for one in order[:40]]
    assert first != sorted(first)
    assert order != shuffle_in_windows(*given, seed=7, epoch=1)


def test_blocks_of_one_partition_follow_each_other_window_by_window():
    plan = plan_minibatches([10] * 12, 10)
    streams = [number // 4 for number in range(12)]
    room = Room(cache_bytes=0, window_bytes=200)
    order = shuffle_in_windows(plan, [100] * 12, streams, room, seed=3, epoch=0)
    pairs = [order[at : at + 2] for at in range(0, 12, 2)]
    firsts = [min(one.index for one in pair) for pair in pairs]
    assert {streams[first] for first in firsts[:2]} != {streams[f] for f in firsts[2:4]}
    assert all(
        a % 4 == 0 and b == a + 2
        for a, b in zip(firsts[::2], firsts[1::2], strict=True)
    )
    assert firsts[::2] != sorted(firsts[::2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plan_minibatches([1], 0), r"batch_size must be > 0, got 0"),
        (lambda: plan_minibatches([1, -1], 2), r"rows of partition 1 must be >= 0"),
        (lambda: plan_given([-5]), r"rows of partition 0 must be >= 0, got -5"),
        (lambda: deal([], 0, interleaved=True), r"n_workers must be > 0, got 0"),
        (lambda: shuffle([], 0, -1), r"epoch must be >= 0, got -1"),
    ],
)
def test_impossible_numbers_are_refused(call, message):
    with pytest.raises(OptionError, match=message):
        call()


@pytest.mark.parametrize("interleaved", [True, False])
@given(
    n_before=st.integers(1, 4),
    n_now=st.integers(1, 4),
    rows=st.lists(st.integers(0, 30), max_size=4),
    data=st.data(),
)
def test_the_rest_of_an_epoch_is_dealt_once(interleaved, n_before, n_now, rows, data):
    shares = deal(plan_minibatches(rows, 4), n_before, interleaved=interleaved)
    positions = [data.draw(st.integers(0, len(share))) for share in shares]
    rest = deal_rest(shares, positions, n_now, interleaved=interleaved)
    left = [one for s, at in zip(shares, positions, strict=True) for one in s[at:]]
    dealt = [one for share in rest for one in share]
    assert len(rest) == n_now
    assert sorted(one.index for one in dealt) == sorted(one.index for one in left)


def test_as_many_workers_keep_their_shares():
    shares = deal(plan_minibatches([100], 10), 2, interleaved=True)
    rest = deal_rest(shares, (1, 3), 2, interleaved=True)
    assert rest == [shares[0][1:], shares[1][3:]]


def test_others_go_on_in_the_order_of_one_process():
    shares = deal(plan_minibatches([60], 10), 2, interleaved=True)
    ((*rest,),) = deal_rest(shares, (1, 1), 1, interleaved=True)
    assert [one.index for one in rest] == [2, 3, 4, 5]
