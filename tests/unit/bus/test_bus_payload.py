"""Objects as bytes, and several of them in one frame."""

import numpy as np
import pytest
from distributed.protocol import dumps, loads

from daskdl.cluster.bus.frames import LARGE_BYTES, pack, unpack
from daskdl.cluster.bus.payload import (
    Parcel,
    decode,
    decode_readonly,
    encode,
)


def through_a_connection(frame):
    return loads([bytearray(part) for part in dumps(frame)])


def test_copy_is_apart_from_the_original():
    x = np.zeros(10)
    payload = encode({"x": x}).copy()
    x[:] = 1
    assert decode(payload)["x"].sum() == 0


def test_without_copy_the_memory_is_shared():
    x = np.zeros(10)
    assert np.shares_memory(decode(encode(x)), x)


def test_nbytes_counts_pickle_and_arrays():
    payload = encode(np.zeros(1000))
    assert payload.nbytes == len(payload.head) + 8000


def test_merge_arguments_cannot_be_written():
    payload = encode(np.zeros(10))
    with pytest.raises(ValueError, match="read-only"):
        decode_readonly(payload)[0] = 1


def test_merge_arguments_leave_the_payload_writable():
    payload = encode(np.zeros(10))
    decode_readonly(payload)
    decode(payload)[0] = 1


@pytest.mark.parametrize(
    "data",
    [
        "text",
        b"x" * (2 * LARGE_BYTES),
        {"empty": np.zeros(0), "none": None},
        [np.arange(5), np.arange(LARGE_BYTES), np.zeros((3, 4), order="F")],
        (1, np.array(7.0)),
    ],
    ids=["text", "large pickle", "empty array", "small and large", "scalar array"],
)
@pytest.mark.parametrize("copy", [True, False])
def test_frame_gives_back_what_was_packed(data, copy):
    batch = [(7, Parcel(3, 5, encode(data))), (8, Parcel(6, 6, None))]
    (number, parcel), last = unpack(through_a_connection(pack(batch)), copy=copy)
    assert (number, parcel.first, parcel.last) == (7, 3, 5)
    assert last == (8, Parcel(6, 6, None))
    np.testing.assert_equal(decode(parcel.payload), data)


@pytest.mark.parametrize("n", [10, LARGE_BYTES])
def test_arrays_of_a_frame_are_writable(n):
    frame = through_a_connection(pack([(1, Parcel(1, 1, encode(np.ones(n))))]))
    [(_, parcel)] = unpack(frame, copy=False)
    assert decode(parcel.payload).flags.writeable


@pytest.mark.parametrize("n", [10, LARGE_BYTES])
def test_in_process_the_receiver_gets_memory_of_its_own(n):
    """inproc:// hands over the frame itself; every subscriber gets the same one."""
    sent = np.ones(n)
    frame = pack([(1, Parcel(1, 1, encode(sent)))])
    frame["large"] = [wrapped.data for wrapped in frame["large"]]
    [(_, parcel)] = unpack(frame, copy=True)
    assert not np.shares_memory(decode(parcel.payload), sent)
