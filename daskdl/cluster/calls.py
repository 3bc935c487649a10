"""Calls from the client to workers: each has its own limit, and fails alone.

Dask's own ways to reach several workers at once (``Client.run`` on all, ``scatter``
with ``broadcast``, ``register_plugin``) end with the first worker that dies meanwhile,
and wait without end for one that is stopped.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from distributed import Client
from distributed.protocol.pickle import dumps, loads

from daskdl.checks import some
from daskdl.cluster.log_filters import asked_often
from daskdl.cluster.shared_objects import (
    NotHere,
    SharedObjects,
    is_on_this_machine,
    share_objects,
)

LOOK_EVERY_S = 0.5
# What a call to a worker that went ends with, on every Python.
GONE = (OSError, asyncio.TimeoutError)
# Who has not answered after so long is named, while it is still waited for.
NAMED_AFTER_S = 5.0

OnWaiting = Callable[[list[str]], None]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answers:
    """The answers of workers: values, errors, and the silent ones.

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


def name_waiting(who: str, start: str, timeout_s: float) -> OnWaiting:
    """Return a function that logs the workers whose answers are waited for."""

    def name(addresses: list[str]) -> None:
        logger.warning(
            "%s: workers must answer before %s, %s do not yet. They are waited for, "
            "%g s at most.",
            who,
            start,
            some(addresses),
            timeout_s,
        )

    return name


async def call_each(
    client: Client,
    function: Callable[..., Any],
    arguments: Mapping[str, tuple[Any, ...]],
    timeout_s: float,
    on_waiting: OnWaiting | None = None,
    *,
    is_large: bool = False,
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
    on_waiting : callable, optional
        Told once, after a few seconds, who has not answered yet.
    is_large : bool
        Whether arguments may be megabytes: they are put where the worker finds them
        before the function, which must take ``dask_worker`` and be no coroutine, is
        called there.

    Notes
    -----
    A call to a dead worker tries to connect for 30 s; it is given up as soon as the
    scheduler knows that the worker is gone.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    named_s = loop.time() + NAMED_AFTER_S
    ask = _call_with_large if is_large else _call
    calls = {
        address: asyncio.ensure_future(ask(client, function, given, address))
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
            if waiting and on_waiting is not None and loop.time() > named_s:
                on_waiting(sorted(waiting))
                on_waiting = None
    finally:
        for call in calls.values():
            call.cancel()
        ends = await asyncio.gather(*calls.values(), return_exceptions=True)
    return _sorted(dict(zip(calls, ends, strict=True)), frozenset(waiting))


async def call_first(
    client: Client,
    function: Callable[..., Any],
    arguments: Mapping[str, tuple[Any, ...]],
    timeout_s: float,
    next_after_s: float,
) -> Any:
    """Return what the first worker answers, or None. On the client's event loop.

    Parameters
    ----------
    client, function, arguments, timeout_s
        As of :func:`call_each`.
    next_after_s : float
        They are asked in their order, the next one when those before have not answered
        for so long, or cannot.
    """
    calls: list[asyncio.Task[Answers]] = []
    try:
        for address, given in arguments.items():
            one = call_each(client, function, {address: given}, timeout_s)
            calls.append(asyncio.ensure_future(one))
            if (value := await _first_value(calls, next_after_s)) is not None:
                return value
        return await _first_value(calls, timeout_s)
    finally:
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


async def _first_value(calls: Iterable["asyncio.Task[Answers]"], limit_s: float) -> Any:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + limit_s
    waiting = {call for call in calls if not call.done()}
    while waiting and (left_s := deadline - loop.time()) > 0:
        done, waiting = await asyncio.wait(
            waiting, timeout=left_s, return_when=asyncio.FIRST_COMPLETED
        )
        for call in done:
            for value in call.result().values.values():
                if value is not None:
                    return value
    return None


async def _call(
    client: Client, function: Callable[..., Any], given: tuple[Any, ...], address: str
) -> Any:
    answers = await client.run(function, *given, workers=[address], on_error="return")
    # Without an answer: the scheduler did not know the worker any more.
    return answers.get(address, ConnectionError(f"{address} is gone"))


async def _call_with_large(
    client: Client, function: Callable[..., Any], given: tuple[Any, ...], address: str
) -> Any:
    # A string, as which the arguments of a call travel, is copied several times on
    # three event loops: 40 MB in 0.3 s. An array that is stored is not: 0.2 s; through
    # memory of this machine 0.03.
    if is_on_this_machine(address):
        answer = await _call_with_shared(client, function, given, address)
        if not isinstance(answer, NotHere):
            return answer
    pickled = np.frombuffer(dumps(given), np.uint8)
    try:
        stored = await client.scatter(
            [pickled], workers=[address], hash=False, direct=False, timeout=0
        )
    except Exception as error:  # noqa: BLE001
        # It is gone or paused: a plain call finds out which.
        logger.info("%s did not store an argument: %r", address, error)
        return await _call(client, function, given, address)
    return await _call(client, _with_stored, (function, stored[0].key), address)


@asked_often
def _with_stored(function: Callable[..., Any], key: str, dask_worker: Any) -> Any:
    # Unpickled here: numbers get memory of their own, whose borders kernels need.
    given = loads(memoryview(dask_worker.data[key]))
    return function(*given, dask_worker=dask_worker)


async def _call_with_shared(
    client: Client, function: Callable[..., Any], given: tuple[Any, ...], address: str
) -> Any:
    shared = share_objects(given)
    if shared is None:
        return NotHere()
    try:
        return await _call(client, _with_shared, (function, shared), address)
    finally:
        shared.unlink()


@asked_often
def _with_shared(
    function: Callable[..., Any], shared: SharedObjects, dask_worker: Any
) -> Any:
    given = shared.load()
    if isinstance(given, NotHere):
        return given
    return function(*given, dask_worker=dask_worker)


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
