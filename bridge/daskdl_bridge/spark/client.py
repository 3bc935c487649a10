"""The Dask cluster of a Spark program: one that runs, or one on this machine."""

import contextlib
import logging
import sys
import threading
from collections.abc import Iterator
from typing import Any

from distributed import Client

from daskdl.checks import check_count
from daskdl.cluster.connect import ClusterOptions
from daskdl.cluster.connect import connect as connected
from daskdl.nn.fitting.minute_progress import minutes_on_stderr
from daskdl_bridge.spark.running_clusters import running, session_key
from daskdl_bridge.spark.session import setting

__all__ = ["SCHEDULER_SETTING", "SCHEDULER_VARIABLE", "connect"]

logger = logging.getLogger(__name__)

# Of blocks that are not at their end, by session: estimators within one train there.
_OPEN: dict[str, Client] = {}

SCHEDULER_SETTING = "spark.daskdl.scheduler"
SCHEDULER_VARIABLE = "DASK_SCHEDULER_ADDRESS"


@contextlib.contextmanager
def connect(session: Any, *, workers: int | None = None) -> Iterator[Client]:
    """Open a client on the Dask cluster that goes with a Spark session.

    Within another block of this function, or of
    :func:`daskdl_bridge.spark.cluster.cluster`, that is the block's own. Else its
    scheduler's address is in the environment's ``DASK_SCHEDULER_ADDRESS`` or in the
    session's ``spark.daskdl.scheduler``. Without both a cluster is started on this
    machine, and ended with the block. Fits in the block write a line a minute to
    stderr, unless a prompt or a notebook shows them or logging is set up.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
    workers : int, optional
        How many workers to start on this machine, one a core if not given; or how many
        must be there at least.

    Yields
    ------
    distributed.Client
        Also the current one within the block.

    Raises
    ------
    OptionError
        If `workers` is no count.
    SchedulerUnreachableError
        If no scheduler answers at the address.
    """
    if workers is not None:
        check_count("connect", "workers", workers)
    with (
        _opened(session, workers) as client,
        client.as_current(),
        minutes_on_stderr(),
    ):
        key = session_key(session)
        before = _OPEN.get(key)
        _OPEN[key] = client
        try:
            yield client
        finally:
            _OPEN.pop(key)
            if before is not None:
                _OPEN[key] = before


@contextlib.contextmanager
def _opened(session: Any, workers: int | None = None) -> Iterator[Client]:
    inside = running(session)
    there = _OPEN.get(session_key(session)) if inside is None else inside.client()
    if there is not None:
        yield there
        return
    scheduler = setting(session, SCHEDULER_SETTING, SCHEDULER_VARIABLE)
    options = ClusterOptions(scheduler=scheduler, workers=workers)
    if scheduler is None:
        logger.warning(
            "no Dask cluster is named by %s or %s: workers are started on this machine",
            SCHEDULER_VARIABLE,
            SCHEDULER_SETTING,
        )
    with _script_once(), connected(options) as client:
        yield client


class SharedClients:
    """One client for fits that run at the same time, as those of a CrossValidator."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[int, tuple[contextlib.ExitStack, Client]] = {}
        self._users: dict[int, int] = {}

    @contextlib.contextmanager
    def of(self, session: Any) -> Iterator[Client]:
        """Open the client of a session, or take the one that is open."""
        number = id(session)
        with self._lock:
            if number not in self._open:
                stack = contextlib.ExitStack()
                self._open[number] = stack, stack.enter_context(_opened(session))
                stack.enter_context(minutes_on_stderr())
            self._users[number] = self._users.get(number, 0) + 1
            client = self._open[number][1]
        try:
            # Of this thread: another one may close the client.
            with client.as_current():
                yield client
        finally:
            with self._lock:
                self._users[number] -= 1
                if not self._users[number]:
                    self._open.pop(number)[0].close()


@contextlib.contextmanager
def _script_once() -> Iterator[None]:
    """Keep processes that are started from running the user's script again.

    Programs for ``spark-submit`` do not guard what they do by ``__name__``, and the
    workers need nothing of them: functions travel by value.
    """
    main = sys.modules["__main__"]
    held = {name: main.__dict__.pop(name) for name in _OF_SCRIPT if name in vars(main)}
    main.__spec__ = None
    try:
        yield
    finally:
        vars(main).update(held)


# What multiprocessing looks at to find the script.
_OF_SCRIPT = ("__file__", "__spec__")
