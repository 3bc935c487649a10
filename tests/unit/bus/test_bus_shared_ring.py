"""The ring in shared memory, and what travels beside it over the connection."""

import asyncio
import contextlib
import os
import random
import threading
from dataclasses import replace

import numpy as np
import pytest

from daskdl.cluster.bus import Left, Message, shared_ring
from daskdl.cluster.bus.payload import Parcel, Payload
from daskdl.cluster.bus.shared_ring import RING_BYTES, create_ring, open_ring
from daskdl.cluster.host_memory import (
    can_share_memory,
    create_memory,
    open_memory,
    sweep_memory,
    unlink_memory,
)
from daskdl.errors import DataError
from tests.unit.bus.clusters import (
    break_connections,
    bus_cluster,
    close_topics,
    in_thread,
    open_topics,
    take,
)

pytestmark = pytest.mark.skipif(
    not can_share_memory(), reason="this system shares no memory by a path"
)


def parcel(number: int, *sizes: int) -> Parcel:
    buffers = tuple(np.full(size, number % 251, np.uint8) for size in sizes)
    return Parcel(number, number, Payload(b"head %d" % number, buffers))


@pytest.fixture
def ends():
    """Both ends of a ring, whose path is gone."""
    created = create_ring()
    if created is None:
        pytest.skip("processors of this kind write in any order")
    writer, path = created
    reader = open_ring(path)
    unlink_memory(path)
    return writer, reader


def same(one: Parcel, other: Parcel) -> bool:
    return (
        (one.first, one.last, one.payload.head)
        == (other.first, other.last, other.payload.head)
        and len(one.payload.buffers) == len(other.payload.buffers)
        and all(map(np.array_equal, one.payload.buffers, other.payload.buffers))
    )


def test_messages_come_out_as_they_went_in_around_the_end_too(ends):
    writer, reader = ends
    kinds = [(5000, 3), (), (70_001,), (1, 2, 3)]
    written = read = 0
    for sizes in kinds * 40:
        message = parcel(written + 1, *sizes)
        assert writer.has_room(message)
        writer.write(written + 1, message)
        written += 1
        if written % 3:
            continue
        while reader.next_number() is not None:
            number, found = reader.take()
            read += 1
            assert number == read
            assert same(
                found,
                parcel(
                    number, *[(5000, 3), (), (70_001,), (1, 2, 3)][(number - 1) % 4]
                ),
            )
    assert read == written - written % 3


def test_a_last_word_has_no_parts(ends):
    writer, reader = ends
    writer.write(1, Parcel(1, 1, None))
    assert reader.take() == (1, Parcel(1, 1, None))


def test_what_was_read_is_the_readers_own(ends):
    writer, reader = ends
    writer.write(1, parcel(1, 100))
    _, found = reader.take()
    for number in range(2, 6):
        writer.write(number, parcel(number, RING_BYTES // 5))
        reader.take()
    assert (found.payload.buffers[0] == 1).all()
    assert found.payload.buffers[0].flags.writeable


def brief(number: int, size: int) -> Parcel:
    return replace(parcel(number, size), is_brief=True)


def test_a_brief_message_is_lent_as_long_as_somebody_has_it(ends):
    writer, reader = ends
    size = RING_BYTES // 2 - 1000
    writer.write(1, brief(1, size))
    _, found = reader.take()
    [lent] = found.payload.buffers
    del found
    assert reader.next_number() is None
    # The other half is there for one that follows, which comes as a copy.
    writer.write(2, brief(2, size))
    _, second = reader.take()
    assert not writer.has_room(brief(3, 5000))
    assert (lent == 1).all()
    del lent
    assert reader.next_number() is None
    assert writer.has_room(brief(3, size))
    writer.write(3, brief(3, size))
    writer.write(4, brief(4, size))
    assert (second.payload.buffers[0] == 2).all()
    for number in (3, 4):
        assert same(reader.take()[1], brief(number, size))


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_held_and_for_how_long_all_come_as_they_were_written(seed, ends):
    rng = random.Random(seed)
    writer, reader = ends
    half = RING_BYTES // 2 - 1000
    written = read = 0
    held = []

    def sized(number: int) -> Parcel:
        sizes = random.Random(number + seed).choices((0, 9, 5000, half // 3, half))
        return replace(parcel(number, *sizes), is_brief=number % 3 > 0)

    for _ in range(200):
        chosen = rng.random()
        message = sized(written + 1)
        if chosen < 0.5 and writer.has_room(message):
            written += 1
            writer.write(written, message)
        elif chosen < 0.85 and reader.next_number() is not None:
            number, found = reader.take()
            read += 1
            assert number == read
            held.append(found)
        elif held:
            held.pop(rng.randrange(len(held)))
        for one in held:
            assert same(one, sized(one.first))
    held.clear()
    one = found = None
    while reader.next_number() is not None:
        read += 1
        assert same(reader.take()[1], sized(read))
    assert read == written > 5
    assert reader.next_number() is None
    assert writer.has_room(parcel(1, half))


def test_none_is_taken_where_none_is(ends):
    _, reader = ends
    with pytest.raises(DataError, match="a message must be there to be taken"):
        reader.take()


def test_small_messages_are_copied_brief_or_not(ends):
    writer, reader = ends
    writer.write(1, brief(1, 1000))
    _, found = reader.take()
    while writer.has_room(parcel(2, 5000)):
        writer.write(2, parcel(2, 5000))
    reader.take()
    writer.write(3, parcel(3, 5000))
    assert (found.payload.buffers[0] == 1).all()


def test_what_was_written_lies_there_until_it_was_delivered(ends):
    writer, reader = ends
    message = parcel(1, 70_000, 5)
    lying = writer.write(1, message)
    for buffer in message.payload.buffers:
        buffer[:] = 0
    assert same(lying, parcel(1, 70_000, 5))
    assert same(reader.take()[1], lying)


def test_a_full_ring_has_room_once_it_was_read(ends):
    writer, reader = ends
    number = 0
    message = parcel(1, RING_BYTES // 4)
    while writer.has_room(message):
        number += 1
        writer.write(number, message)
    assert number == 3
    reader.take()
    assert writer.has_room(message)


def test_what_is_too_large_for_it_is_told(ends):
    writer, _ = ends
    large = parcel(1, RING_BYTES)
    assert not writer.has_room(large)
    assert not writer.ever_fits(large)


def test_the_reader_tells_what_it_has_delivered(ends):
    writer, reader = ends
    reader.delivered = 7
    assert writer.delivered == 7


def test_memory_is_for_its_user_only_and_leaves_nothing():
    memory, path = create_memory(1000)
    assert os.stat(path).st_mode & 0o777 == 0o600
    other = open_memory(path)
    unlink_memory(path)
    memory[:5] = b"bytes"
    assert other[:5] == b"bytes"
    assert not os.path.exists(path)


@pytest.mark.parametrize(
    "path",
    ["/dev/shm/daskdl-1-" + "0" * 32, "/etc/passwd", "/dev/shm/../etc/passwd", ""],
)
def test_no_other_path_is_opened(path):
    assert open_memory(path) is None


def test_what_a_dead_process_left_is_swept_after_a_while():
    alive, fresh, stale = (create_memory(10)[1] for _ in range(3))
    dead = stale.replace(f"-{os.getpid()}-", f"-{2**22 + 1}-")
    os.rename(stale, dead)
    os.utime(dead, (0, 0))
    os.utime(alive, (0, 0))
    sweep_memory()
    assert [os.path.exists(path) for path in (alive, fresh, dead)] == [
        True,
        True,
        False,
    ]
    for path in (alive, fresh):
        unlink_memory(path)


@bus_cluster()
async def test_small_messages_go_through_memory_and_large_ones_keep_their_place(
    client, scheduler, *buses
):
    a, b = await open_topics(buses)
    sizes = [10, RING_BYTES, 20, 30, 2 * RING_BYTES, 40] * 4
    for size in sizes:
        await in_thread(a.publish, np.full(size, size % 7, np.uint8))
    messages = await take(b, Message, len(sizes))
    assert [message.data.size for message in messages] == sizes
    assert [message.first for message in messages] == [*range(1, len(sizes) + 1)]
    assert b._peers.has_rings
    await close_topics(a, b)


@bus_cluster()
async def test_large_arrays_lie_in_memory_that_is_the_receivers(
    client, scheduler, *buses
):
    a, b = await open_topics(buses)
    x = np.arange(300_000.0)
    for _ in range(3):
        await in_thread(a.publish, {"x": x, "y": x[:20_000] + 1, "z": 3})
        [message] = await take(b, Message)
        np.testing.assert_array_equal(message.data["x"], x)
        np.testing.assert_array_equal(message.data["y"], x[:20_000] + 1)
        assert message.data["x"].flags.writeable
        assert message.data["x"].ctypes.data % 64 == 0
        message.data["x"][:] = -1
    assert await close_topics(a, b) == [True, True]
    assert not [name for name in os.listdir("/dev/shm") if f"-{os.getpid()}-" in name]


@bus_cluster()
async def test_nothing_in_memory_is_lost_when_the_connection_breaks(
    client, scheduler, *buses
):
    a, b = await open_topics(buses)
    for round_ in range(20):
        for i in range(10):
            await in_thread(a.publish, (round_, i))
        break_connections(b)
    messages = await take(b, Message, 200)
    assert [message.data for message in messages] == [
        (round_, i) for round_ in range(20) for i in range(10)
    ]
    await close_topics(a, b)


@contextlib.contextmanager
def without_memory():
    """Be on a system that has none to share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_ring, "create_memory", lambda nbytes: None)
        yield


async def published_and_written_to(buses):
    """Arrays come as they were, also over a connection that replaces a broken one."""
    a, b = await open_topics(buses)
    arrays = [np.zeros(10), np.zeros(RING_BYTES // 16), np.zeros(RING_BYTES)]
    for round_ in range(12):
        for x in arrays:
            x[:] = round_
            await in_thread(a.publish, x)
            x[:] = -1
        break_connections(b)
    messages = await take(b, Message, 12 * len(arrays))
    assert [(m.data.size, *np.unique(m.data)) for m in messages] == [
        (x.size, round_) for round_ in range(12) for x in arrays
    ]
    await close_topics(a, b)


@bus_cluster()
async def test_what_is_written_to_behind_its_publishing_comes_as_it_was(
    client, scheduler, *buses
):
    await published_and_written_to(buses)


@bus_cluster()
async def test_so_does_what_takes_the_connection(client, scheduler, *buses):
    with without_memory():
        await published_and_written_to(buses)


@bus_cluster()
async def test_what_is_called_while_a_message_waits_may_write_to_its_arrays(
    client, scheduler, *buses
):
    a, b = await open_topics(buses, max_queue=1, inbox_bytes=1000)
    x = np.zeros(RING_BYTES // 16)
    is_blocked = threading.Event()

    def on_block():
        x[:] = -1
        is_blocked.set()

    def publish_eight():
        for number in range(8):
            x[:] = number
            a.publish(x, on_block=on_block)

    publishing = asyncio.create_task(in_thread(publish_eight))
    await in_thread(is_blocked.wait, 10)
    messages = await take(b, Message, 8)
    await publishing
    assert is_blocked.is_set()
    assert [np.unique(m.data).tolist() for m in messages] == [[n] for n in range(8)]
    await close_topics(a, b)


@bus_cluster()
async def test_what_a_member_wrote_before_it_vanished_comes_before_its_left(
    client, scheduler, *buses
):
    a, b = await open_topics(buses)
    await in_thread(a.publish, "first")
    await take(b, Message)
    for i in range(5):
        await in_thread(a.publish, i)
    await in_thread(a.abort)
    messages = await take(b, Message, 5)
    assert [message.data for message in messages] == [0, 1, 2, 3, 4]
    await take(b, Left)
    await close_topics(a, b)


@bus_cluster()
async def test_who_takes_nothing_is_read_for_and_who_is_gone_leaves_no_memory(
    client, scheduler, *buses
):
    """More than the ring holds arrives in an inbox that nobody looks into."""
    before = {name for name in os.listdir("/dev/shm") if name.startswith("daskdl-")}
    a, b = await open_topics(buses)
    for _ in range(30):
        await in_thread(a.publish, np.zeros(RING_BYTES // 8, np.uint8))
    while len(b._state.inbox) < 31:  # and its Joined
        await asyncio.sleep(0.01)
    assert await close_topics(a, b) == [True, True]
    after = {name for name in os.listdir("/dev/shm") if name.startswith("daskdl-")}
    assert after <= before


@bus_cluster()
async def test_a_thread_that_looked_for_a_while_is_read_for_once_it_does_not(
    client, scheduler, *buses
):
    a, b = await open_topics(buses)
    await in_thread(a.publish, 0)
    await take(b, Message)
    for _ in range(50):
        await in_thread(b.drain)
        await asyncio.sleep(0.01)
    for _ in range(30):
        await in_thread(a.publish, np.zeros(RING_BYTES // 8, np.uint8))
    while len(b._state.inbox) < 30:
        await asyncio.sleep(0.01)
    await close_topics(a, b)


@bus_cluster()
async def test_without_shared_memory_messages_take_the_connection(
    client, scheduler, *buses
):
    with without_memory():
        a, b = await open_topics(buses)
        await in_thread(a.publish, "x")
        [message] = await take(b, Message)
        assert message.data == "x"
        assert not b._peers.has_rings
        await close_topics(a, b)


@bus_cluster()
async def test_large_messages_that_keep_coming_get_a_ring_of_their_size(
    client, scheduler, *buses
):
    """None is lost or doubled where the connection is opened anew for it."""
    a, b = await open_topics(buses)
    numbers = []
    for number in range(12):
        x = np.full(3 * RING_BYTES // 8, number, np.float64)
        await in_thread(a.publish, x)
        await in_thread(a.publish, number)
        messages = await take(b, Message, 2)
        numbers += [message.data for message in messages[1::2]]
        np.testing.assert_array_equal(messages[0].data, x)
    assert numbers == list(range(12))
    [peer] = a._peers._peers.values()
    assert peer.outgoing.has_ring
    assert peer.outgoing._ring_bytes > 6 * RING_BYTES
    assert a.stats.reconnects == 0
    await close_topics(a, b)
