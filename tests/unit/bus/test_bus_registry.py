"""The scheduler's book of members."""

import pytest

from daskdl.cluster.bus.registry import Entry, Registry, View

A = Entry("tcp://a:1", "{}", True)
B = Entry("tcp://b:1", "{}", True)


@pytest.fixture
def registry() -> Registry:
    registry = Registry()
    registry.join("t", "a", A)
    registry.join("t", "b", B)
    registry.join("u", "c", A)
    return registry


def test_view_has_the_members_of_its_topic(registry):
    assert registry.view("t").members == {"a": A, "b": B}


def test_every_change_makes_a_larger_epoch(registry):
    before = registry.view("t").epoch
    registry.leave("t", "a")
    assert registry.view("t").epoch > before


def test_change_of_another_topic_keeps_the_epoch(registry):
    before = registry.view("t").epoch
    registry.join("u", "d", B)
    assert registry.view("t").epoch == before


def test_epoch_goes_on_when_a_topic_was_empty(registry):
    before = registry.view("u").epoch
    registry.leave("u", "c")
    registry.join("u", "d", B)
    assert registry.view("u").epoch > before + 1


def test_view_of_a_topic_that_all_left_is_newer_than_their_last(registry):
    before = registry.view("u").epoch
    registry.leave("u", "c")
    assert registry.view("u") == View("u", before + 1, {})


def test_leave_of_a_stranger_changes_nothing(registry):
    before = registry.view("t")
    assert not registry.leave("t", "nobody")
    assert registry.view("t") == before


def test_lost_worker_leaves_all_its_topics(registry):
    assert set(registry.remove_worker(A.address)) == {"t", "u"}
    assert registry.view("t").members == {"b": B}
    assert registry.workers() == {B.address}


def test_newcomers_are_those_a_member_does_not_know(registry):
    assert registry.newcomers("t", {"a"}) == {"b"}
    assert registry.newcomers("t", {"a", "b", "gone"}) == set()


def test_view_survives_the_wire(registry):
    view = registry.view("t")
    assert View.from_message(view.to_message()) == view


def test_clear_forgets_members_but_not_the_epoch(registry):
    before = registry.view("t").epoch
    registry.clear()
    assert registry.workers() == set()
    registry.join("t", "a", A)
    assert registry.view("t").epoch > before
