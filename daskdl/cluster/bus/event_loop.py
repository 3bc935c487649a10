"""The way from a task's thread into the worker's event loop."""

import asyncio
import concurrent.futures
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from daskdl.errors import BusClosedError, ClusterError, StepTimeoutError

logger = logging.getLogger(__name__)

T = TypeVar("T")


class EventLoop:
    """Runs calls on the event loop. Must be made on the loop's own thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def run(
        self, function: Callable[[], Coroutine[Any, Any, T]], *, timeout_s: float
    ) -> T:
        """Run a coroutine function and wait for its result.

        Raises
        ------
        ClusterError
            Called on the event loop, which cannot wait for itself.
        StepTimeoutError
            No result in time; the coroutine is cancelled.
        BusClosedError
            The event loop has stopped.
        """
        if threading.get_ident() == self._thread:
            raise ClusterError(
                "Bus: must be called from a task's thread, got the worker's event "
                "loop. In a coroutine use asyncio.to_thread."
            )
        if self._loop.is_closed():
            raise BusClosedError("Bus: the worker must be running, it has stopped.")
        future = asyncio.run_coroutine_threadsafe(function(), self._loop)
        try:
            return future.result(timeout_s)
        except concurrent.futures.CancelledError:
            raise BusClosedError("Bus: the worker must be running, it stops.") from None
        except concurrent.futures.TimeoutError:
            if future.done():  # the coroutine's own
                raise
            future.cancel()
            raise StepTimeoutError(
                f"Bus: the worker must answer within {timeout_s:g} s, it did not."
            ) from None

    def call_soon(self, function: Callable[[], Any]) -> None:
        """Have a function called on the event loop, from any thread."""
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:
            # Closed: the worker has stopped, and with it everything this would touch.
            logger.debug("The event loop is closed: %r is not called", function)
