"""Let peers take turns, round by round, so that a change of load meets all of them."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.child import Child, PeerError
from benchmarks.machine import busy_s, process_s
from benchmarks.peers import PEERS
from benchmarks.serve.shapes import JOB

# Compiling kernels for the first time takes a minute, a build of XLA's seconds.
_ANSWER_TIMEOUT_S = 180.0
# A job of a peer may take a quarter of an hour, which it ends by itself.
_JOB_TIMEOUT_S = 960.0


@dataclass(frozen=True)
class Contender:
    """A peer, and the form of the work it is timed in: a layout, or "" for none."""

    peer: str
    variant: str = ""


@dataclass(frozen=True)
class Turn:
    """What a contender needed in one round.

    Parameters
    ----------
    wall_ms, cpu_ms : float
        A call, on average.
    calls : int
        How many there were.
    others : float
        How many cores other processes kept busy meanwhile.
    facts : mapping of str to float
        Figures of the last call besides its time.
    """

    wall_ms: float
    cpu_ms: float
    calls: int
    others: float
    facts: Mapping[str, float] = field(default_factory=dict)


@dataclass
class Measurement:
    """The turns of all contenders in one work, by round."""

    case: str
    what: str
    turns: dict[Contender, list[Turn]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Pace:
    """How long to measure.

    Parameters
    ----------
    rounds : int
        Turns of each contender.
    turn_s, warm_up_s : float
        Seconds of a turn, at least a call, and of calls before the first that do not
        count; 0 for none.
    """

    rounds: int
    turn_s: float
    warm_up_s: float

    def times(self, share: float, most_rounds: int) -> "Pace":
        """Return the same with shorter turns, and no more than so many of them."""
        rounds = min(self.rounds, most_rounds)
        return Pace(rounds, self.turn_s * share, self.warm_up_s * share)


def measure(
    children: Mapping[str, Child],
    case: str,
    what: str,
    pace: Pace,
    limits: Sequence[tuple[str, str, str]] = (),
    tell: Callable[[str], None] = lambda line: None,
) -> Measurement:
    """Time a work with all peers that offer it.

    Parameters
    ----------
    children : mapping of str to Child
        The peers.
    case, what : str
        The work.
    pace : Pace
        How long.
    limits : sequence of (case, what, variant)
        What the machine can do: works of other names that take turns with this one.
    tell : callable
        Gets a line when a contender begins to warm up.

    Returns
    -------
    Measurement
        A peer that failed is in `failures`, and none of its turns count.
    """
    result = Measurement(case, what)
    works = {
        Contender(peer, variant): (case, what, variant)
        for peer, child in children.items()
        for variant in variants(child, case, what)
    }
    works |= {
        Contender(peer, f"{name} {variant}"): (name, of, variant)
        for name, of, variant in limits
        for peer, child in children.items()
        if variant in variants(child, name, of)
    }
    for contender, work in works.items():
        tell(f"{case} {what}: {contender.peer} {contender.variant}".rstrip())
        if pace.warm_up_s > 0:
            seconds = pace.warm_up_s * PEERS[contender.peer].warm_ups
            _turn(result, children, contender, work, seconds)
    for number in range(pace.rounds):
        # There and back: whoever is first in one round is last in the next.
        order = list(works) if number % 2 == 0 else list(works)[::-1]
        for contender in order:
            turn = _turn(result, children, contender, works[contender], pace.turn_s)
            if turn is not None:
                result.turns.setdefault(contender, []).append(turn)
    for contender in [c for c in result.turns if c.peer in result.failures]:
        del result.turns[contender]
    return result


def variants(child: Child, case: str, what: str) -> list[str]:
    """Return the forms in which a peer offers a work."""
    return [
        variant for a, b, variant in child.greeting["offers"] if (a, b) == (case, what)
    ]


def _turn(
    result: Measurement,
    children: Mapping[str, Child],
    contender: Contender,
    work: tuple[str, str, str],
    seconds: float,
) -> Turn | None:
    if contender.peer in result.failures:
        return None
    case, what, variant = work
    child = children[contender.peer]
    try:
        own, all_, began = process_s(child.pid), busy_s(), time.monotonic()
        line = f"{case} {what} {seconds:g} {variant}"
        limit_s = _JOB_TIMEOUT_S if case == JOB else _ANSWER_TIMEOUT_S
        answer = child.ask(line, seconds * 4 + limit_s)
        wall_s = time.monotonic() - began
        others = busy_s() - all_ - (process_s(child.pid) - own)
    except (PeerError, OSError) as error:
        result.failures[contender.peer] = str(error)
        return None
    return Turn(
        answer["wall_ms"],
        answer["cpu_ms"],
        answer["calls"],
        max(0.0, others) / wall_s,
        answer.get("facts", {}),
    )
