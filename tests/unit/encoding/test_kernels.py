"""Threshold and bitmap kernels: DL4J's messages, and both forms alike."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from daskdl.kernels.threshold import (
    bitmap_decode_add,
    bitmap_encode,
    threshold_decode_add,
    threshold_encode,
)

DATA = Path(__file__).parents[2] / "data" / "threshold"
CASES = json.loads((DATA / "messages.json").read_text())
BACKENDS = ("numba", "numpy")


@pytest.fixture(params=BACKENDS)
def backend(request, monkeypatch):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", request.param)
    return request.param


@pytest.fixture(scope="module")
def golden():
    with np.load(DATA / "messages.npz") as file:
        return dict(file)


def case_id(case):
    return f"{case['case']}-n{case['n']}-tau{case['tau']}"


@pytest.mark.parametrize("kind", ["threshold", "threshold_b"])
def test_threshold_messages_are_those_of_dl4j(golden, backend, kind):
    for case in CASES:
        if f"{kind}.boundary" not in case:
            continue
        residual = golden[f"{case['case']}.x"].flatten()
        message, _ = threshold_encode(
            residual, case["tau"], boundary=case[f"{kind}.boundary"]
        )
        expected = golden.get(f"{case['case']}.{kind}.message")
        assert_same_message(message, expected, case_id(case))
        np.testing.assert_array_equal(
            residual, golden[f"{case['case']}.{kind}.residual"].ravel(), case_id(case)
        )


@pytest.mark.parametrize("kind", ["threshold", "threshold_b"])
def test_threshold_messages_decode_as_in_dl4j(golden, backend, kind):
    for case in CASES:
        message = golden.get(f"{case['case']}.{kind}.message")
        if message is None:
            continue
        target = np.ones_like(golden[f"{case['case']}.x"]).ravel()
        threshold_decode_add(message, target)
        np.testing.assert_array_equal(
            target, golden[f"{case['case']}.{kind}.decoded"].ravel(), case_id(case)
        )


def test_bitmap_messages_are_those_of_dl4j(golden, backend):
    for case in CASES:
        residual = golden[f"{case['case']}.x"].flatten()
        message, count = bitmap_encode(residual, case["tau"])
        expected = golden[f"{case['case']}.bitmap.message"]
        assert_same_message(message, expected, case_id(case))
        assert count == case["bitmap.count"], case_id(case)
        np.testing.assert_array_equal(
            residual, golden[f"{case['case']}.bitmap.residual"].ravel(), case_id(case)
        )


def test_bitmap_messages_decode_as_in_dl4j(golden, backend):
    for case in CASES:
        target = np.ones_like(golden[f"{case['case']}.x"]).ravel()
        bitmap_decode_add(golden[f"{case['case']}.bitmap.message"], target)
        np.testing.assert_array_equal(
            target, golden[f"{case['case']}.bitmap.decoded"].ravel(), case_id(case)
        )


def assert_same_message(message, expected, what):
    if expected is None:
        assert message is None, what
        return
    assert message.dtype == np.int32, what
    np.testing.assert_array_equal(message, expected, what)


def test_an_element_gives_one_quantum_however_large_it_is(backend):
    residual = np.array([1.5, 2.5, -3.5], np.float32)
    message, _ = threshold_encode(residual, 0.5)
    assert message.tolist() == [3, 3, 1056964608, 0, 1, 2, -3]
    assert residual.tolist() == [1.0, 2.0, -3.0]


def test_a_boundary_keeps_the_first_entries(backend):
    residual = np.ones(1000, np.float32)
    message, count = threshold_encode(residual, 1.0, boundary=100)
    assert message.size == 104
    assert count == 1000
    assert residual.sum() == 900


def test_without_truncation_too_many_entries_leave_the_residual_whole(backend):
    residual = np.zeros(1000, np.float32)
    message, count = threshold_encode(
        residual,
        1.0,
        update=np.ones(1000, np.float32),
        boundary=100,
        truncate=False,
    )
    assert message is None
    assert count == 1000
    assert residual.tolist() == [1.0] * 1000


def test_nothing_reaches_the_threshold(backend):
    residual = np.full(1000, 1e-4, np.float32)
    message, count = threshold_encode(residual, 1e-3)
    assert message is None
    assert count == 0
    assert (residual == np.float32(1e-4)).all()


def test_bitmap_codes_of_the_native_tests(backend):
    residual = np.array([0, -6e-4, 1e-3, -1e-3, 0, 0], np.float32)
    message, count = bitmap_encode(residual, 1e-3)
    assert message.tolist() == [6, 6, 981668463, 1, 655372]
    assert count == 3
    np.testing.assert_allclose(residual, [0, -1e-4, 0, 0, 0, 0], atol=1e-10)


@pytest.mark.parametrize(("size", "length"), [(15, 5), (16, 6), (31, 6), (32, 7)])
def test_length_of_a_bitmap_message(backend, size, length):
    message, _ = bitmap_encode(np.zeros(size, np.float32), 1.0)
    assert message.size == length


def test_a_position_that_comes_twice_counts_twice(backend):
    target = np.zeros(3)
    message = np.array([2, 3, np.float32(0.5).view(np.int32), 0, 2, 2], np.int32)
    threshold_decode_add(message, target)
    assert target.tolist() == [0.0, 1.0, 0.0]


numbers = st.floats(-4, 4, width=32, allow_subnormal=False)
vectors = st.sampled_from([np.float32, np.float64]).flatmap(
    lambda dtype: st.tuples(
        arrays(dtype, 150, elements=numbers),
        arrays(dtype, 150, elements=numbers),
        st.integers(1, 150),
    )
)


@settings(max_examples=60, deadline=None)
@given(vectors, st.sampled_from([0.25, 0.7, 1.0, 3.0]))
@pytest.mark.parametrize("kind", ["threshold", "bitmap"])
def test_decoded_plus_residual_is_what_was_there(kind, vectors_and_size, tau):
    residual, update, size = vectors_and_size
    residual, update = residual[:size], update[:size]
    before = residual + update
    residual = residual.copy()
    decoded = np.zeros_like(residual)
    if kind == "threshold":
        message, _ = threshold_encode(residual, tau, update=update)
        if message is not None:
            threshold_decode_add(message, decoded)
    else:
        message, _ = bitmap_encode(residual, tau, update=update)
        bitmap_decode_add(message, decoded)
    # The bound of one rounding at the size of the largest number involved.
    np.testing.assert_allclose(
        decoded + residual, before, rtol=0, atol=16 * np.finfo(before.dtype).eps
    )


@settings(max_examples=60, deadline=None)
@given(vectors, st.sampled_from([0.25, 0.7, 1.0]), st.integers(0, 40))
def test_both_forms_give_the_same_bits(vectors_and_size, tau, boundary):
    residual, update, size = vectors_and_size
    results = []
    with pytest.MonkeyPatch.context() as patch:
        for name in BACKENDS:
            patch.setenv("DASKDL_BACKEND_PRIORITY_CPU", name)
            results.append(encode_both(residual, update, size, tau, boundary))
    assert results[0] == results[1]


def encode_both(residual, update, size, tau, boundary):
    found = []
    for truncate in (True, False):
        vector = residual[:size].copy()
        message, count = threshold_encode(
            vector, tau, update=update[:size], boundary=boundary, truncate=truncate
        )
        target = update[:size].copy()
        if message is not None:
            threshold_decode_add(message, target)
        found += [message is None or message.tobytes(), count]
        found += [vector.tobytes(), target.tobytes()]
    vector, target = residual[:size].copy(), update[:size].copy()
    message, count = bitmap_encode(vector, tau, update=update[:size])
    bitmap_decode_add(message, target)
    return [*found, message.tobytes(), count, vector.tobytes(), target.tobytes()]
