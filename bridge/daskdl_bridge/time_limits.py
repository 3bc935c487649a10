"""Time limits for calls that may wait for ever."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from daskdl_bridge.errors import StorageTimeoutError

__all__ = ["TIMEOUT_S", "call_within"]

T = TypeVar("T")

# A fail-over with 30 s without any active NameNode took 34 s and then went on.
TIMEOUT_S = 60.0


def call_within(
    timeout_s: float, action: str, url: str, function: Callable[[], T]
) -> T:
    """Call a function in a thread that is given up when the time is over.

    Parameters
    ----------
    timeout_s : float
        Limit in seconds.
    action, url : str
        What is done to what, for messages: ``list``, ``hdfs://mini/data``.
    function : callable
        Does it. A thread given up goes on until the call returns, if ever; as a daemon
        it does not keep the process from ending.

    Raises
    ------
    StorageTimeoutError
        If the function did not return in time.
    BaseException
        The function's own error, as it is.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001  it is raised by the waiting thread
            future.set_exception(error)

    threading.Thread(target=run, name=f"{action} {url}", daemon=True).start()
    if _waited(future, timeout_s):
        return future.result()
    raise StorageTimeoutError(
        f"{url}: HDFS must {action} within {timeout_s:g} s, it did not answer. Check "
        "that NameNodes and DataNodes are up, or raise timeout_s in storage_options."
    )


def _waited(future: "Future[Any]", timeout_s: float) -> bool:
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    return done.wait(timeout_s)
