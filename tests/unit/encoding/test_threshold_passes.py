"""One pass over the vectors: nothing is allocated, nothing is taken off in vain."""

import numpy as np
import pytest

from daskdl.encoding.algorithms import FixedThresholdAlgorithm
from daskdl.encoding.handler import EncodingHandler, decode_subtract
from daskdl.errors import DivergedError
from daskdl.kernels.threshold import (
    BITMAP,
    THRESHOLD,
    Scratch,
    bitmap_decode_add,
    bitmap_encode,
    clip_difference,
    difference_encode,
    header_tau,
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


@pytest.mark.parametrize("size", [1, 2, 63, 64, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("quantum", [1.0, 2.0])
def test_a_difference_is_encoded_as_a_residual_and_lost_as_decoded(
    backend, rng, size, dtype, quantum
):
    base, params = rng.standard_normal((2, size)).astype(dtype)
    expected, count = threshold_encode(base - params, 0.9)
    left, before = base.copy(), params.copy()
    message, ours = difference_encode(left, params, 0.9, quantum=quantum)
    assert ours == count
    np.testing.assert_array_equal(params, before)
    if expected is None:
        assert message is None
        np.testing.assert_array_equal(left, base)
        return
    np.testing.assert_array_equal(message[4:], expected[4:])
    assert header_tau(message) == np.float32(quantum) * np.float32(0.9)
    threshold_decode_add(message, base, sign=-1)
    np.testing.assert_array_equal(left, base)


@pytest.mark.parametrize("size", [40, 64, 200])
def test_a_base_is_put_back_where_too_much_of_it_is_apart(backend, rng, size):
    base = (rng.standard_normal(size) * 9).astype(np.float32)
    left = base.copy()
    message, count = difference_encode(left, np.zeros_like(base), 0.3, boundary=9)
    assert message is None
    assert count > 9
    np.testing.assert_array_equal(left, base)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 70, 129])
def test_a_difference_that_is_no_number_is_told_and_nothing_taken(
    backend, rng, value, place
):
    base, params = rng.standard_normal((2, 130)).astype(np.float32)
    params[place] = value
    left = base.copy()
    assert difference_encode(left, params, 0.5) == (None, -1)
    np.testing.assert_array_equal(left, base)


@pytest.mark.parametrize("size", [1, 64, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parameters_are_brought_near_a_base_and_else_left_alone(
    backend, rng, size, dtype
):
    base, params = rng.standard_normal((2, size)).astype(dtype)
    before = params.copy()
    clip_difference(params, base, 0.5)
    is_apart = abs(base - before) > 0.5
    np.testing.assert_array_equal(params[~is_apart], before[~is_apart])
    nearest = base - np.clip(base - before, -0.5, 0.5)
    np.testing.assert_array_equal(params[is_apart], nearest[is_apart])


def test_messages_of_differences_are_those_of_updates(backend, rng):
    """As bitmaps at first, then as positions; the base loses what they carry."""
    algorithm = FixedThresholdAlgorithm(threshold=2.0)
    one, other = (EncodingHandler(N, algorithm=algorithm) for _ in range(2))
    kinds = []
    for before in rng.standard_normal((3, N)).astype(np.float32):
        params = before * np.float32(0.5)
        other.residual.fill(0)
        expected = other.encode(before - params, 0, 0)
        base = before.copy()
        message = one.encode_difference(base, params)
        np.testing.assert_array_equal(message, expected)
        decode_subtract(message, before)
        np.testing.assert_array_equal(base, before)
        kinds.append(int(message[3]))
    assert kinds == [BITMAP, THRESHOLD, THRESHOLD]


@pytest.mark.parametrize("mode", ["bitmaps", "positions"])
def test_a_difference_that_is_no_number_is_refused_by_its_place(backend, mode):
    handler = EncodingHandler(200, algorithm=FixedThresholdAlgorithm(threshold=2.0))
    base, params = np.zeros((2, 200), np.float32)
    if mode == "positions":
        handler.encode_difference(base, params)
    params[7] = np.inf
    with pytest.raises(DivergedError, match="got -inf for parameter 7"):
        handler.encode_difference(base, params)
