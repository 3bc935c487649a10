"""Rice coding: both forms alike, whatever the positions; nonsense is noticed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskdl.kernels.coding import (
    RicePlan,
    bitmap_codes,
    count_codes,
    join_entries,
    rice_decode,
    rice_encode,
    rice_plan,
    split_entries,
    write_bitmap,
)

BACKENDS = ("numba", "numpy")
LARGEST = 2**31 - 1


@pytest.fixture(params=BACKENDS)
def backend(request, monkeypatch):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", request.param)
    return request.param


# Near each other, far apart, all alike: what chooses different k in different blocks.
position_lists = st.one_of(
    st.lists(st.integers(1, 400), max_size=400),
    st.lists(st.integers(1, LARGEST), max_size=300),
    st.lists(st.integers(1, 3), max_size=300),
    st.just(list(range(1, 600))),
).map(lambda values: np.array(sorted(values), np.int32))


def encoded(positions, symbols, symbol_bits):
    plan = rice_plan(positions, symbol_bits)
    words = np.full(plan.n_words, 2**64 - 1, np.uint64)
    rice_encode(positions, symbols, symbol_bits, plan, words)
    return plan, words


def decoded(plan, words, count, symbol_bits, size=LARGEST):
    positions, symbols = np.empty(count, np.int32), np.empty(count, np.uint8)
    is_right = rice_decode(words, plan, symbol_bits, size, positions, symbols)
    return is_right, positions, symbols


@given(position_lists, st.sampled_from([1, 2]), st.randoms())
def test_both_forms_write_the_same_code_and_read_it(positions, symbol_bits, random):
    symbols = np.array(
        [random.getrandbits(symbol_bits) for _ in positions], dtype=np.uint8
    )
    codes = []
    with pytest.MonkeyPatch.context() as patch:
        for backend in BACKENDS:
            patch.setenv("DASKDL_BACKEND_PRIORITY_CPU", backend)
            plan, words = encoded(positions, symbols, symbol_bits)
            codes.append((words.tolist(), plan.low_bits.tolist(), plan.least_gap))
            found = decoded(plan, words, positions.size, symbol_bits)
            assert found[0]
            np.testing.assert_array_equal(found[1], positions)
            np.testing.assert_array_equal(found[2], symbols)
    assert codes[0] == codes[1]


@given(position_lists, st.integers(0, 2**32 - 1))
def test_both_forms_agree_on_what_is_no_code(positions, seed):
    rng = np.random.default_rng(seed)
    symbols = rng.integers(0, 2, positions.size, np.uint8)
    plan, words = encoded(positions, symbols, 1)
    for bit in rng.integers(0, max(64 * words.size, 1), min(3, words.size)):
        words[bit // 64] ^= np.uint64(1) << np.uint64(bit % 64)
    size = int(positions[-1]) + 5 if positions.size else 5
    found = []
    with pytest.MonkeyPatch.context() as patch:
        for backend in BACKENDS:
            patch.setenv("DASKDL_BACKEND_PRIORITY_CPU", backend)
            found.append(decoded(plan, words, positions.size, 1, size))
    assert found[0][0] == found[1][0]
    if found[0][0]:
        np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.fixture
def code(backend):
    positions = np.arange(3, 900, 3, dtype=np.int32)
    symbols = np.zeros(positions.size, np.uint8)
    return encoded(positions, symbols, 1), positions.size


def test_a_position_above_the_size_is_noticed(code):
    (plan, words), count = code
    assert not decoded(plan, words, count, 1, size=896)[0]
    assert decoded(plan, words, count, 1, size=897)[0]


@pytest.mark.parametrize("change", [-1, 1, 128])
def test_another_number_of_positions_is_noticed(code, change):
    (plan, words), count = code
    assert not decoded(plan, words, count + change, 1)[0]


def test_missing_and_spare_words_are_noticed(code):
    (plan, words), count = code
    assert not decoded(plan, words[:-1], count, 1)[0]
    assert not decoded(plan, np.append(words, words[:1] * 0), count, 1)[0]


def test_low_bits_that_leave_no_word_for_the_rests_are_noticed(code):
    (plan, words), count = code
    large = RicePlan(1, np.full_like(plan.low_bits, 31), plan.n_words)
    assert not decoded(large, words, count, 1)[0]


def test_more_low_bits_than_a_position_has_are_noticed(code):
    (plan, words), count = code
    large = RicePlan(1, np.full_like(plan.low_bits, 255), plan.n_words)
    assert not decoded(large, words, count, 1)[0]


def test_a_gap_too_long_for_an_integer_is_noticed(backend):
    """Its rest, shifted by 31 bits, would not fit 64."""
    words = np.zeros(2**10, np.uint64)
    words[-1] = 2**63
    plan = RicePlan(1, np.array([31], np.uint8), words.size)
    assert not decoded(plan, words, 1, 1)[0]


def test_positions_that_do_not_ascend_have_no_plan(backend):
    assert rice_plan(np.array([1, 1, 5], np.int32), 1) is not None
    assert rice_plan(np.array([1, 5, 4], np.int32), 1) is None


def test_signed_entries_are_split_and_joined(backend):
    entries = np.array([3, -1, LARGEST, -LARGEST], np.int32)
    positions, is_negative = split_entries(entries)
    assert positions.tolist() == [3, 1, LARGEST, LARGEST]
    assert is_negative.tolist() == [0, 1, 0, 1]
    joined = np.zeros_like(entries)
    join_entries(positions, is_negative, joined)
    assert joined.tolist() == entries.tolist()


def test_gaps_that_cluster_get_each_their_own_k(backend, rng):
    """As layers do: of one a lot is sent, of another next to nothing."""
    dense = rng.choice(1000, 512, replace=False)
    sparse = 1000 + rng.choice(10**6, 512, replace=False)
    positions = np.sort(np.append(dense, sparse)).astype(np.int32) + 1
    plan = rice_plan(positions, 1)
    assert plan.low_bits[:4].max() == 0
    assert plan.low_bits[4:].min() >= 9


@given(st.lists(st.integers(0, 2**32 - 1) | st.just(0), max_size=40))
def test_a_bitmap_comes_back_from_its_codes(words):
    words = np.array(words, np.uint32)
    found = []
    with pytest.MonkeyPatch.context() as patch:
        for backend in BACKENDS:
            patch.setenv("DASKDL_BACKEND_PRIORITY_CPU", backend)
            positions, codes = bitmap_codes(words, count_codes(words))
            back = np.full_like(words, 7)
            write_bitmap(positions, codes, back)
            np.testing.assert_array_equal(back, words)
            found.append((positions.tolist(), codes.tolist()))
    assert found[0] == found[1]


def test_codes_of_a_bitmap_are_magnitude_and_above_it_sign(backend):
    words = np.array([0, 0x0004_0001, 0x8000_8000], np.uint32)
    positions, codes = bitmap_codes(words, count_codes(words))
    assert positions.tolist() == [17, 19, 48]
    assert codes.tolist() == [1, 2, 3]
