"""Wait for the workers that were asked for, and ask an adaptive cluster for them.

An adaptive cluster, which Dask calls so, starts workers for tasks that wait. A fit has
none before it has workers: so it submits some that no worker can run.
"""

import itertools
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
from daskdl.cluster.worker_wait import WorkerWait
from daskdl.errors import WorkerLostError

LOOK_EVERY_S = 0.2
# A resource that no worker has.
_NOWHERE = {"daskdl-asks-for-workers": 1}


@contextmanager
def enough_workers(
    client: Client,
    wanted: Sequence[str] | int | None,
    resources: Mapping[str, float] | None,
    timeout_s: float,
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
        How long they may take to come.

    Raises
    ------
    WorkerLostError
        When as many did not come in time.
    OptionError
        When the cluster does not have what was asked for.
    """
    selection = WorkerSelection(client, wanted, resources or {})
    if selection.is_met():
        yield
        return
    # Until the block ends: an adaptive cluster takes back what has nothing to do.
    with asked_for(client, selection.n_wanted) as ask_again:
        _wait(client, selection, timeout_s, ask_again, needs=bool(resources))
        yield


def _wait(
    client: Client,
    selection: WorkerSelection,
    timeout_s: float,
    ask_again: Callable[[], None],
    *,
    needs: bool,
) -> None:
    end_s = time.monotonic() + timeout_s
    wait = WorkerWait(client, selection.n_wanted)
    while not selection.is_met():
        now = time.monotonic()
        # In this order: a worker that comes in between is found.
        there = client.nthreads()
        found = selection.suitable()
        is_over = now > end_s
        if (there and not found) or (is_over and there and needs):
            selection.check(found, found, {})
            return
        if is_over:
            raise _too_few(client, selection.n_wanted, len(found), timeout_s)
        if wait.look(len(found), now, end_s):
            ask_again()
        time.sleep(LOOK_EVERY_S)
    wait.end(len(selection.suitable()))


def _too_few(
    client: Client, wanted: int, found: int, timeout_s: float
) -> WorkerLostError:
    address = "" if client.scheduler is None else client.scheduler.address
    where = f" at {address}" if address else ""
    start = f"Start them with `dask worker {address}`" if address else "Start them"
    fewer = ", or ask for fewer" if found else ""
    return WorkerLostError(
        f"Cluster{where}: must have at least {wanted} worker{'s' if wanted > 1 else ''}"
        f" within {timeout_s:g} s, got {found}. {start}{fewer}."
    )


@contextmanager
def asked_for(client: Client, n_workers: int) -> Iterator[Callable[[], None]]:
    """Have an adaptive cluster keep so many workers, as long as the block runs.

    It expects that a task which it never saw takes half a second, and wants one worker
    for every five seconds of work.

    Yields
    ------
    ask_again : callable
        Asks again, a local cluster included, as long as they do not come: what was
        asked is lost when somebody restarts the cluster, and too little where the first
        that comes has more threads than those of before. Such a cluster would take back
        the others while they start.
    """
    config = dask.config.get
    per_task_s = parse_timedelta(config("distributed.scheduler.unknown-task-duration"))
    per_worker_s = parse_timedelta(config("distributed.adaptive.target-duration"))
    per_thread = math.ceil(per_worker_s / per_task_s)
    name, numbers = f"daskdl-asks-{uuid.uuid4().hex}", itertools.count()
    asks: list[Any] = []

    def submit() -> None:
        asks[:] = [ask for ask in asks if ask.status == "pending"]
        threads = max(client.nthreads().values(), default=1)
        for _ in range(n_workers * threads * per_thread - len(asks)):
            key = f"{name}-{next(numbers)}"
            asks.append(client.submit(int, key=key, resources=_NOWHERE, pure=False))

    def ask_again() -> None:
        submit()
        start_missing_again(client)

    try:
        submit()
        yield ask_again
    finally:
        # Whatever ended the block is to be told.
        with suppress(*GONE, RuntimeError):
            cancel(client, asks)
