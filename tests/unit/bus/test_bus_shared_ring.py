"""The ring in shared memory, and what travels beside it over the connection."""

import asyncio
import os

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
async def test_without_shared_memory_messages_take_the_connection(
    client, scheduler, *buses
):
    before, shared_ring.create_memory = shared_ring.create_memory, lambda nbytes: None
    try:
        a, b = await open_topics(buses)
        await in_thread(a.publish, "x")
        [message] = await take(b, Message)
        assert message.data == "x"
        assert not b._peers.has_rings
        await close_topics(a, b)
    finally:
        shared_ring.create_memory = before


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
