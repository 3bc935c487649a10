"""The window, acknowledgements and repeats of one subscriber, without a connection."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskdl.cluster.bus.outbox import Outbox
from daskdl.cluster.bus.payload import Parcel, Payload
from daskdl.cluster.bus.protocol import BATCH_BYTES, WINDOW_BYTES, WINDOW_MESSAGES
from daskdl.cluster.bus.stats import TopicStats


def parcel(number: int, nbytes: int = 100) -> Parcel:
    return Parcel(number, number, Payload(b"", (np.zeros(nbytes, np.uint8),)))


@pytest.fixture
def stats() -> TopicStats:
    return TopicStats()


@pytest.fixture
def outbox(stats) -> Outbox:
    return Outbox(threading.Condition(), stats, max_messages=4, max_bytes=1000)


def fill(outbox: Outbox, n: int, nbytes: int = 100) -> None:
    for i in range(n):
        outbox.put(parcel(i + 1, nbytes))


def numbers(batch) -> list[int]:
    return [number for number, _ in batch]


def test_full_by_count(outbox):
    fill(outbox, 4, nbytes=1)
    assert not outbox.has_room(1)


def test_full_by_bytes(outbox):
    fill(outbox, 1, nbytes=900)
    assert outbox.has_room(100)
    assert not outbox.has_room(101)


def test_one_message_always_has_room(outbox):
    assert outbox.has_room(10**9)


def test_small_messages_share_a_batch(outbox):
    fill(outbox, 3)
    assert numbers(outbox.next_batch()) == [1, 2, 3]
    assert outbox.next_batch() == []


def test_batch_ends_at_its_size(outbox):
    fill(outbox, 3, nbytes=BATCH_BYTES // 2)
    assert numbers(outbox.next_batch()) == [1, 2]


def test_window_closes_by_count_and_opens_with_an_acknowledgement(outbox):
    fill(outbox, WINDOW_MESSAGES + 5)
    assert numbers(outbox.next_batch())[-1] == WINDOW_MESSAGES
    assert outbox.next_batch() == []
    outbox.acknowledge(2)
    assert numbers(outbox.next_batch()) == [WINDOW_MESSAGES + 1, WINDOW_MESSAGES + 2]


def test_what_is_on_its_way_is_kept_as_it_lies_and_sent_again_so(outbox):
    fill(outbox, 2)
    for number in (1, 2):
        sent = outbox.next_one(lambda parcel: True)
        outbox.lies(number, replace(sent[1], payload=Payload(b"lies", ())))
    outbox.resume_after(0)
    again = [outbox.next_one(lambda parcel: True) for _ in range(2)]
    # Written once more elsewhere: only the newest is told where.
    outbox.lies(1, parcel(1))
    outbox.resume_after(0)
    assert numbers(again) == [1, 2]
    assert {sent.payload.head for _, sent in outbox.next_batch()} == {b"lies"}


def test_only_what_still_waits_is_kept_as_a_copy(outbox):
    older, waiting, own = parcel(1), parcel(2), parcel(2)
    outbox.put(older)
    outbox.own(waiting, own)
    outbox.put(waiting)
    outbox.own(waiting, own)
    assert [
        found is sent
        for (_, found), sent in zip(outbox.next_batch(), (older, own), strict=True)
    ] == [True, True]


def test_two_messages_are_sent_however_large(outbox):
    fill(outbox, 3, nbytes=2 * WINDOW_BYTES)
    assert numbers(outbox.next_batch() + outbox.next_batch()) == [1, 2]
    assert outbox.next_batch() == []


def test_after_a_break_what_the_receiver_lacks_is_repeated_first(outbox):
    fill(outbox, 4)
    outbox.next_batch()
    outbox.acknowledge(1)
    outbox.put(parcel(5))
    outbox.resume_after(2)
    assert numbers(outbox.next_batch()) == [3, 4]
    assert numbers(outbox.next_batch()) == [5]


def test_drop_gives_up_the_oldest_that_wait(outbox, stats):
    fill(outbox, 4)
    outbox.drop_for(800)
    assert [p.first for p in outbox.take_waiting()] == [3, 4]
    assert stats.dropped == 2


def test_put_back_undoes_take(outbox):
    fill(outbox, 3)
    outbox.put_back(outbox.take_waiting())
    assert numbers(outbox.next_batch()) == [1, 2, 3]


def test_bytes_are_kept_until_acknowledged(outbox, stats):
    fill(outbox, 3)
    outbox.next_batch()
    assert outbox.queued_bytes == 300
    outbox.acknowledge(3)
    assert outbox.queued_bytes == 0
    assert stats.peak_queued_bytes == 300


def test_repeats_are_not_counted_as_sent(outbox, stats):
    fill(outbox, 3)
    outbox.next_batch()
    outbox.resume_after(0)
    outbox.next_batch()
    assert (stats.messages_sent, stats.bytes_sent) == (3, 300)


@given(st.lists(st.sampled_from(["put", "send", "ack", "break"]), max_size=60))
def test_any_order_of_breaks_delivers_each_message_once_in_order(steps):
    """A receiver that skips numbers it has seen gets 1, 2, 3, ... without a gap."""
    stats = TopicStats()
    outbox = Outbox(threading.Condition(), stats, max_messages=4, max_bytes=1000)
    n_put = 0
    last = 0  # what the receiver has
    on_the_wire: list[int] = []

    def receive(batch):
        nonlocal last
        for number in batch:
            assert number <= last + 1
            last = max(last, number)

    for step in [*steps, "break", "send", "send"]:
        if step == "put":
            n_put += 1
            outbox.put(parcel(n_put))
        elif step == "send":
            on_the_wire += numbers(outbox.next_batch())
        elif step == "ack":
            receive(on_the_wire)
            on_the_wire = []
            outbox.acknowledge(last)
        else:  # half of what is on the wire arrives, the rest and the answer do not
            receive(on_the_wire[: len(on_the_wire) // 2])
            on_the_wire = []
            outbox.resume_after(last)
    receive(on_the_wire)
    assert last == n_put
