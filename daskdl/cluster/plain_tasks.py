"""Tasks that Dask repeats when a worker is lost, moved from stuck workers too.

A worker that is stopped keeps its tasks until the scheduler's ``worker-ttl`` is over,
five minutes if nobody changed it; and a worker that joins without daskdl is given
tasks that it cannot load, which ends it in new versions of Dask. So tasks go to workers
that said that they have daskdl, newcomers included, and leave those that fall silent,
or that Dask has paused.
"""

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from distributed import CancelledError, Client, Future, KilledWorker

from daskdl.checks import some
from daskdl.cluster.bus.probing import installed_version, probe_each
from daskdl.cluster.calls import LOOK_EVERY_S, OnWaiting, name_waiting
from daskdl.cluster.full_memory import DeathsInARow, FullMemory, told_by_nannies
from daskdl.cluster.missing_workers import start_missing_again
from daskdl.cluster.paused_workers import PausedWorkers, held_tasks, paused_among
from daskdl.cluster.placement import (
    allow_workers,
    cancel,
    erred_on,
    release_late,
)
from daskdl.cluster.silent_workers import Heartbeat, SilentWorkers, heard, heartbeats
from daskdl.cluster.worker_changes import WorkerChanges
from daskdl.cluster.worker_wait import WorkerWait
from daskdl.data.sources.partition import Partition
from daskdl.errors import ClusterError, WorkerLostError

logger = logging.getLogger(__name__)

# A nanny brings a worker back within seconds, an adaptive cluster within a minute.
NO_WORKER_TIMEOUT_S = 60.0
# Longer than anything that keeps a worker's event loop from its heartbeats.
SILENT_LIMIT_S = 30.0
# Longer than memory takes to be freed that is only waiting for it.
PAUSED_LIMIT_S = 30.0

# Futures tell of their end in threads that stay, or to a gather; so they are asked.
ASK_AGAIN_S = 0.02
# Then no more newcomers are asked: it may be the task.
MOST_FAILURES = 3
# So often others may restart all workers while the same tasks run.
MOST_RESTARTS = 10
# Until the scheduler knows that a worker is gone whose calls fail.
GONE_WITHIN_S = 2.0
# How long a worker may take to import daskdl for the first time.
ANSWER_TIMEOUT_S = 30.0

_ADVICE = "Did the workers run out of memory? Write smaller parts, or give them more."

# Submits the tasks of these numbers, to run on these workers and no others.
Submit = Callable[[Sequence[int], list[str]], Sequence[Any]]


class _TasksMustMoveError(Exception):
    """Some tasks will not end where they are. Never leaves this module."""

    def __init__(self, numbers: Sequence[int] | None = None) -> None:
        super().__init__(numbers)
        self.numbers = numbers  # None: all that have no result


class _WorkersDieError(Exception):
    """Many workers went before a task ended. Never leaves this module."""


@dataclass
class _Where:
    """The workers where tasks may run, and those where they may not."""

    silence: SilentWorkers
    paused: PausedWorkers
    at_start: frozenset[str]
    allowed: list[str]
    left_out: set[str]
    memory: FullMemory
    deaths: DeathsInARow
    changes: WorkerChanges = field(default_factory=WorkerChanges)
    # How often a task failed where it ran, of those that came since the start.
    failures: Counter[int] = field(default_factory=Counter)
    restarts: int = 0
    told_paused: set[str] = field(default_factory=set)
    told_gone: set[str] = field(default_factory=set)
    # Of those that are left out, who may go on: it is asked again when it is heard of.
    unheard: set[str] = field(default_factory=set)
    asking: "asyncio.Task[list[str]] | None" = None
    # In words, of a worker that went because of its memory.
    was_full: str = ""


def run_tasks(
    client: Client,
    who: str,
    n_tasks: int,
    submit: Submit,
    *,
    scanned: Sequence[Partition] = (),
    changes: WorkerChanges | None = None,
) -> list[Any]:
    """Return the results of `n_tasks` plain tasks, in order.

    Parameters
    ----------
    client : Client
        A synchronous client.
    who : str
        Whose tasks they are, for messages.
    n_tasks : int
    submit : callable
        Called with numbers of tasks and the workers that may run them; returns their
        futures. Called again for tasks that must run elsewhere.
    scanned : sequence of Partition, optional
        What each task reads, if it does nothing else.
    changes : WorkerChanges, optional
        Who goes and comes is added to it.

    Raises
    ------
    WorkerLostError
        When no worker is left, or a task took too many with it, or the memory of many
        was full before a task ended.
    ClusterError
        When no worker has the same daskdl.
    Exception
        Whatever ended a task, unless on a worker that came since: then others do it,
        and from the third time on those that were there from the start.
    """
    where = _start(client, who, changes or WorkerChanges(), has_batches=not scanned)
    given: list[Any] = []
    try:
        return _run(client, who, n_tasks, submit, scanned, where, given)
    except BaseException:
        # The traceback holds the futures, and so the cluster would hold the tasks.
        give_up(client, given)
        raise


def _run(
    client: Client,
    who: str,
    n_tasks: int,
    submit: Submit,
    scanned: Sequence[Partition],
    where: _Where,
    given: list[Any],
) -> list[Any]:
    """Run the tasks of :func:`run_tasks`; append all their futures to `given`."""
    generation = client.generation
    futures = list(submit(range(n_tasks), where.allowed))
    given += futures
    while True:
        try:
            results: list[Any] = client.sync(_gather, client, who, futures, where)
        except _TasksMustMoveError as must:
            moving = must.numbers or _without_result(client, futures, where)
            workers = where.allowed
        except _WorkersDieError as error:
            moving = _without_result(client, futures, where)
            if why := told_by_nannies(client) or where.was_full:
                culprit = scanned[moving[0]] if scanned and moving else None
                raise _took_workers(who, culprit, why, where) from error
            workers = where.allowed
        except CancelledError as error:
            moving = _cancelled(client, who, futures, where, error)
            workers = where.allowed
        except KilledWorker as error:
            keys = [future.key for future in futures if isinstance(future, Future)]
            is_known = scanned and error.task in keys
            culprit = scanned[keys.index(error.task)] if is_known else None
            why = told_by_nannies(client) or where.was_full
            raise _took_workers(who, culprit, why, where) from error
        except Exception as error:
            moving = _failed_on_newcomers(client, who, futures, where, error)
            workers = _who_does_better(where, moving)
            if not workers:
                raise
        else:
            # Others may have done the tasks of one that went since the last look.
            _tell_gone(who, {*client.nthreads()} - where.left_out, where)
            _let_go(client, generation, futures, given)
            return results
        given += _replace(client, futures, moving, submit(moving, workers))


def _let_go(
    client: Client, generation: int, futures: list[Any], given: list[Any]
) -> None:
    """Release tasks that have ended."""
    if client.generation != generation:
        # What was submitted amid a restart of the cluster the client would keep.
        cancel(client, given)
    # What was caught may hold the lists, and so the cluster would the tasks.
    futures.clear()
    given.clear()


def _took_workers(
    who: str, culprit: Partition | None, why: str, where: _Where
) -> WorkerLostError:
    which = "one" if culprit is None else f"that for {culprit.name}"
    too_large = "" if culprit is None else culprit.too_large
    advice = f"{why}. {where.memory.advice}. {too_large}".strip() if why else _ADVICE
    return WorkerLostError(
        f"{who}: a task must not take its worker with it, {which} did again and again "
        f"and was given up. {advice}"
    )


def _replace(
    client: Client, futures: list[Any], moving: Sequence[int], again: Sequence[Any]
) -> Sequence[Any]:
    """Cancel the tasks that move, and put those in their place that were submitted."""
    client.cancel([futures[number] for number in moving])
    for number, future in zip(moving, again, strict=True):
        futures[number] = future
    return again


def give_up(client: Client, futures: Sequence[Any]) -> None:
    """Cancel tasks, if the scheduler can still be told."""
    left = [f for f in futures if isinstance(f, Future) and not f.cancelled()]
    if left and client.status == "running":
        # Whatever goes wrong now, what ended the tasks is to be told.
        with contextlib.suppress(Exception):
            cancel(client, left)


def _start(
    client: Client, who: str, changes: WorkerChanges, *, has_batches: bool
) -> _Where:
    there = list(client.nthreads())
    where = _Where(
        SilentWorkers(SILENT_LIMIT_S),
        PausedWorkers(PAUSED_LIMIT_S),
        frozenset(there),
        [],
        set(),
        FullMemory(has_batches=has_batches),
        DeathsInARow(len(there)),
        changes,
    )
    name = name_waiting(who, "the tasks start", ANSWER_TIMEOUT_S)
    asked, deadline = there, time.monotonic() + NO_WORKER_TIMEOUT_S
    while asked and not where.allowed:
        where.allowed = client.sync(_able, client, who, asked, where, name)
        # Somebody may go on while others are waited for.
        beats = client.run_on_scheduler(heartbeats) if where.unheard else {}
        asked = _heard_again(where, beats) if time.monotonic() < deadline else []
    changes.joined += sorted({*changes.left_out}.intersection(where.allowed))
    if not where.allowed and _stay(client, there):
        raise ClusterError(
            f"{who}: a worker must answer, with the client's Python and daskdl "
            f"{installed_version()}, none of {some(there)} did. Install them there, or "
            "start other workers."
        )
    return where


def _stay(client: Client, addresses: Iterable[str]) -> bool:
    """Return whether any of these workers is there, and neither dead nor stopped."""
    deadline = time.monotonic() + GONE_WITHIN_S
    while not heard(client.run_on_scheduler(heartbeats)).isdisjoint(addresses):
        if time.monotonic() > deadline:
            return True
        time.sleep(LOOK_EVERY_S)
    return False


async def _able(
    client: Client,
    who: str,
    addresses: Iterable[str],
    where: _Where,
    on_waiting: OnWaiting | None = None,
) -> list[str]:
    """Return the workers that have the same daskdl; leave out the others."""
    probed = await probe_each(client, addresses, ANSWER_TIMEOUT_S, on_waiting)
    for address, found in sorted(probed.wrong.items()):
        logger.warning(
            "%s: worker %s must have the Python and the daskdl of the client, got: %s. "
            "It is left out.",
            who,
            address,
            found,
        )
    for address in sorted(probed.silent):
        logger.warning(
            "%s: worker %s must answer, it did not. It is left out.", who, address
        )
    if probed.silent:
        # Who is heard of and does not answer would be asked for ever.
        answering = heard(await client.run_on_scheduler(heartbeats))
        where.unheard |= probed.stopped | (probed.silent - answering)
    where.left_out.update(probed.wrong, probed.silent)
    where.changes.left_out += sorted({*probed.wrong, *probed.silent})
    return sorted(probed.able)


def _heard_again(where: _Where, beats: Mapping[str, Heartbeat]) -> list[str]:
    """Return who was left out as it was silent and is heard of again: a newcomer."""
    back = heard(beats) & where.unheard
    where.unheard -= back
    where.left_out -= back
    return sorted(back)


async def _gather(
    client: Client, who: str, futures: Sequence[Any], where: _Where
) -> list[Any]:
    gathering = asyncio.ensure_future(_results(client, futures))
    last_seen_s = time.monotonic()
    wait = WorkerWait(client, 1)
    try:
        while not (await asyncio.wait({gathering}, timeout=LOOK_EVERY_S))[0]:
            there = set(await client.nthreads()) - where.left_out
            gone = _tell_gone(who, there, where)
            ended = sum(getattr(f, "status", "") == "finished" for f in futures)
            if where.deaths.are_too_many(gone, ended):
                raise _WorkersDieError
            beats = await client.run_on_scheduler(heartbeats)
            where.memory.note(beats)
            there |= {*_heard_again(where, beats)}
            _leave_out_silent(who, there, where, beats)
            paused = paused_among(there & {*where.allowed}, beats)
            is_at_work = await _take_from_paused(
                client, who, futures, there, where, paused
            )
            await _let_newcomers_help(client, who, futures, there, where, paused)
            now = time.monotonic()
            if is_at_work:
                last_seen_s = now
            elif now - last_seen_s > NO_WORKER_TIMEOUT_S:
                raise _no_worker_works(who, paused, where)
            elif not there and wait.look(0, now, last_seen_s + NO_WORKER_TIMEOUT_S):
                start_missing_again(client)
        return list(gathering.result())
    finally:
        tasks = [task for task in (gathering, where.asking) if task is not None]
        where.asking = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _results(client: Client, futures: Sequence[Any]) -> list[Any]:
    # Not gathered before: a gather that is cancelled leaves a coroutine for each future
    # behind, which complains on stderr when that is given up.
    await _ended(futures)
    return list(await client.gather(futures, asynchronous=True))


async def _ended(futures: Sequence[Any]) -> None:
    """Wait until all are finished, or one ended in another way."""
    pending = [future for future in futures if isinstance(future, Future)]
    while pending:
        statuses = {future.status for future in pending}
        if not statuses <= {"pending", "finished"}:
            return
        pending = [future for future in pending if future.status == "pending"]
        if pending:
            await asyncio.sleep(ASK_AGAIN_S)


def _no_worker_works(
    who: str, paused: Mapping[str, str], where: _Where
) -> WorkerLostError:
    if not paused:
        why = where.was_full
        advice = f"{why}. {where.memory.advice}, start" if why else "Start"
        return WorkerLostError(
            f"{who}: at least one worker must be left, got none for "
            f"{NO_WORKER_TIMEOUT_S:g} s. {advice} workers, and try again."
        )
    states = [f"{address} {reason}" for address, reason in sorted(paused.items())]
    return WorkerLostError(
        f"{who}: at least one worker must take tasks, none did for "
        f"{NO_WORKER_TIMEOUT_S:g} s: {some(states)}. Free their memory, give them "
        "more, or start other workers."
    )


def _tell_gone(who: str, there: set[str], where: _Where) -> int:
    """Name workers that went, and count them.

    It is also the only word on a scan before a fit.
    """
    gone = {*where.allowed} - there - where.left_out
    told = len(gone - where.told_gone)
    for address in sorted(gone - where.told_gone):
        why = where.memory.reason(address)
        if why:
            where.was_full = f"The memory of {address} was nearly full when it went"
        logger.warning(
            "%s: %s is gone%s. Its tasks run elsewhere.",
            who,
            address,
            f", {why}" if why else "",
        )
    where.changes.joined += sorted(where.told_gone & there & {*where.allowed})
    where.changes.lost += sorted(gone - where.told_gone)
    # Who comes back to its address, and goes again, is named again.
    where.told_gone = gone
    return told


def _leave_out_silent(
    who: str, there: set[str], where: _Where, beats: Mapping[str, Heartbeat]
) -> None:
    silent = where.silence.judge(there, beats)
    for address in silent:
        logger.warning(
            "%s: %s must give a sign of life in %g s, it did not. Its tasks run "
            "elsewhere.",
            who,
            address,
            where.silence.limit_s,
        )
    where.changes.lost += sorted({*silent} & {*where.allowed})
    where.left_out.update(silent)
    where.unheard.update(silent)
    where.allowed = [a for a in where.allowed if a not in where.left_out]
    if silent and where.allowed:
        raise _TasksMustMoveError


async def _take_from_paused(
    client: Client,
    who: str,
    futures: Sequence[Any],
    there: set[str],
    where: _Where,
    paused: Mapping[str, str],
) -> bool:
    """Move tasks from paused workers; return whether any worker still works."""
    running = there & {*where.allowed} - {*paused}
    late = where.paused.judge(paused)
    if not paused or (running and not late):
        return bool(running)
    held = await client.run_on_scheduler(held_tasks, list(paused))
    keys = {future.key: number for number, future in enumerate(futures)}
    stuck = {a: held[a].waiting & keys.keys() for a in late if a in held}
    if running and any(stuck.values()):
        _tell_paused(who, {a: paused[a] for a, its in stuck.items() if its}, where)
        raise _TasksMustMoveError(
            sorted(keys[key] for its in stuck.values() for key in its)
        )
    return bool(running) or any(each.begun & keys.keys() for each in held.values())


def _tell_paused(who: str, paused: Mapping[str, str], where: _Where) -> None:
    for address in sorted(paused.keys() - where.told_paused):
        logger.warning(
            "%s: %s must begin its tasks in %g s, it %s. They run elsewhere.",
            who,
            address,
            where.paused.limit_s,
            paused[address],
        )
    where.told_paused.update(paused)


async def _let_newcomers_help(
    client: Client,
    who: str,
    futures: Sequence[Any],
    there: set[str],
    where: _Where,
    paused: Iterable[str],
) -> None:
    """Ask newcomers whether they have daskdl, beside the tasks; then let them help."""
    if where.asking is None:
        if new := there - {*where.allowed}:
            asking = _able(client, who, new, where)
            where.asking = asyncio.ensure_future(asking)
        return
    if not where.asking.done():
        return
    able, where.asking = where.asking.result(), None
    are_stranded = not there & {*where.allowed} - {*paused}
    where.changes.joined += sorted({*able} & there)
    where.allowed = sorted({*where.allowed, *able} & there)
    if able and are_stranded:
        raise _TasksMustMoveError
    if able:
        keys = [future.key for future in futures]
        await client.run_on_scheduler(allow_workers, keys, able)


def _without_result(
    client: Client, futures: Sequence[Future], where: _Where
) -> list[int]:
    """Return the numbers of tasks whose results are on no worker that answers."""
    holders = client.who_has(futures)
    return [
        number
        for number, future in enumerate(futures)
        if future.status != "finished"
        or not {*holders.get(future.key, ())} - where.left_out
    ]


def _cancelled(
    client: Client, who: str, futures: Sequence[Any], where: _Where, error: Exception
) -> list[int]:
    """Return the numbers of tasks that somebody cancelled by a restart of the cluster.

    A scheduler that is lost cancels them as well, and soon the client knows of that.
    """
    time.sleep(LOOK_EVERY_S)
    where.restarts += 1
    if client.status != "running" or where.restarts > MOST_RESTARTS:
        raise error
    logger.warning("%s: tasks were cancelled, and are run again: %s", who, error)
    moving = [n for n, future in enumerate(futures) if future.status != "finished"]
    # What was submitted amid the restart the client has forgotten, the scheduler not.
    keys = [futures[number].key for number in moving]
    client.run_on_scheduler(release_late, keys, client.id, wait=False)
    return moving


def _failed_on_newcomers(
    client: Client,
    who: str,
    futures: Sequence[Any],
    where: _Where,
    error: Exception,
) -> list[int]:
    """Return the numbers of tasks that failed where others may do better."""
    keys = {
        future.key: number
        for number, future in enumerate(futures)
        if isinstance(future, Future) and future.status == "error"
    }
    if not keys:
        return []
    culprits: dict[str, list[str]] = client.run_on_scheduler(erred_on, list(keys))
    newcomers = {address for each in culprits.values() for address in each}
    if not all(culprits.values()) or newcomers & where.at_start:
        return []
    for address in sorted(newcomers - where.left_out):
        logger.warning(
            "%s: %s, which came since, must do its tasks, it failed with %r. They run "
            "elsewhere.",
            who,
            address,
            error,
        )
    where.changes.lost += sorted(newcomers - where.left_out)
    where.left_out |= newcomers
    where.allowed = [a for a in where.allowed if a not in where.left_out]
    moving = [keys[key] for key in culprits]
    where.failures.update(moving)
    return moving


def _who_does_better(where: _Where, moving: Sequence[int]) -> list[str]:
    """Return the workers that may repeat tasks which failed on newcomers."""
    if not moving:
        return []
    if max(where.failures[number] for number in moving) < MOST_FAILURES:
        return where.allowed
    return [address for address in where.allowed if address in where.at_start]
