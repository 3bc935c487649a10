"""Rounds of dense vectors: the same bits for all that are left, whoever dies when."""

import numpy as np
import pytest

from daskdl.cluster.masters import dense_sum
from daskdl.cluster.masters.combining import plain_sum, weighted_mean
from daskdl.cluster.masters.dense_round import DenseRound
from daskdl.cluster.masters.dense_sum import Contribution, cut_chunks
from tests.unit.cluster.rounds_between import Party, as_it_travels, vectors_of

SIZES = (700, 0, 305)


@pytest.fixture(params=["plain", "slices"])
def way(request, monkeypatch):
    """Both ways, with chunks of some elements."""
    if request.param == "slices":
        monkeypatch.setattr(dense_sum, "PLAIN_BELOW_BYTES", 0)
        monkeypatch.setattr(dense_sum, "CHUNK_BYTES", 800)
    return request.param


def plain_average(ranks, number, sizes, examples):
    """The mean as one process makes it, in rank order."""
    means = []
    for vectors in zip(*(vectors_of(r, number, sizes) for r in ranks), strict=True):
        mean = vectors[0].copy()
        for vector, count in zip(vectors[1:], examples[1:], strict=True):
            mean += (vector - vectors[0]) * np.float64(count / sum(examples))
        means.append(mean)
    return means


def taken(member):
    """Return what a member took, round by round, as bytes and positions."""
    return [
        (
            [vector.tobytes() for vector in total.vectors or ()],
            {rank: brought.position for rank, brought in total.contributions.items()},
        )
        for total in member.totals
    ]


def assert_all_took_the_same(party, rounds):
    for member in party.survivors:
        assert len(member.totals) == rounds, f"member {member.rank} hangs"
    first, *others = (taken(member) for member in party.survivors)
    assert all(other == first for other in others)


@pytest.mark.parametrize("n", [2, 3, 4, 7])
@pytest.mark.parametrize("seed", range(5))
def test_all_members_take_the_bits_of_the_plain_average(way, seed, n):
    party = Party(seed, n, sizes=SIZES)
    party.run()
    assert_all_took_the_same(party, 2)
    for number, total in enumerate(party.members[0].totals):
        expected = plain_average(range(n), number, SIZES, list(range(1, n + 1)))
        for vector, mean in zip(total.vectors, expected, strict=True):
            np.testing.assert_array_equal(vector, mean)


def started(rank, n, vectors):
    one = DenseRound(
        (0, 0),
        rank,
        range(n),
        Contribution(examples=rank + 1),
        vectors,
        weighted_mean,
        overwrites=True,
    )
    return one, as_it_travels(one.upcoming[0])


@pytest.mark.parametrize("rank", [0, 1])
def test_two_members_vectors_become_the_mean_once_they_were_sent(rank):
    own = vectors_of(rank, 0, SIZES)
    mine, _ = started(rank, 2, own)
    _, message = started(1 - rank, 2, vectors_of(1 - rank, 0, SIZES))
    mine.next_message()
    mine.receive(1 - rank, message)
    assert all(a is b for a, b in zip(mine.total.vectors, own, strict=True))
    expected = plain_average(range(2), 0, SIZES, [1, 2])
    np.testing.assert_array_equal(np.concatenate(own), np.concatenate(expected))


@pytest.mark.parametrize(("n", "is_sent"), [(2, False), (3, True)])
def test_what_others_still_need_is_not_overwritten(n, is_sent):
    own = vectors_of(0, 0, SIZES)
    mine, _ = started(0, n, own)
    if is_sent:
        mine.next_message()
    for rank in range(1, n):
        mine.receive(rank, started(rank, n, vectors_of(rank, 0, SIZES))[1])
    assert mine.total is not None or n == 3
    expected = np.concatenate(vectors_of(0, 0, SIZES))
    np.testing.assert_array_equal(np.concatenate(own), expected)


@pytest.mark.parametrize("n", [3, 4, 8])
def test_slices_cost_less_than_twice_the_vectors(monkeypatch, n):
    monkeypatch.setattr(dense_sum, "PLAIN_BELOW_BYTES", 0)
    party = Party(1, n, rounds=1, sizes=SIZES)
    party.run()
    for member in party.members.values():
        assert member.sent_bytes <= 2 * 8 * sum(SIZES) * (n - 1) / n + 8 * n


@pytest.mark.parametrize("sizes", [(7, 5), (10_000,)])
def test_two_members_send_the_vectors_once(sizes):
    party = Party(1, 2, rounds=1, sizes=sizes)
    party.run()
    for member in party.members.values():
        assert member.sent_bytes == 8 * sum(sizes)


def test_who_brings_no_examples_sends_no_vectors_and_takes_all(way):
    party = Party(1, 4, rounds=1, sizes=SIZES, examples=(3, 0, 5, 2))
    party.run()
    assert_all_took_the_same(party, 1)
    expected = plain_average([0, 2, 3], 0, SIZES, [3, 5, 2])
    for vector, mean in zip(party.members[1].totals[0].vectors, expected, strict=True):
        np.testing.assert_array_equal(vector, mean)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_where_nobody_brings_examples_nothing_changes(way, n):
    party = Party(1, n, rounds=1, sizes=SIZES, examples=(0,) * n)
    party.run()
    assert [m.totals[0].vectors for m in party.members.values()] == [None] * n


def messages_of_a_round(n, **options):
    party = Party(0, n, **options)
    party.run()
    return party.members[0].sent


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_a_death_at_any_message_leaves_all_with_the_same(way, seed, n):
    options = {"sizes": SIZES}
    for sent in range(messages_of_a_round(n, **options) + 1):
        for rank in range(n):
            party = Party(seed, n, deaths={rank: sent}, **options)
            party.run()
            assert_all_took_the_same(party, 2)


@pytest.mark.parametrize("seed", range(3))
def test_two_deaths_at_any_two_messages_leave_all_with_the_same(way, seed):
    options = {"sizes": (70, 35)}
    last = messages_of_a_round(4, **options) + 1
    for first in range(last):
        for second in range(0, last, 2):
            deaths = {seed: first, 3: second}
            party = Party(seed, 4, deaths=deaths, **options)
            party.run()
            assert_all_took_the_same(party, 2)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("n_deaths", [1, 2, 3])
def test_thousands_of_parties(way, n_deaths):
    for seed in range(4000):
        n = 3 + seed % 3
        deaths = {(seed + d) % n: (seed * 7 + 13 * d) % 40 for d in range(n_deaths)}
        party = Party(seed, n, rounds=3, sizes=(70, 35), deaths=deaths)
        if len(deaths) < n:
            party.run()
            assert_all_took_the_same(party, 3)


@pytest.mark.parametrize("members", [(0,), (0, 3, 4), tuple(range(9))])
@pytest.mark.parametrize("sizes", [(1,), (10, 0, 3), (1000, 999)])
def test_chunks_cover_each_element_once(monkeypatch, sizes, members):
    monkeypatch.setattr(dense_sum, "CHUNK_BYTES", 800)
    seen = [np.zeros(size) for size in sizes]
    for chunk in cut_chunks(sizes, 8, members):
        seen[chunk.vector][chunk.part] += 1
        assert chunk.stop - chunk.start <= 100
    assert all(np.all(vector == 1) for vector in seen)


def test_members_own_equal_slices():
    owned = dict.fromkeys(range(7), 0)
    for chunk in cut_chunks((1000, 999), 8, range(7)):
        owned[chunk.owner] += chunk.stop - chunk.start
    assert max(owned.values()) - min(owned.values()) <= 1


VECTORS = [np.array([1.0, 2.0]), np.array([3.0, 6.0]), np.array([5.0, 1.0])]


@pytest.mark.parametrize(
    ("combine", "expected"),
    [
        (weighted_mean, [4.0, 2.375]),
        (plain_sum, [9.0, 9.0]),
    ],
)
def test_what_vectors_come_to(combine, expected):
    out = np.empty(2)
    combine(VECTORS, [1, 2, 5], out)
    np.testing.assert_array_equal(out, expected)


def test_the_mean_of_equals_is_equal_to_the_bit(rng):
    """Parameters that are frozen stay what they are, whatever the weights."""
    vector = rng.standard_normal(1000).astype(np.float32)
    out = np.empty_like(vector)
    weighted_mean([vector, vector.copy(), vector.copy()], [5, 3, 7], out)
    np.testing.assert_array_equal(out, vector)
