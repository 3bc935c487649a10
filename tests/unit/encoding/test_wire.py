"""Messages as bytes: all come back, and no damage gets through."""

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskdl.encoding.envelope import HEADER_BYTES
from daskdl.encoding.wire import pack, unpack
from daskdl.errors import (
    DamagedMessageError,
    DataError,
    ShapeError,
    StaleMessageError,
)
from daskdl.kernels.threshold import (
    bitmap_decode_add,
    bitmap_encode,
    threshold_decode_add,
    threshold_encode,
)

TAU = int(np.float32(1e-3).view(np.int32))
LARGEST = 2**31 - 1
BACKENDS = ("numba", "numpy")
PLAIN, RICE = 0, 1


@pytest.fixture(params=BACKENDS)
def backend(request, monkeypatch):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", request.param)
    return request.param


def threshold_message(size, entries):
    return np.array([len(entries), size, TAU, 0, *entries], np.int32)


def bitmap_message(size, words):
    return np.array([size, size, TAU, 1, *words], np.int64).astype(np.int32)


def coder_of(packed):
    return int(packed[5])


def signed(positions):
    return st.tuples(positions, st.sampled_from([-1, 1])).map(np.prod).map(int)


@st.composite
def threshold_messages(draw):
    size = draw(st.sampled_from([1, 2, 16, 300, 10_000, LARGEST]))
    entries = draw(st.lists(signed(st.integers(1, size)), max_size=300))
    return threshold_message(size, entries)


@st.composite
def bitmap_messages(draw):
    size = draw(st.integers(1, 400))
    word = st.sampled_from([0, 0, 0, 0, 1, 0x10000, 0x80008000, 0xFFFFFFFF])
    n_words = size // 16 + 1
    return bitmap_message(
        size, draw(st.lists(word, min_size=n_words, max_size=n_words))
    )


@given(threshold_messages())
def test_threshold_messages_come_back_in_ascending_order(message):
    entries = message[4:]
    order = np.argsort(np.abs(entries), kind="stable")
    expected = [message.tolist(), [*message[:4], *entries[order]]]
    with pytest.MonkeyPatch.context() as patch:
        for backend in BACKENDS:
            patch.setenv("DASKDL_BACKEND_PRIORITY_CPU", backend)
            packed = pack(message)
            found = unpack(packed, int(message[1]))
            assert found.dtype == np.int32
            assert found.tolist() == expected[coder_of(packed)]


@given(bitmap_messages())
def test_bitmap_messages_come_back(message):
    with pytest.MonkeyPatch.context() as patch:
        for backend in BACKENDS:
            patch.setenv("DASKDL_BACKEND_PRIORITY_CPU", backend)
            assert unpack(pack(message)).tolist() == message.tolist()


@pytest.mark.parametrize(
    "entries",
    [[], [1], [-1000], [1, 1000], [-1, -1, 1], [5, 3, 5], list(range(1, 1001))],
    ids=["none", "first", "last", "both ends", "thrice", "unordered", "all"],
)
def test_adding_an_unpacked_message_gives_the_same_bits(backend, rng, entries):
    message = threshold_message(1000, entries)
    expected = rng.standard_normal(1000).astype(np.float32)
    found = expected.copy()
    threshold_decode_add(message, expected)
    threshold_decode_add(unpack(pack(message)), found)
    assert found.tobytes() == expected.tobytes()


def test_both_forms_make_the_same_bytes(monkeypatch, rng):
    message, _ = threshold_encode(rng.standard_normal(5000), 2.0)
    packed = []
    for backend in BACKENDS:
        monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", backend)
        packed.append(pack(message).tobytes())
    assert packed[0] == packed[1]


@pytest.mark.parametrize(("tau", "coder"), [(2.6, RICE), (1.0, PLAIN)])
def test_a_bitmap_is_coded_where_few_codes_are_set(backend, rng, tau, coder):
    residual = rng.standard_normal(20_000).astype(np.float32)
    message, _ = bitmap_encode(residual, tau)
    packed = pack(message)
    assert coder_of(packed) == coder
    expected, found = np.zeros(20_000), np.zeros(20_000)
    bitmap_decode_add(message, expected)
    bitmap_decode_add(unpack(packed), found)
    np.testing.assert_array_equal(found, expected)


def test_nothing_is_coded_for_memory(backend, rng):
    residual = rng.standard_normal(20_000).astype(np.float32)
    for message, _ in (threshold_encode(residual, 2.6), bitmap_encode(residual, 2.6)):
        near = pack(message, is_near=True)
        assert (coder_of(pack(message)), coder_of(near)) == (RICE, PLAIN)
        assert unpack(near).tolist() == message.tolist()


def test_codes_behind_the_end_of_a_bitmap_are_kept():
    message = bitmap_message(20, [0, 0x8000_8000])
    assert coder_of(pack(message)) == PLAIN
    assert unpack(pack(message)).tolist() == message.tolist()


@pytest.mark.parametrize("share", [1e-1, 1e-2, 1e-3, 1e-4])
def test_random_positions_take_hardly_more_than_their_entropy(backend, share):
    n = 10**6 if share < 1e-2 else 10**5
    rng = np.random.default_rng(0)
    positions = np.flatnonzero(rng.random(n) < share) + 1
    signs = rng.choice([-1, 1], positions.size)
    packed = pack(threshold_message(n, positions * signs))
    entropy = -np.log2(share) - (1 - share) / share * np.log2(1 - share) + 1
    # The number of positions is random, and 32 bytes are the header's.
    bits = 8 * (packed.size - HEADER_BYTES) / positions.size
    assert bits < 1.05 * entropy


def test_at_a_thousandth_a_message_takes_less_than_45_percent_of_its_ints(rng):
    positions = np.flatnonzero(rng.random(10**6) < 1e-3) + 1
    assert pack(threshold_message(10**6, positions)).size < 0.45 * 4 * positions.size


def test_gaps_that_cluster_take_less_than_the_entropy_of_independent_ones(rng):
    """A layer of which much is sent between layers of which little is."""
    shares = np.full(10**6, 1e-4)
    shares[400_000:420_000] = 0.05
    positions = np.flatnonzero(rng.random(10**6) < shares) + 1
    share = positions.size / 10**6
    entropy = -np.log2(share) - (1 - share) / share * np.log2(1 - share) + 1
    packed = pack(threshold_message(10**6, positions))
    assert 8 * packed.size / positions.size < 0.75 * entropy


def messages_of_each_coder():
    rng = np.random.default_rng(3)
    residual = rng.standard_normal(700).astype(np.float32)
    return {
        "rice": threshold_encode(residual.copy(), 1.9)[0],
        "rice bitmap": bitmap_encode(residual.copy(), 3.0)[0],
        "plain": threshold_message(LARGEST, [5, -LARGEST]),
        "plain bitmap": bitmap_encode(residual, 0.5)[0],
        "empty": threshold_message(9, []),
    }


@pytest.mark.parametrize("name", messages_of_each_coder())
def test_every_flipped_bit_is_refused(name):
    packed = pack(messages_of_each_coder()[name])
    for bit in range(8 * packed.size):
        packed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(StaleMessageError, match="unpack: a message must"):
            unpack(packed)
        packed[bit // 8] ^= 1 << bit % 8


@pytest.mark.parametrize("name", messages_of_each_coder())
def test_every_length_but_the_right_one_is_refused(name):
    packed = pack(messages_of_each_coder()[name])
    for length in range(packed.size):
        with pytest.raises(DamagedMessageError, match="damaged on its way"):
            unpack(packed[:length])
    with pytest.raises(DamagedMessageError, match="must hold checksum"):
        unpack(np.append(packed, np.uint8(0)))


def sealed(packed):
    """Return the bytes with a checksum that is right, as no accident makes it."""
    body = packed[HEADER_BYTES:].tobytes()
    checksum = zlib.crc32(body, zlib.crc32(packed[: HEADER_BYTES - 4].tobytes()))
    packed[HEADER_BYTES - 4 : HEADER_BYTES] = list(struct.pack("<I", checksum))
    return packed


@pytest.mark.parametrize("name", messages_of_each_coder())
def test_no_byte_of_a_wrong_sender_reaches_memory_outside(backend, name):
    """Whatever a byte holds: refused, or a message that fits its vector."""
    packed = pack(messages_of_each_coder()[name])
    for at in range(packed.size):
        for value in (0, 1, 127, 255):
            changed = packed.copy()
            changed[at] = value
            try:
                message = unpack(
                    sealed(changed), int(messages_of_each_coder()[name][1])
                )
            except StaleMessageError:
                continue
            assert int(message[1]) == int(messages_of_each_coder()[name][1])


@pytest.mark.parametrize(
    ("at", "value", "text"),
    [
        (5, 7, "must hold a known coder, got coder 7"),
        (6, 9, "must hold a known coder, got coder 1, 9"),
        (24, 200, "the code of 200 entries, got"),
        (24, 3, r"the code of 3 positions up to 700, got another one"),
        (8, 3, "must hold 3 entries, as its header says"),
        (20, 2, "must hold kind 0 or 1, got kind 2"),
    ],
)
def test_what_a_right_checksum_can_hide_is_refused(backend, at, value, text):
    packed = pack(messages_of_each_coder()["rice"])
    packed[at] = value
    with pytest.raises(DamagedMessageError, match=text):
        unpack(sealed(packed))


def test_plain_ints_that_are_fewer_than_promised_are_refused():
    packed = pack(messages_of_each_coder()["plain"])
    packed[24] = 9
    with pytest.raises(DamagedMessageError, match="9 ints, as its header says, got 8"):
        unpack(sealed(packed))


def test_a_bitmap_code_of_zero_is_refused(backend):
    message = bitmap_message(320, [1] + [0] * 20)
    packed = pack(message)
    packed[HEADER_BYTES] = 0
    with pytest.raises(DamagedMessageError, match="codes that are not zero"):
        unpack(sealed(packed))


def test_another_version_is_refused():
    packed = pack(messages_of_each_coder()["rice"])
    packed[4] = 2
    with pytest.raises(
        StaleMessageError, match=r"of version 1, got version 2\. Run the"
    ):
        unpack(packed)


def test_other_bytes_are_refused():
    with pytest.raises(DamagedMessageError, match="must hold b'dkdl' in front, got"):
        unpack(np.zeros(100, np.uint8))


def test_a_message_for_another_vector_is_refused():
    packed = pack(messages_of_each_coder()["rice"])
    with pytest.raises(
        StaleMessageError, match="update of 9 parameters, got one of 700"
    ):
        unpack(packed, 9)


def test_damage_is_a_fault_of_data():
    with pytest.raises(DataError, match="at least 32 bytes, got 3"):
        unpack(np.zeros(3, np.uint8))


@pytest.mark.parametrize("array", [np.zeros((2, 40), np.uint8), np.zeros(40, np.int32)])
def test_an_array_that_is_not_packed_is_refused(array):
    with pytest.raises(ShapeError, match="packed must be a 1-d uint8 array, got"):
        unpack(array)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (np.zeros(3, np.int32), "pack: a message must hold a header of 4 ints, got 3"),
        (threshold_message(9, [10]), "pack: .* positions from 1 to 9, signed, got 10"),
        (threshold_message(9, [-(2**31)]), "pack: .* signed, got -2147483648"),
    ],
)
def test_what_is_no_message_is_not_packed(message, text):
    with pytest.raises(StaleMessageError, match=text):
        pack(message)


def test_unaligned_bytes_that_cannot_be_written_are_unpacked(backend):
    """As a frame of several messages hands them out."""
    message = messages_of_each_coder()["rice"]
    frame = np.append(np.uint8(0), pack(message))
    frame.flags.writeable = False
    np.testing.assert_array_equal(unpack(frame[1:]), message)
