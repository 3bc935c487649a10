"""Kill -9 of one of three workers, at any moment of what they do; two are left."""

import random
import sys

import pytest

from tests.integration.cluster.disturbed import (
    OPERATIONS,
    WorkerProcesses,
    assert_nothing_is_left,
    killed_at,
    timed,
)

RUNS = 25  # of each operation


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("nanny", [False, True], ids=["alone", "nanny"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_worker_is_killed_at_any_moment(tmp_path, name, nanny):
    """The moments are drawn over the whole length, the start included."""
    seed = random.SystemRandom().randrange(10**6)
    sys.stdout.write(f"seed {seed}\n")
    rng = random.Random(seed)
    operation = OPERATIONS[name]
    with WorkerProcesses(tmp_path, nanny=nanny) as workers:
        workers.at_least(3)
        operation(workers.client)  # Compiles the kernels.
        length_s = timed(operation, workers.client)
        for run in range(RUNS):
            pids = workers.at_least(3)
            moment_s = rng.uniform(0, length_s)
            sys.stdout.write(f"run {run}: at {moment_s:.2f} of {length_s:.2f} s\n")
            victim = rng.choice(sorted(pids))
            killed_at(operation, workers.client, pids[victim], moment_s)
            assert_nothing_is_left(workers.client)
