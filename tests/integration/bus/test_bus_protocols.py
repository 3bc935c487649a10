"""The bus over Dask's other protocols: inproc:// and tls://."""

import numpy as np
import pytest
from distributed import Client, LocalCluster
from distributed.security import Security

from daskdl.cluster.bus import Message, get_bus, install
from tests.integration.bus.exchange import (
    all_to_all,
    assert_nothing_left,
    submit_to_each,
    wait_for_members,
)

N_WORKERS = 2
SIZE = 50_000


def run_all_to_all(n, **options):
    with (
        LocalCluster(
            n_workers=N_WORKERS,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            **options,
        ) as cluster,
        Client(cluster, security=options.get("security")) as client,
    ):
        install(client)
        futures = submit_to_each(client, all_to_all, "t", N_WORKERS, n, SIZE)
        results = client.gather(list(futures.values()))
        assert_nothing_left(client)
    return results


@pytest.mark.parametrize("protocol", ["inproc", "tls"])
def test_all_to_all_is_complete_and_in_order(protocol):
    if protocol == "tls":
        pytest.importorskip("cryptography", reason="Security.temporary needs it")
        options = {"security": Security.temporary()}
    else:
        options = {"processes": False}
    for result in run_all_to_all(100, **options):
        assert list(result.messages.values()) == [100]
        assert result.is_in_order


def publish_without_a_copy(n_workers):
    x = np.zeros(SIZE)
    with get_bus().topic("shared") as topic:
        wait_for_members(topic, n_workers - 1)
        topic.publish(x, copy=False)
        topic.end()
        while not topic.finished():
            topic.get(1)
    return x.sum()


def write_to_what_comes(n_workers):
    with get_bus().topic("shared") as topic:
        while not isinstance(event := topic.get(10), Message):
            pass
        received = event.data
    received += 1
    return received.sum()


def test_in_process_nobody_writes_to_the_memory_of_another():
    with (
        LocalCluster(
            n_workers=3,
            threads_per_worker=1,
            processes=False,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as client,
    ):
        install(client)
        workers = list(client.nthreads())
        tasks = [publish_without_a_copy, write_to_what_comes, write_to_what_comes]
        futures = [
            client.submit(task, 3, workers=[worker], pure=False)
            for task, worker in zip(tasks, workers, strict=True)
        ]
        assert client.gather(futures) == [0, SIZE, SIZE]
