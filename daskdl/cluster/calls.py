"""Calls from the client to workers: each has its own limit, and fails alone.

Dask's own ways to reach several workers at once (``Client.run`` on all, ``scatter``
with ``broadcast``, ``register_plugin``) end with the first worker that dies meanwhile,
and wait without end for one that is stopped.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from distributed import Client, KilledWorker

from daskdl.errors import WorkerLostError

LOOK_EVERY_S = 0.5
# A nanny brings a worker back within seconds, an adaptive cluster within a minute.
NO_WORKER_TIMEOUT_S = 60.0
# What a call to a worker that went ends with, on every Python.
GONE = (OSError, asyncio.TimeoutError)


@dataclass(frozen=True)
class Answers:
    """What workers answered.

    Attributes
    ----------
    values : dict
        What came back, by address.
    failed : dict
        The errors of workers that could not do it, by address.
    silent : frozenset of str
        Workers that are there and did not answer in time. Whoever is nowhere went.
    """

    values: dict[str, Any] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()


async def call_each(
    client: Client,
    function: Callable[..., Any],
    arguments: Mapping[str, tuple[Any, ...]],
    timeout_s: float,
) -> Answers:
    """Run a function on the event loop of each worker. On the client's event loop.

    Parameters
    ----------
    client : Client
    function : callable
        May take ``dask_worker``.
    arguments : mapping of str to tuple
        Addresses to what each worker gets.
    timeout_s : float
        How long a worker may take.

    Notes
    -----
    A call to a dead worker tries to connect for 30 s; it is given up as soon as the
    scheduler knows that the worker is gone.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    calls = {
        address: asyncio.ensure_future(_call(client, function, given, address))
        for address, given in arguments.items()
    }
    waiting = set(calls)
    try:
        while waiting and loop.time() < deadline:
            await asyncio.wait(
                [calls[address] for address in waiting],
                timeout=min(LOOK_EVERY_S, timeout_s),
            )
            waiting = {address for address in waiting if not calls[address].done()}
            if waiting:
                waiting &= (await client.nthreads()).keys()
    finally:
        for call in calls.values():
            call.cancel()
        ends = await asyncio.gather(*calls.values(), return_exceptions=True)
    return _sorted(dict(zip(calls, ends, strict=True)), frozenset(waiting))


async def _call(
    client: Client, function: Callable[..., Any], given: tuple[Any, ...], address: str
) -> Any:
    answers = await client.run(function, *given, workers=[address], on_error="return")
    # Without an answer: the scheduler did not know the worker any more.
    return answers.get(address, ConnectionError(f"{address} is gone"))


def _sorted(ends: Mapping[str, Any], silent: frozenset[str]) -> Answers:
    answers = Answers(silent=silent)
    for address, end in ends.items():
        if isinstance(end, (*GONE, asyncio.CancelledError)):
            continue
        if isinstance(end, Exception):
            answers.failed[address] = end
        else:
            answers.values[address] = end
    return answers


def gather_all(client: Client, who: str, futures: Sequence[Any]) -> list[Any]:
    """Return the results of plain tasks, which Dask runs again when a worker goes.

    Parameters
    ----------
    client : Client
    who : str
        Whose tasks they are, for messages.
    futures : sequence of Future

    Raises
    ------
    WorkerLostError
        When no worker is left, or a task took too many with it.
    Exception
        Whatever ended a task.
    """
    try:
        results: list[Any] = client.sync(_gather, client, who, futures)
    except KilledWorker as error:
        raise WorkerLostError(
            f"{who}: a task must not take its worker with it, one did again and again "
            "and was given up. Did the workers run out of memory? Write smaller parts, "
            "or give the workers more."
        ) from error
    return results


async def _gather(client: Client, who: str, futures: Sequence[Any]) -> list[Any]:
    gathering = asyncio.ensure_future(client.gather(futures, asynchronous=True))
    last_seen_s = time.monotonic()
    try:
        while not (await asyncio.wait({gathering}, timeout=LOOK_EVERY_S))[0]:
            if await client.nthreads():
                last_seen_s = time.monotonic()
            elif time.monotonic() - last_seen_s > NO_WORKER_TIMEOUT_S:
                raise WorkerLostError(
                    f"{who}: at least one worker must be left, got none for "
                    f"{NO_WORKER_TIMEOUT_S:g} s. Start workers, and try again."
                )
        return list(gathering.result())
    finally:
        gathering.cancel()
        await asyncio.gather(gathering, return_exceptions=True)
