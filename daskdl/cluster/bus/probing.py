"""A worker's versions of Python and daskdl, asked before daskdl is sent to it.

A task that a worker cannot load breaks its connection to the scheduler in new versions
of Dask, and the worker ends. A call does not. Code that travels as byte code means
something else to another Python, so that is asked first, by a function that every
Python has under the same name.
"""

import asyncio
import importlib.metadata
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from daskdl.cluster.bus.protocol import PLUGIN_NAME
from daskdl.cluster.calls import LOOK_EVERY_S, OnWaiting, call_each
from daskdl.cluster.silent_workers import LOOKS, SilentWorkers, heartbeats

UNKNOWN = "unknown"
# Whoever was silent for so long before it is asked is not waited for.
LONG_SILENCE_S = 30.0


@dataclass(frozen=True)
class Probed:
    """Answers of workers that were asked for their versions of Python and daskdl.

    Attributes
    ----------
    able : frozenset of str
        Who has the same Python and daskdl.
    wrong : dict of str to str
        Who has not, and in words what instead.
    silent : frozenset of str
        Who is there and did not answer in time, or was silent long before.
    stopped : frozenset of str
        Of these, who was silent long before, and was not asked.
    """

    able: frozenset[str]
    wrong: dict[str, str]
    silent: frozenset[str]
    stopped: frozenset[str] = frozenset()


def installed_version() -> str:
    """Return daskdl's version and the bus's protocol."""
    try:
        version = importlib.metadata.version("daskdl")
    except importlib.metadata.PackageNotFoundError:
        version = UNKNOWN  # uploaded as a directory: compare the protocol only
    return f"{version} ({PLUGIN_NAME})"


def travelling_probe() -> Callable[[], str]:
    """Return :func:`installed_version` as code, which loads where daskdl is missing."""

    def probe() -> str:
        try:
            from daskdl.cluster.bus.probing import installed_version
        except ImportError as error:
            return f"not importable: {error}"
        return installed_version()

    return probe


def wrong_python(found: str) -> str | None:
    """Return how a worker's version of Python differs from ours; None if it does not.

    Only the first two numbers matter.
    """
    here = platform.python_version()
    if found.split(".")[:2] == here.split(".")[:2]:
        return None
    return f"Python {found}, here {here}"


def wrong_daskdl(found: str) -> str | None:
    """Return how a worker's daskdl differs from ours; None if it does not."""
    here = installed_version()
    return None if found == here else f"daskdl {found}, here {here}"


async def probe_each(
    client: Any,
    addresses: Iterable[str],
    timeout_s: float,
    on_waiting: OnWaiting | None = None,
) -> Probed:
    """Ask workers whether they have the same Python and daskdl.

    Parameters
    ----------
    client : Client
    addresses : iterable of str
        Whom to ask.
    timeout_s : float
        How long a worker may take, for Python and then for daskdl.
    on_waiting : callable, optional
        See :func:`daskdl.cluster.calls.call_each`.
    """
    silent = stopped = await _long_silent(client, addresses)
    able = frozenset(addresses) - stopped
    wrong: dict[str, str] = {}
    for function, judge in (
        (platform.python_version, wrong_python),
        (travelling_probe(), wrong_daskdl),
    ):
        answers = await call_each(
            client, function, dict.fromkeys(able, ()), timeout_s, on_waiting
        )
        judged = {address: judge(found) for address, found in answers.values.items()}
        wrong |= {address: text for address, text in judged.items() if text}
        wrong |= {address: repr(error) for address, error in answers.failed.items()}
        silent |= answers.silent
        able = frozenset(answers.values).difference(wrong)
    return Probed(able, wrong, silent, stopped)


async def _long_silent(client: Any, addresses: Iterable[str]) -> frozenset[str]:
    """Return workers that are stopped, as the scheduler's heartbeats of them tell.

    They are looked at again and again: a scheduler that was stopped itself has none of
    anybody when it goes on.
    """
    asked, judge = frozenset(addresses), SilentWorkers(LONG_SILENCE_S)
    silent: list[str] = []
    for look in range(LOOKS):
        if look:
            await asyncio.sleep(LOOK_EVERY_S)
        beats = await client.run_on_scheduler(heartbeats)
        if all(beats[one].silence_s <= LONG_SILENCE_S for one in asked & beats.keys()):
            return frozenset()
        silent = judge.judge(asked, beats)
    return frozenset(silent)


async def probe_scheduler(client: Any) -> str | None:
    """Return how the scheduler's versions differ from ours; None if they do not."""
    python = await client.run_on_scheduler(platform.python_version)
    return wrong_python(python) or wrong_daskdl(
        await client.run_on_scheduler(travelling_probe())
    )
