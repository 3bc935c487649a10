"""Several messages as one."""

import numpy as np
import pytest

from daskdl.encoding.folding import fold
from daskdl.encoding.handler import decode_add
from daskdl.encoding.wire import pack, unpack
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
