"""How late messages were, summed up over members."""

from daskdl.cluster.masters.staleness import StalenessTally, staleness_of
from daskdl.nn.fitting.events import Staleness


def tally(*late):
    made = StalenessTally()
    for minibatches in late:
        made.add(minibatches)
    return made


def test_the_mean_is_over_messages_not_over_members():
    assert staleness_of([tally(0, 0, 3), tally(5)]) == Staleness(mean=2.0, most=5)


def test_a_message_of_who_is_ahead_is_not_late():
    assert staleness_of([tally(-4, 2)]) == Staleness(mean=1.0, most=2)


def test_without_messages_there_is_none():
    assert staleness_of([tally()]) is None
