"""What is told when the scheduler is gone."""

from types import SimpleNamespace

import pytest
from distributed import CancelledError
from distributed.comm import CommClosedError

from daskdl.cluster import connection
from daskdl.cluster.connection import scheduler_must_answer
from daskdl.errors import (
    ClusterError,
    OutputError,
    SchedulerUnreachableError,
    StepTimeoutError,
)

MESSAGE = r"^fit: the scheduler must stay reachable, .*tcp://s broke\. Try again\.$"


@pytest.fixture
def client(monkeypatch):
    monkeypatch.setattr(connection, "NOTICED_WITHIN_S", 0.01)
    return SimpleNamespace(
        status="running", scheduler=SimpleNamespace(address="tcp://s")
    )


def raised(client, error, status="running"):
    """Raise in the block, where the client loses its connection or does not."""
    with scheduler_must_answer(client, "fit", "Try again."):
        client.status = status
        raise error


@pytest.mark.parametrize("status", ["connecting", "closed"])
@pytest.mark.parametrize(
    "error",
    [
        CommClosedError("in <TCP>"),
        CancelledError("tally_partitions-1"),
        StepTimeoutError("Session: one of [...] must return its parameters."),
        ClusterError("Session: the task must end in order."),
        TimeoutError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_the_cause_is_told_and_not_what_follows(client, error, status):
    with pytest.raises(SchedulerUnreachableError, match=MESSAGE) as caught:
        raised(client, error, status)
    assert caught.value.__cause__ is error


def test_what_a_closed_client_says_of_itself_is_no_news(client):
    kind = type("ClosedClientError", (Exception,), {"__module__": "distributed.client"})
    with pytest.raises(SchedulerUnreachableError, match=MESSAGE):
        raised(client, kind("Client is closed."), "closed")


@pytest.mark.parametrize(
    "error",
    [
        OutputError("run: out must be written."),
        FileNotFoundError(2, "No such file", "a.csv"),
        ZeroDivisionError("in on_epoch"),
        RuntimeError("in on_epoch"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_has_another_cause_comes_out_as_it_is(client, error):
    with pytest.raises(type(error)) as caught:
        raised(client, error, "connecting")
    assert caught.value is error


def test_errors_of_workers_come_out_as_they_are(client):
    with pytest.raises(StepTimeoutError, match="must start"):
        raised(client, StepTimeoutError("Session: workers must start."))


def test_nothing_is_tried_without_a_scheduler(client):
    client.status = "connecting"
    with (
        pytest.raises(SchedulerUnreachableError, match=MESSAGE),
        scheduler_must_answer(client, "fit", "Try again."),
    ):
        raise AssertionError("the block ran")
