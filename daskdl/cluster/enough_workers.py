"""Wait for the workers that were asked for, and ask an adaptive cluster for them.

An adaptive cluster, which Dask calls so, starts workers for tasks that wait. A fit has
none before it has workers: so it submits some that no worker can run.
"""

import logging
import math
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import dask
from dask.utils import parse_timedelta
from distributed import Client

from daskdl.cluster.calls import GONE
from daskdl.cluster.missing_workers import start_missing_again
from daskdl.cluster.placement import cancel
from daskdl.cluster.worker_selection import WorkerSelection

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 0.2
TELL_EVERY_S = 5.0
# A resource that no worker has.
_NOWHERE = {"daskdl-asks-for-workers": 1}

Tell = Callable[[str], None]


@contextmanager
def enough_workers(
    client: Client,
    wanted: Sequence[str] | int | None,
    resources: Mapping[str, float] | None,
    timeout_s: float,
    tell: Tell,
) -> Iterator[None]:
    """Wait until there are as many workers as were asked for, or one.

    A cluster that has workers, but none of those addresses, or none that offers what is
    needed, is not waited for: something is misspelt.

    Parameters
    ----------
    client : Client
        A synchronous client.
    wanted, resources
        As :class:`~daskdl.cluster.worker_selection.WorkerSelection` takes them.
    timeout_s : float
        How long they may take.
    tell : callable
        Told every few seconds what is waited for.

    Raises
    ------
    WorkerLostError
        When there is no worker at all in time.
    OptionError
        When the cluster does not have what was asked for.
    """
    selection = WorkerSelection(client, wanted, resources or {})
    if selection.is_met():
        yield
        return
    # Until the block ends: an adaptive cluster takes back what has nothing to do.
    with ask_for(client, selection.n_wanted):
        _wait(client, selection, timeout_s, tell)
        yield


def log_waiting(doing: str) -> None:
    """Log what is waited for, where nobody listens."""
    logger.warning("%s", doing[0].upper() + doing[1:])


def _wait(
    client: Client, selection: WorkerSelection, timeout_s: float, tell: Tell
) -> None:
    end_s = time.monotonic() + timeout_s
    tell_s = -math.inf
    while not selection.is_met():
        now = time.monotonic()
        # In this order: a worker that comes in between is found.
        there = client.nthreads()
        found = selection.suitable()
        if now > end_s or (there and not found):
            selection.check(found, found, {})
            return
        if now > tell_s:
            tell_s = now + TELL_EVERY_S
            start_missing_again(client)
            tell(
                f"waiting for workers: {selection.n_wanted} must be there, "
                f"{len(found)} are; {end_s - now:.0f} s more at most"
            )
        time.sleep(LOOK_EVERY_S)


@contextmanager
def ask_for(client: Client, n_workers: int) -> Iterator[None]:
    """Have an adaptive cluster keep so many workers, as long as the block runs.

    It expects that a task which it never saw takes half a second, and wants one worker
    for every five seconds of work.
    """
    config = dask.config.get
    per_task_s = parse_timedelta(config("distributed.scheduler.unknown-task-duration"))
    per_worker_s = parse_timedelta(config("distributed.adaptive.target-duration"))
    threads = max(client.nthreads().values(), default=1)
    name = f"daskdl-asks-{uuid.uuid4().hex}"
    asks: list[Any] = [
        client.submit(int, key=f"{name}-{number}", resources=_NOWHERE, pure=False)
        for number in range(n_workers * threads * math.ceil(per_worker_s / per_task_s))
    ]
    try:
        yield
    finally:
        # Whatever ended the block is to be told.
        with suppress(*GONE, RuntimeError):
            cancel(client, asks)
