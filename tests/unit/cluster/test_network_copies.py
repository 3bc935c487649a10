"""So many copies of a network in a worker process, and no more."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from daskdl.cluster import network_copies
from daskdl.cluster.network_copies import copies_at_most


@pytest.fixture
def worker(monkeypatch):
    worker = SimpleNamespace()
    monkeypatch.setattr(network_copies, "get_worker", lambda: worker)
    return worker


def held_at_once(most, tasks=4):
    """Return how many tasks were in the block together, of those that came at once."""
    held, counts, lock = [], [], threading.Lock()
    together = threading.Barrier(min(most or tasks, tasks), timeout=20)

    def task(number):
        with copies_at_most(most):
            with lock:
                held.append(number)
                counts.append(len(held))
            together.wait()
            with lock:
                held.remove(number)

    with ThreadPoolExecutor(tasks) as pool:
        list(pool.map(task, range(tasks)))
    return max(counts)


@pytest.mark.parametrize("most", [1, 2])
def test_no_more_tasks_have_a_network_than_may(worker, most):
    assert held_at_once(most) == most


def test_all_tasks_have_one_if_nothing_is_said():
    """There is no need of a worker, then."""
    assert held_at_once(None) == 4


def test_a_task_that_fails_lets_another_in(worker):
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), copies_at_most(1):
            _ = 1 / 0
    with copies_at_most(1):
        pass
