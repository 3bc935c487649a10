"""Sums of messages: the same bits whether all of the vector is looked at or not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskdl.encoding.handler import decode_add
from daskdl.encoding.message_sum import MessageSum, fold
from daskdl.encoding.wire import pack, unpack
from daskdl.errors import DamagedMessageError, StaleMessageError
from daskdl.kernels.threshold import bitmap_encode, threshold_encode

N = 3200


@pytest.fixture(params=["numba", "numpy"])
def backend(request, monkeypatch):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", request.param)
    return request.param


def sparse(rng, tau=2.8):
    return threshold_encode(rng.standard_normal(N).astype(np.float32), tau)[0]


def dense(rng):
    return rng.standard_normal(N).astype(np.float32)


def bitmap(rng):
    return bitmap_encode(dense(rng), 1.0)[0]


KINDS = {"sparse": sparse, "dense": dense, "bitmap": bitmap}


@given(st.lists(st.sampled_from([*KINDS, "settle"]), max_size=12))
def test_any_mixture_gives_the_bits_of_a_dense_sum(kinds):
    rng = np.random.default_rng(5)
    target = dense(rng)
    expected, waiting = target.copy(), np.zeros(N, np.float32)
    total = MessageSum(target)
    for kind in [*kinds, "settle"]:
        if kind == "settle":
            total.subtract_from(target)
            expected -= waiting
            waiting[:] = 0
            continue
        message = KINDS[kind](rng)
        decode_add(message, waiting)
        total.add(message if kind == "dense" else pack(message))
    assert target.tobytes() == expected.tobytes()


def test_many_sparse_messages_are_subtracted_like_a_dense_one(backend, rng):
    target = np.zeros(N, np.float32)
    total = MessageSum(target)
    expected = np.zeros(N, np.float32)
    for _ in range(30):
        message = sparse(rng)
        decode_add(message, expected)
        total.add(message)
    total.subtract_from(target)
    np.testing.assert_array_equal(target, -expected)


def test_what_is_not_sent_is_not_looked_at(backend):
    """Numbers between the entries are left alone, even one that is none."""
    target = np.zeros(N, np.float32)
    total = MessageSum(target)
    total.add(np.array([2, N, 0x3F800000, 0, 3, -7], np.int32))
    # A pass over all of it would carry this into the vector.
    total._total[9] = np.nan
    total.subtract_from(target)
    assert np.flatnonzero(target).tolist() == [2, 6]


def test_a_damaged_message_adds_nothing(backend, rng):
    target = np.zeros(N, np.float32)
    total = MessageSum(target)
    packed = pack(sparse(rng))
    packed[40] ^= 1
    with pytest.raises(DamagedMessageError, match="must hold checksum"):
        total.add(packed)
    total.subtract_from(target)
    assert not target.any()


def test_a_message_for_another_vector_adds_nothing(rng):
    total = MessageSum(np.zeros(N + 1))
    with pytest.raises(StaleMessageError, match="update of 3201 parameters"):
        total.add(pack(sparse(rng)))


def added(message):
    found = np.zeros(N, np.float64)
    decode_add(message, found)
    return found


def test_folded_messages_of_one_threshold_stay_sparse(backend, rng):
    messages = [sparse(rng) for _ in range(4)]
    folded = fold([pack(message) for message in messages], N)
    expected = sum(added(message) for message in messages)
    assert folded.dtype == np.uint8
    assert unpack(folded).size == 4 + sum(message.size - 4 for message in messages)
    np.testing.assert_allclose(added(folded), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: [sparse(rng), sparse(rng, 2.9)],
        lambda rng: [sparse(rng), bitmap(rng)],
        lambda rng: [dense(rng), sparse(rng)],
        lambda rng: [sparse(rng) for _ in range(40)],
    ],
    ids=["two thresholds", "a bitmap", "a dense one", "many"],
)
def test_other_messages_are_folded_into_a_dense_one(backend, rng, make):
    messages = make(rng)
    folded = fold(messages, N)
    assert folded.dtype == np.float32
    expected = sum(added(message) for message in messages)
    np.testing.assert_allclose(added(folded), expected, rtol=1e-4, atol=1e-4)
