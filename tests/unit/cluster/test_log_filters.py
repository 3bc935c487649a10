"""Workers and schedulers do not log what the client reports, or asks for ever."""

import logging

import pytest

from daskdl.cluster.bus.scheduler_plugin import newcomers
from daskdl.cluster.inference import scan_one
from daskdl.cluster.mailbox import deliver, stop_at
from daskdl.cluster.session import member_state, run_member, snapshot
from daskdl.cluster.silent_workers import heartbeats

COMPUTE_FAILED = (
    "Compute Failed\nKey: %s\nState: %s\nTask: %s\nException: %r\nTraceback: %r\n"
)
OWN = "ColumnError('x.json: column 'a' must ...')"


def is_logged(task, exception, message=COMPUTE_FAILED):
    args = ("some-key-1", "executing", f"{task}(..., ...)", exception, "File ...")
    args = args if "%s" in message else ()
    record = logging.LogRecord(
        "distributed.worker", logging.ERROR, "worker.py", 1, message, args, None
    )
    return bool(logging.getLogger("distributed.worker").filter(record))


@pytest.mark.parametrize(
    "name",
    [scan_one.__name__, run_member.__name__, "tally_partitions", "predict_partitions"],
)
def test_an_error_of_ours_in_a_task_of_ours_is_not_logged(name):
    assert not is_logged(name, OWN)


def test_an_error_of_the_bridge_is_ours():
    pytest.importorskip("daskdl_bridge.errors")
    assert not is_logged("scan_one", "StorageError('hdfs://...')")


def test_other_errors_are_logged():
    assert is_logged("scan_one", "ZeroDivisionError('division by zero')")


def test_tasks_of_others_are_logged():
    assert is_logged("inc", OWN)


def test_other_messages_are_logged():
    assert is_logged("", "", "Connection to scheduler broken")


@pytest.mark.parametrize(
    "function", [heartbeats, newcomers, deliver, stop_at, snapshot, member_state]
)
def test_what_a_client_asks_again_and_again_is_not_logged(function):
    assert not is_called_in_log(function.__name__)


def test_calls_of_others_are_logged():
    assert is_called_in_log("probe")


def is_called_in_log(name):
    record = logging.LogRecord(
        "distributed.worker",
        logging.INFO,
        "worker.py",
        1,
        "Run out-of-band function %r",
        (name,),
        None,
    )
    return bool(logging.getLogger("distributed.worker").filter(record))
