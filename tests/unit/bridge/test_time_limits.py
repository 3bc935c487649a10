"""Calls with a time limit, in threads that are used again."""

import subprocess
import sys
import threading

import pytest

from daskdl_bridge.errors import StorageTimeoutError
from daskdl_bridge.time_limits import begin, call_within


def called(function, timeout_s=10.0):
    return call_within(timeout_s, "list", "hdfs://ns/x", function)


def test_calls_one_after_the_other_share_a_thread():
    # A thread may be told to be idle a moment after its answer came.
    names = {called(threading.get_ident) for _ in range(50)}
    assert len(names) < 25


def test_calls_at_the_same_time_have_threads_of_their_own():
    meeting = threading.Barrier(8)
    begun = [begin("read", "hdfs://ns/x", meeting.wait) for _ in range(8)]
    assert sorted(one.result(timeout=30) for one in begun) == list(range(8))


def test_a_call_that_never_returns_keeps_no_other_one_waiting():
    release = threading.Event()
    with pytest.raises(StorageTimeoutError, match=r"list within 0.05 s"):
        called(release.wait, 0.05)
    assert called(lambda: 7) == 7
    release.set()


def test_an_error_comes_as_it_is():
    def fail():
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        called(fail)
    assert called(lambda: 7) == 7


def test_a_thread_has_the_name_of_what_it_does():
    assert called(lambda: threading.current_thread().name) == "list hdfs://ns/x"


# In a process of its own: that of other tests may hold clients that survive no fork.
FORKED = """
import os
from daskdl_bridge.time_limits import call_within

call = lambda: call_within(10.0, "list", "hdfs://ns/x", lambda: 7)
call()
child = os.fork()
if child == 0:
    os._exit(call())
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_child_that_was_forked_has_threads_of_its_own():
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout == "7\n"
