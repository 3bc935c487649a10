"""Networks drawn at random, new ones each day: DL4J builds them, and both agree.

The seed is in the name of the test, and repeats it: ``DASKDL_SEED=20260131 pytest -m ""
tests/dl4j/test_random_networks.py``. The smallest network that differs is printed as
JSON, with all left out that the difference does not need.
"""

import collections
import datetime
import os

import pytest

from tests.dl4j.comparison import EQUAL, UNEQUAL, as_text, compare, smallest
from tests.dl4j.random_networks import random_network

N_NETWORKS = 50
N_MANY = 1000


def seed_of_the_day():
    """Return the date as a number, or what is asked for."""
    today = datetime.datetime.now(datetime.timezone.utc)
    return int(os.environ.get("DASKDL_SEED") or f"{today:%Y%m%d}")


SEED = seed_of_the_day()
of_the_day = pytest.mark.parametrize("seed", [SEED], ids=[f"DASKDL_SEED={SEED}"])


@of_the_day
@pytest.mark.timeout(600)
def test_networks_of_today(dl4j, seed):
    check(dl4j, seed, N_NETWORKS)


@of_the_day
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_networks(dl4j, seed):
    check(dl4j, seed, N_MANY)


def check(dl4j, first, n_networks):
    counts = collections.Counter()
    unequal = []
    for seed in range(first * N_MANY, first * N_MANY + n_networks):
        described = random_network(seed)
        result = compare(dl4j, described, seed)
        counts[result.verdict] += 1
        if result.verdict == UNEQUAL:
            unequal.append((len(as_text(described)), seed, described, result))
    if unequal:
        _, seed, described, result = min(unequal, key=lambda one: one[:2])
        small = as_text(smallest(dl4j, described, seed))
        pytest.fail(
            f"DASKDL_SEED={first}: {dict(counts)}; the smallest that differs, number "
            f"{seed}, does so at {result.where}: {result.what}\n{small}"
        )
    # What DL4J refuses, cannot do or does otherwise each time tells nothing.
    assert counts[EQUAL] > n_networks / 2, dict(counts)
