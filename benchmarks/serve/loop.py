"""What the process of a peer does: answer one line of JSON to each line it reads.

It begins with a line that says what it can time. Then each line ``CASE WHAT SECONDS
VARIANT`` is answered by how long a call took, and what the process held before the
first one. Nothing but the standard library is
imported here: peers have interpreters of their own, with what they need and no more.
"""

import json
import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TextIO

Offers = list[tuple[str, str, str]]


@dataclass(frozen=True)
class Work:
    """What is timed, what is done before each call, and figures other than times.

    `facts` may change from call to call. `cpu_s` reads the clock of CPU time: that of
    this process, unless others do the work.
    """

    call: Callable[[], object]
    prepare: Callable[[], object] | None = None
    facts: Mapping[str, float] = field(default_factory=dict)
    cpu_s: Callable[[], float] = time.process_time


@dataclass(frozen=True)
class Answer:
    """Milliseconds a call by both clocks, and the facts."""

    calls: int
    wall_ms: float
    cpu_ms: float
    facts: Mapping[str, float]


def serve(
    versions: Mapping[str, str],
    offers: Offers,
    make: Callable[[str, str, str], Work],
) -> None:
    """Answer until standard input ends.

    Parameters
    ----------
    versions : mapping of str to str
        Of what is measured; printed beside the figures.
    offers : list of (case, what, variant)
        All that `make` knows.
    make : callable
        Takes an offer and returns what to time; called once for each.
    """
    replies = _claim_standard_output()
    works: dict[tuple[str, str, str], Work] = {}
    held: dict[tuple[str, str, str], float] = {}
    _reply(replies, {"versions": dict(versions), "offers": offers})
    for line in sys.stdin:
        case, what, seconds, variant = line.rstrip("\n").split(" ")
        key = (case, what, variant)
        try:
            if key not in works:
                works[key] = make(*key)
                held[key] = begin_peak()
            answer = {
                **asdict(timed(works[key], float(seconds))),
                "held_mib": held[key],
            }
        except Exception as error:  # noqa: BLE001 - the other works go on
            answer = {"error": f"{type(error).__name__}: {error}"}
        _reply(replies, answer)


def begin_peak() -> float:
    """Return the resident memory in MiB, and let the system forget the peak so far.

    Not a number where there is no ``/proc``.
    """
    try:
        with open("/proc/self/clear_refs", "w") as forget:
            forget.write("5")
    except OSError:
        return math.nan
    return _status_mib("VmRSS:")


def peak_mib() -> float:
    """Return the most that was resident since then."""
    return _status_mib("VmHWM:")


def _status_mib(name: str) -> float:
    try:
        with open("/proc/self/status") as status:
            (line,) = (line for line in status if line.startswith(name))
    except OSError:
        return math.nan
    return int(line.split()[1]) / 1024


def timed(work: Work, seconds: float) -> Answer:
    """Call until the calls took so many seconds, at least once."""
    wall = cpu = 0.0
    calls = 0
    while calls == 0 or wall < seconds:
        if work.prepare is not None:
            work.prepare()
        cpu_before = work.cpu_s()
        wall_before = time.perf_counter()
        work.call()
        wall += time.perf_counter() - wall_before
        cpu += work.cpu_s() - cpu_before
        calls += 1
    return Answer(calls, wall / calls * 1e3, cpu / calls * 1e3, work.facts)


def _claim_standard_output() -> TextIO:
    # What a library prints goes to standard error, and cannot break the protocol.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return replies


def _reply(replies: TextIO, answer: Mapping[str, object]) -> None:
    replies.write(json.dumps(answer) + "\n")
    replies.flush()
