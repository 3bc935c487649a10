"""No bytes, however damaged, end in anything but an error that names the file."""

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.dl4j.fuzz_targets import READERS, read_or_refuse, seeds, target

SEEDS = seeds()
# Numbers that headers are damaged with: signs, sizes, marks, handles.
NUMBERS = [0, 1, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**63, 0x7E0001]


@st.composite
def damaged(draw):
    """Draw a reader and a file of its kind with a few changes."""
    reader = draw(st.sampled_from(sorted(SEEDS)))
    raw = bytearray(draw(st.sampled_from(SEEDS[reader])))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(raw)))
        stop = start + draw(st.integers(0, 8))
        raw[start:stop] = draw(
            st.binary(max_size=8)
            | st.sampled_from([n.to_bytes(8, "big") for n in NUMBERS])
            | st.sampled_from([n.to_bytes(8, "big")[4:] for n in NUMBERS])
        )
    return reader, bytes(raw)


@settings(max_examples=500)
@given(damaged())
def test_a_damaged_file_is_read_or_refused(found):
    read_or_refuse(*found)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(raw):
    target(raw)


@pytest.mark.parametrize("reader", sorted(READERS))
def test_a_file_that_was_cut_off_anywhere_is_read_or_refused(reader):
    for seed in SEEDS[reader]:
        for n_bytes in range(len(seed)):
            read_or_refuse(reader, seed[:n_bytes])


@pytest.mark.parametrize("reader", sorted(SEEDS))
def test_a_lie_about_sizes_costs_no_memory(reader):
    """Every number of 8 bytes in turn claims a size that no memory holds."""
    seed, claims = SEEDS[reader][0], (2**63 - 1, 2**40, 2**31 - 1)
    tracemalloc.start()
    try:
        for start in range(len(seed) - 8):
            claim = claims[start % len(claims)].to_bytes(8, "big")
            read_or_refuse(reader, seed[:start] + claim + seed[start + 8 :])
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
