"""No file, however damaged, ends in anything but rows or an error that names it.

``python -m tests.unit.bridge.fuzz`` does the same for as long as one likes.
"""

import pickle
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daskdl.errors import DataError
from daskdl_bridge.readers.pickles import load_pickle
from tests.unit.bridge.fuzz import canary
from tests.unit.bridge.fuzz.attempts import (
    SEEDS,
    Attempt,
    attempt_of,
    read_or_refuse,
    rows_of,
    saved_attempt,
)
from tests.unit.bridge.fuzz.hostile_pickles import hostile_pickle, registered_extension
from tests.unit.bridge.fuzz.seeds import Seed

READERS = sorted(SEEDS)


@cache
def seeds(reader: str) -> list[Seed]:
    if reader == "avro":
        pytest.importorskip("fastavro", reason="fastavro is not installed")
    return SEEDS[reader]()


@pytest.fixture(autouse=True)
def extension() -> Iterator[None]:
    with registered_extension():
        yield


@pytest.mark.parametrize("reader", READERS)
def test_seeds_are_read_whole(reader, tmp_path):
    """What is refused undamaged would never be read far."""
    for index, seed in enumerate(seeds(reader)):
        files = {seed.name: seed.whole(), **seed.beside}
        for options in seed.options:
            attempt = Attempt(files=files, options=options)
            attempt.save(tmp_path / str(index))
            assert rows_of(attempt, str(tmp_path / str(index) / seed.name)) > 0


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=40)
@given(random=st.randoms(use_true_random=True))
def test_a_damaged_file_is_read_or_refused(reader, random, tmp_path_factory):
    seed = random.choice(seeds(reader))
    read_or_refuse(attempt_of(seed, random), tmp_path_factory.getbasetemp() / "fuzzed")


@given(number=st.integers(0, 1 << 32))
def test_hostile_pickles_run_nothing(number):
    with suppress(DataError):
        load_pickle(hostile_pickle(Random(number)), "x")
    assert canary.tripped() == []


def test_hostile_pickles_would_run_what_they_name():
    data = f"\x80\x02c{canary.__name__}\ntrip\n)R.".encode("latin1")
    pickle.loads(data)
    assert canary.tripped() == ["trip was called"]


def test_an_attempt_is_kept_to_be_read_again(tmp_path):
    attempt = attempt_of(seeds("sequence")[0], Random(0))
    attempt.save(tmp_path)
    assert saved_attempt(tmp_path) == attempt


def test_an_error_that_is_not_daskdls_is_a_finding(tmp_path: Path):
    attempt = Attempt(files={"x.csv": b"a\n1\n"}, options={"no_such_option": 1})
    with pytest.raises(TypeError, match="no_such_option"):
        read_or_refuse(attempt, tmp_path)


def test_an_error_that_names_no_file_is_a_finding(tmp_path: Path):
    attempt = Attempt(files={"x.csv": b"a\n1\n"}, options={"format": "no format"})
    with pytest.raises(AssertionError, match="names no file: SourceOptions: format"):
        read_or_refuse(attempt, tmp_path)
