"""Files of distant stores: what is asked for ahead, and what memory it takes."""

import io

import pytest

from daskdl_bridge.read_ahead import ReadAhead

MIB = 1 << 20
KIB = 1 << 10


class Store:
    """A file, with what was asked for and what somebody waited for, in order."""

    def __init__(self, content):
        self.content = content
        self.asked = []
        self.waited = []

    def fetch(self, offset, n_bytes):
        self.asked.append((offset, n_bytes))

        def wait():
            self.waited.append(offset)
            return self.content[offset : offset + n_bytes]

        return wait

    def opened(self):
        return ReadAhead(self.fetch, len(self.content))


@pytest.fixture
def store(rng):
    return Store(rng.bytes(20 * MIB + 12345))


def read_at(file, position, n_bytes):
    """Read as pyarrow does, which knows nothing of short reads."""
    file.seek(position)
    content = bytearray()
    while len(content) < n_bytes and (more := file.read(n_bytes - len(content))):
        content += more
    return bytes(content)


def test_every_way_of_reading_gives_what_is_there(store, rng):
    """At random places, of random lengths, on from where somebody stopped or not."""
    file, size = store.opened(), len(store.content)
    ends = [0]
    for _ in range(300):
        is_on = rng.random() < 0.7
        position = int(rng.choice(ends[-6:]) if is_on else rng.integers(size))
        n_bytes = int(2 ** rng.uniform(0, 22))
        expected = store.content[position : position + n_bytes]
        assert read_at(file, position, n_bytes) == expected
        ends.append(position + len(expected))


def test_a_buffered_file_is_read_to_its_end(store):
    with io.BufferedReader(store.opened(), 64 * KIB) as file:
        assert file.read(3) == store.content[:3]
        assert file.read() == store.content[3:]
        assert file.read(1) == b""


def test_a_footer_is_all_that_is_fetched_of_it(store):
    size = len(store.content)
    read_at(store.opened(), size - 64 * KIB, 64 * KIB)
    assert store.asked == [(size - 64 * KIB, 64 * KIB)]


def test_the_next_pieces_are_asked_for_before_they_are_read(store):
    file = store.opened()
    for number in range(20):
        read_at(file, number * 256 * KIB, 256 * KIB)
    assert store.asked[:6] == [(piece * MIB, MIB) for piece in range(6)]
    assert store.waited == [piece * MIB for piece in range(5)]


def test_a_whole_file_is_fetched_once(store):
    file = store.opened()
    while file.read(200 * KIB):
        assert len(file._pieces) <= 3
    assert sum(n_bytes for _, n_bytes in store.asked) == len(store.content)


def test_columns_that_are_read_in_turn_are_each_asked_for_ahead(store):
    file, size = store.opened(), 4 * MIB
    starts = [number * size for number in range(4)]
    for offset in range(0, size, 256 * KIB):
        for start in starts:
            read_at(file, start + offset, 256 * KIB)
    fetched = sum(n_bytes for _, n_bytes in store.asked)
    # Two pieces behind the end of each, and its first page twice.
    assert fetched <= 4 * (size + 2.5 * MIB)


def test_of_many_columns_in_turn_no_more_is_fetched_than_is_read(store):
    file, size = store.opened(), 2 * MIB
    for offset in range(0, size, 256 * KIB):
        for start in range(0, 20 * MIB, size):
            if start:
                read_at(file, start + offset, 256 * KIB)
    assert sum(n_bytes for _, n_bytes in store.asked) <= 20 * MIB


def test_memory_is_bounded(store, rng):
    file = store.opened()
    for _ in range(100):
        position = int(rng.integers(len(store.content)))
        read_at(file, position, 300 * KIB)
        read_at(file, position + 300 * KIB, 300 * KIB)
        held = list(file._pieces.values())
        assert sum(piece.stop - piece.start for piece in held) <= 12 * MIB


def test_what_goes_wrong_ahead_is_told_where_it_is_read(store):
    def fetch(offset, n_bytes):
        wait = store.fetch(offset, n_bytes)

        def fail():
            raise OSError("the disk is on fire")

        return fail if offset >= 2 * MIB else wait

    file = ReadAhead(fetch, len(store.content))
    assert read_at(file, 0, 2 * MIB) == store.content[: 2 * MIB]
    for _ in range(2):
        with pytest.raises(OSError, match="on fire"):
            file.read(1)


def test_a_file_that_became_shorter_ends_where_it_does(store):
    file = store.opened()
    store.content = store.content[: 3 * MIB // 2]
    assert read_at(file, 0, 3 * MIB) == store.content
    assert file.read(1) == b""


def test_a_closed_file_waits_for_nothing(store):
    file = store.opened()
    file.read(10)
    file.close()
    assert (len(store.asked), store.waited) == (1, [0])
