"""The bus between worker processes."""

import os
import signal
import time

import pytest
from distributed import Client, LocalCluster

from daskdl.cluster.bus import install
from tests.integration.bus.exchange import (
    all_to_all,
    assert_nothing_left,
    break_connections_for,
    has_received,
    publish_until_a_member_is_lost,
    submit_to_each,
)

N_WORKERS = 3


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=N_WORKERS, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        install(client)
        yield client


def check_complete(results, n):
    for result in results:
        assert list(result.messages.values()) == [n] * (N_WORKERS - 1)
        assert result.is_in_order
        assert [left.clean for left in result.left] == [True] * (N_WORKERS - 1)


@pytest.mark.parametrize(
    ("n", "nbytes"),
    [
        (2000, 4_000),
        (300, 400_000),
        pytest.param(10, 40_000_000, marks=pytest.mark.slow),
    ],
    ids=["4 KB", "400 KB", "40 MB"],
)
def test_all_to_all_is_complete_and_in_order(client, n, nbytes, record_property):
    futures = submit_to_each(
        client, all_to_all, f"all-{nbytes}", N_WORKERS, n, nbytes // 8
    )
    results = client.gather(list(futures.values()))
    record_property("wall_s", max(result.wall_s for result in results))
    check_complete(results, n)
    assert_nothing_left(client)


def test_connections_broken_on_purpose_lose_nothing(client):
    n = 600
    futures = submit_to_each(client, all_to_all, "broken", N_WORKERS, n, 5000)
    n_broken = 0
    # Not for ever: where little gets through between two breaks, nothing would end.
    while n_broken < 30 and not all(future.done() for future in futures.values()):
        n_broken += sum(client.run(break_connections_for, 0.3, 0.03).values())
    results = client.gather(list(futures.values()))
    assert n_broken > 10
    assert sum(result.stats.reconnects for result in results) > 10
    check_complete(results, n)
    assert_nothing_left(client)


def test_killed_worker_is_left_at_once_and_after_its_messages(client, record_property):
    pids = client.run(os.getpid)
    futures = submit_to_each(client, publish_until_a_member_is_lost, "kill", N_WORKERS)
    wait_until_all_publish(client, list(pids))
    victim, *others = pids
    killed_at = time.time()
    os.kill(pids[victim], signal.SIGKILL)
    seen = client.gather([futures[address] for address in others])
    futures[victim].cancel()
    delays = [each.seen_at - killed_at for each in seen]
    record_property("left_after_s", delays)
    # One of the two may see the other's end first, but only after it saw the loss.
    assert False in [each.first_left.clean for each in seen]
    assert all(each.is_in_order for each in seen)
    assert [each.messages_after for each in seen] == [0, 0]
    # Without the scheduler's news it would be the connection's 30 s.
    assert max(delays) < 10
    client.wait_for_workers(N_WORKERS, timeout=30)
    assert_nothing_left(client)


def test_worker_that_replaces_a_killed_one_takes_part(client):
    before = client.run(os.getpid)
    victim = next(iter(before))
    os.kill(before[victim], signal.SIGKILL)
    deadline = time.monotonic() + 30
    while victim in client.nthreads() or len(client.nthreads()) < N_WORKERS:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    futures = submit_to_each(client, all_to_all, "replaced", N_WORKERS, 20, 500)
    check_complete(client.gather(list(futures.values())), 20)
    assert_nothing_left(client)


def wait_until_all_publish(client, workers):
    deadline = time.monotonic() + 30
    while not all(client.run(has_received, workers=workers).values()):
        assert time.monotonic() < deadline
