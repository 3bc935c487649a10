"""Permutations that are computed: each place once, and back again."""

from collections import Counter

import numpy as np
import pytest

from daskdl.data.permutation import Permutation

SIZES = [1, 2, 3, 4, 5, 16, 17, 1000, 65537]


@pytest.mark.parametrize("size", SIZES)
def test_every_element_has_a_place_of_its_own(size):
    places = Permutation.drawn(size, 7, "test").places(np.arange(size))
    assert sorted(places.tolist()) == list(range(size))


@pytest.mark.parametrize("size", SIZES)
def test_the_inverse_leads_back(size):
    permutation = Permutation.drawn(size, 7, "test")
    elements = np.arange(size)
    found = permutation.elements(permutation.places(elements))
    np.testing.assert_array_equal(found, elements)


def test_some_elements_go_where_they_go_among_all():
    permutation = Permutation.drawn(1000, 7, "test")
    whole = permutation.places(np.arange(1000))
    np.testing.assert_array_equal(
        permutation.places(np.arange(300, 500)), whole[300:500]
    )


def test_sizes_beyond_any_table_are_inverted():
    permutation = Permutation.drawn(10**15, 7, "test")
    elements = np.arange(10**14, 10**14 + 100)
    found = permutation.elements(permutation.places(elements))
    np.testing.assert_array_equal(found, elements)


def test_no_elements_have_no_places():
    nothing = np.arange(0)
    assert len(Permutation.drawn(0, 7, "test").places(nothing)) == 0


def test_pairs_of_elements_come_to_all_pairs_of_places_alike():
    """Of 900 seeds each of 30 pairs has 30 on average, give or take 5.4."""
    seen = Counter(
        tuple(Permutation.drawn(6, seed, "test").places(np.array([0, 1])).tolist())
        for seed in range(900)
    )
    assert len(seen) == 30
    assert max(abs(count - 30) for count in seen.values()) < 6 * 5.4
