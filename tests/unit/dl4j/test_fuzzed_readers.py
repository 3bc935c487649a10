"""No bytes, however damaged, end in anything but an error that names the file."""

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import damaged
from tests.unit.dl4j.fuzz_targets import READERS, read_or_refuse, seeds, target

SEEDS = seeds()


@settings(max_examples=500)
@given(st.sampled_from(sorted(SEEDS)), st.randoms(use_true_random=True))
def test_a_damaged_file_is_read_or_refused(reader, random):
    seed = random.choice(SEEDS[reader])
    read_or_refuse(reader, damaged(seed, random, SEEDS[reader]))


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
