"""`Pub` and `Sub`, as distributed had them until 2025.4, between tasks on workers.

What is different: a `Sub` exists when its constructor returns, so that nothing put
after that is missed; a slow `Sub` holds up its `Pub` instead of filling its memory;
arrays are copied by `put`; lost workers are forgotten; and both should be closed.
"""

import asyncio
import time
from types import TracebackType
from typing import Any, TypeVar

from dask.utils import parse_timedelta

from daskdl.cluster.bus.messages import Message
from daskdl.cluster.bus.options import (
    PUBLISHER,
    SUBSCRIBER,
    Role,
    TopicOptions,
    WhenFull,
)
from daskdl.cluster.bus.this_worker import get_bus
from daskdl.cluster.bus.topic import Topic
from daskdl.errors import StepTimeoutError

# Apart from the topics of `bus.topic`, whose members expect to hear Joined and Left.
PREFIX = "pubsub:"
WAIT_SLICE_S = 60.0

End = TypeVar("End", bound="_End")


class _End:
    """One end of a topic: opens, closes, describes itself."""

    def __init__(
        self, name: str, worker: Any, options: TopicOptions, role: Role
    ) -> None:
        self.name = name
        self._topic: Topic = get_bus(worker).open(
            f"{PREFIX}{name}", options, role=role, meta={"end": type(self).__name__}
        )

    def close(self, timeout_s: float = 10.0) -> bool:
        """Leave; True when every message was delivered. Idempotent."""
        return self._topic.close(timeout_s)

    def __enter__(self: End) -> End:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.name}>"


class Pub(_End):
    """Publishes to all :class:`Sub` of the same name, on any worker.

    Parameters
    ----------
    name : str
        What publishers and subscribers have in common.
    worker : distributed.Worker, optional
        By default the one that runs the calling task.
    when_full : {"block", "drop_oldest"} or callable
        What `put` does when a subscriber is slow; see :meth:`BusWorkerPlugin.topic`.

    Examples
    --------
    In one task, after ``install(client)`` at the client::

        with Pub("scores") as pub:
            pub.put({"epoch": 1, "score": 0.5})

    and in another::

        with Sub("scores") as sub:
            for message in sub:
                ...
    """

    def __init__(
        self, name: str, worker: Any = None, *, when_full: WhenFull = "block"
    ) -> None:
        options = TopicOptions(when_full=when_full)
        super().__init__(name, worker, options, PUBLISHER)

    def put(self, msg: Any, timeout_s: float | None = None) -> None:
        """Send `msg` to every Sub that is there; see :meth:`Topic.publish`."""
        self._topic.publish(msg, timeout_s=timeout_s)

    @property
    def subscribers(self) -> dict[str, dict[str, Any]]:
        """The workers that have a Sub."""
        members = self._topic.members().values()
        return {member.address: {} for member in members if member.meta["end"] == "Sub"}


class Sub(_End):
    """Receives the messages of every :class:`Pub` of the same name, on any worker.

    Parameters
    ----------
    name : str
        What publishers and subscribers have in common.
    worker : distributed.Worker, optional
        By default the one that runs the calling task.
    """

    def __init__(self, name: str, worker: Any = None) -> None:
        super().__init__(name, worker, TopicOptions(), SUBSCRIBER)

    def get(self, timeout: float | str | None = None) -> Any:
        """Return the next message.

        Parameters
        ----------
        timeout : float or str, optional
            Seconds, or a text such as ``"200ms"``. By default as long as the Sub is
            open.

        Raises
        ------
        StepTimeoutError
            Nothing came in time. A TimeoutError.
        BusClosedError
            The Sub was closed or its worker is closing.
        """
        limit_s = None if timeout is None else parse_timedelta(timeout)
        deadline = float("inf") if limit_s is None else time.monotonic() + limit_s
        while True:
            left_s = deadline - time.monotonic()
            event = self._topic.get(max(0.0, min(WAIT_SLICE_S, left_s)))
            if isinstance(event, Message):
                return event.data
            if event is None and left_s <= 0:
                raise StepTimeoutError(
                    f"Sub {self.name!r}: a message must come within {limit_s:g} s, "
                    "none did."
                )

    next = __next__ = get

    async def get_async(self, timeout: float | str) -> Any:
        """Return the next message, in a coroutine; see :meth:`get`."""
        return await asyncio.to_thread(self.get, timeout)

    def __iter__(self) -> "Sub":
        return self
