"""What is told while workers are waited for."""

from types import SimpleNamespace

import pytest

from daskdl.cluster.worker_wait import TELL_EVERY_S, WorkerWait

BY_ADDRESS = SimpleNamespace(
    cluster=None, scheduler=SimpleNamespace(address="tcp://h:8786")
)
LOCAL = SimpleNamespace(cluster="one that it can scale")


def test_it_is_told_every_few_seconds(caplog):
    wait = WorkerWait(LOCAL, 2)
    times = [now for now in range(20) if wait.look(1, now, 60.0)]
    assert times[1] - times[0] > TELL_EVERY_S
    assert len(caplog.messages) == len(times) == 4
    assert caplog.messages[0] == (
        "waiting for workers: 2 must be there, 1 is; 60 s more at most"
    )


@pytest.mark.parametrize(
    ("there", "told"),
    [
        (0, "workers to come back, as all went: 2 must be there, 0 are; 60 s"),
        (1, "workers to come back, as all went: 2 must be there, 1 is; 60 s"),
        (2, "workers to get ready: 2 are there, and cannot take part yet; 60 s"),
        (3, "workers to get ready: 3 are there, and cannot take part yet; 60 s"),
    ],
)
def test_after_deaths_it_is_told_that_they_come_back(there, told, caplog):
    WorkerWait(LOCAL, 2, after_deaths=True).look(there, 0.0, 60.0)
    assert caplog.messages == [f"waiting for {told} more at most"]


def test_who_has_an_address_alone_is_told_once_how_workers_start(caplog):
    wait = WorkerWait(BY_ADDRESS, 1)
    for now in (0.0, 10.0):
        wait.look(0, now, 60.0)
    assert "run `dask worker tcp://h:8786`: a client that was" in caplog.messages[0]
    assert caplog.messages[1].endswith("50 s more at most")


@pytest.mark.parametrize(
    ("there", "told"), [(1, "1 worker is there"), (3, "3 workers are there")]
)
def test_the_end_of_a_wait_is_told(there, told, caplog):
    wait = WorkerWait(LOCAL, 1)
    wait.look(0, 0.0, 60.0)
    wait.end(there)
    assert caplog.messages[-1] == told


def test_nothing_is_told_where_nobody_waited(caplog):
    WorkerWait(LOCAL, 1).end(1)
    assert caplog.messages == []
