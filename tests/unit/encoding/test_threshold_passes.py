"""One pass over the vectors: nothing is allocated, nothing is taken off in vain."""

import numpy as np
import pytest

from daskdl.encoding.algorithms import FixedThresholdAlgorithm
from daskdl.encoding.handler import EncodingHandler
from daskdl.kernels.threshold import (
    BITMAP,
    THRESHOLD,
    Scratch,
    bitmap_decode_add,
    bitmap_encode,
    threshold_decode_add,
    threshold_encode,
)
from tests.memory import peak_bytes

N = 200_000
# Views, numbers and what Python itself keeps.
SMALL_BYTES = 4096


@pytest.fixture(params=["numba", "numpy"])
def backend(request, monkeypatch):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", request.param)
    return request.param


def test_threshold_messages_allocate_nothing_but_themselves():
    algorithm = FixedThresholdAlgorithm(threshold=1.0)
    handler = EncodingHandler(N, algorithm=algorithm)
    update = np.zeros(N, np.float32)
    handler.encode(update, 0, 0)
    update[::1000] = 2
    sizes = []

    def encode():
        # Iteration 5, so that the residual is clipped as well.
        sizes.append(handler.encode(update, 5, 0).nbytes)

    assert peak_bytes(encode) < sizes[-1] + SMALL_BYTES
    assert sizes[-1] == 4 * (4 + 200)


def test_bitmap_messages_allocate_nothing_but_themselves():
    residual, update = np.zeros(N, np.float32), np.ones(N, np.float32)
    peak = peak_bytes(lambda: bitmap_encode(residual, 0.5, update=update))
    assert peak < 4 * (N // 16 + 5) + SMALL_BYTES


def test_messages_from_one_scratch_are_independent(backend):
    residual = np.zeros(1000, np.float32)
    scratch = Scratch.for_messages_from(residual, 500)
    messages = []
    for start in (0, 7):
        update = np.zeros(1000, np.float32)
        update[start::100] = 1
        message, _ = threshold_encode(
            residual, 1.0, update=update, boundary=500, scratch=scratch
        )
        messages.append(message)
    assert messages[0][4:].tolist() == list(range(1, 1000, 100))
    assert messages[1][4:].tolist() == list(range(8, 1000, 100))


@pytest.mark.parametrize("size", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("truncate", [True, False])
def test_what_was_taken_off_in_vain_is_put_back(backend, rng, size, truncate):
    """Numbers above twice the threshold do not come back by adding it again."""
    residual = (rng.standard_normal(size) * 9).astype(np.float32)
    expected = residual.copy()
    boundary = size // 3 if not truncate else min(size // 3, 1)
    message, count = threshold_encode(
        residual, 0.3, boundary=boundary, truncate=truncate
    )
    assert message is None
    assert count > boundary
    np.testing.assert_array_equal(residual, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_that_are_none_count_alike(monkeypatch, dtype):
    update = np.linspace(-2, 2, 130).astype(dtype)
    update[[3, 64, 129]] = np.nan
    update[[5, 66, 128]] = np.inf, -np.inf, np.inf
    update[[6, 67]] = -0.0
    found = []
    for backend in ("numba", "numpy"):
        monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", backend)
        residual, bits = np.zeros(130, dtype), np.full(130, -0.0, dtype)
        message, count = threshold_encode(residual, 0.7, update=update)
        codes, n_codes = bitmap_encode(bits, 0.7, update=update)
        arrays = (message, residual, codes, bits)
        found.append(([x.tobytes() for x in arrays], count, n_codes))
    assert found[0] == found[1]


def test_a_vector_with_gaps_is_encoded_as_one_without(rng):
    wide = rng.standard_normal((300, 2))
    narrow = wide[:, 0].copy()
    message, _ = threshold_encode(wide[:, 0], 0.5)
    expected, _ = threshold_encode(narrow, 0.5)
    np.testing.assert_array_equal(message, expected)
    np.testing.assert_array_equal(wide[:, 0], narrow)


@pytest.mark.parametrize("encode", [threshold_encode, bitmap_encode])
def test_what_is_subtracted_is_what_would_be_added(backend, rng, encode):
    message, _ = encode(rng.standard_normal(500), 1.1)
    decode = bitmap_decode_add if encode is bitmap_encode else threshold_decode_add
    added, subtracted = np.zeros(500), np.zeros(500)
    decode(message, added)
    decode(message, subtracted, sign=-1)
    assert added.any()
    np.testing.assert_array_equal(subtracted, -added)


@pytest.mark.parametrize("size", [1, 63, 64, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_residual_may_be_a_difference_that_is_taken_on_the_way(
    backend, rng, size, dtype
):
    base, params = rng.standard_normal((2, size)).astype(dtype)
    params[:1] = np.nan
    expected = base - params
    message, count = threshold_encode(expected, 0.9)
    found = np.full(size, 7.0, dtype)
    difference = (base.copy(), params.copy())
    ours, ours_count = threshold_encode(found, 0.9, difference=difference)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(ours, message)
    assert count == ours_count
    np.testing.assert_array_equal(difference, (base, params))


def test_a_difference_is_encoded_as_an_update_of_nothing(backend, rng):
    """As bitmaps at first, then as positions."""
    algorithm = FixedThresholdAlgorithm(threshold=2.0)
    one, other = (EncodingHandler(N, algorithm=algorithm) for _ in range(2))
    kinds = []
    for before in rng.standard_normal((3, N)).astype(np.float32):
        params = before * np.float32(0.5)
        other.residual.fill(0)
        expected = other.encode(before - params, 0, 0)
        message = one.encode_difference(before, params)
        np.testing.assert_array_equal(message, expected)
        np.testing.assert_array_equal(one.residual, other.residual)
        kinds.append(int(message[3]))
    assert kinds == [BITMAP, THRESHOLD, THRESHOLD]
