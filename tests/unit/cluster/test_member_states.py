"""What members alone have: for as many, for others, and from fit to fit."""

import numpy as np
import pytest

from daskdl.cluster import member_states
from daskdl.cluster.masters.regrouping import regrouped
from daskdl.cluster.member_states import KeptStates
from tests.unit.cluster.tally_network import TallyNetwork

STATES = [
    {"residual": np.array([1.0, 2.0]), "trained": 5},
    {"residual": np.array([10.0, 20.0]), "trained": 6},
]


def test_as_many_members_go_on_rank_by_rank():
    assert regrouped(STATES, 2) == STATES


@pytest.mark.parametrize("n_members", [1, 3])
def test_others_lose_nothing_that_adds_up(n_members):
    first, *others = regrouped(STATES, n_members)
    np.testing.assert_array_equal(first["residual"], [11.0, 22.0])
    assert first["trained"] == 5
    assert others == [{"trained": 5}] * (n_members - 1)


def test_of_a_member_that_went_nothing_is_known():
    assert regrouped([{}, STATES[1]], 2) == [{}, STATES[1]]
    (alone,) = regrouped([{}, STATES[1]], 1)
    np.testing.assert_array_equal(alone["residual"], [10.0, 20.0])


def test_where_members_have_nothing_nothing_is_given():
    assert regrouped([{}, {}], 2) == []
    assert regrouped([], 2) == []


@pytest.fixture
def network():
    return TallyNetwork(4, 1)


def test_states_go_on_with_the_network_that_a_fit_left(network):
    assert KeptStates.behind(network, STATES).of(network) is STATES


def test_states_go_with_the_parameters_to_which_they_belong(network):
    kept = KeptStates.behind(network, STATES)
    network.params[0] += 1
    assert kept.of(network) == ()


def test_large_states_are_not_kept(network, monkeypatch):
    monkeypatch.setattr(member_states, "MOST_KEPT_BYTES", 31)
    assert KeptStates.behind(network, STATES).of(network) == ()
