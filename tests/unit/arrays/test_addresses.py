from hypothesis import given
from hypothesis import strategies as st

from daskdl.arrays.addresses import Addresses


def test_what_is_taken_lies_one_behind_the_other():
    addresses = Addresses()
    assert [addresses.take(n) for n in (3, 4, 2)] == [0, 3, 7]


def test_the_lowest_gap_that_is_large_enough_is_taken():
    addresses = Addresses()
    for n in (2, 1, 3, 1):
        addresses.take(n)
    addresses.give_back(0, 2)
    addresses.give_back(3, 6)
    assert addresses.take(3) == 3


def test_gaps_that_touch_are_one():
    addresses = Addresses()
    for _ in range(4):
        addresses.take(1)
    for start in (0, 2, 1):
        addresses.give_back(start, start + 1)
    assert addresses.lowest(3) == 0


def test_what_comes_back_last_joins_what_was_never_taken():
    addresses = Addresses()
    addresses.take(5)
    addresses.give_back(0, 5)
    assert addresses.lowest(6) == 0


def test_the_most_is_that_of_all_times():
    addresses = Addresses()
    addresses.take(5)
    addresses.give_back(0, 5)
    addresses.take(2)
    assert addresses.most == 5


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 99)), max_size=60))
def test_nothing_is_taken_twice_and_everything_comes_back(requests):
    """Each request takes so many; then one that is held, if there is one, ends."""
    addresses, held = Addresses(), []
    for n, ending in requests:
        start = addresses.take(n)
        assert all(start + n <= a or b <= start for a, b in held)
        held.append((start, start + n))
        if ending % 2:
            addresses.give_back(*held.pop(ending % len(held)))
    for span in held:
        addresses.give_back(*span)
    assert addresses.lowest(1 << 40) == 0
