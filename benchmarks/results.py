"""The rows of the table: ours, ratios to the peers, share of the machine's limit."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.goals import goal
from benchmarks.peers import LIMIT, OURS
from benchmarks.ratios import (
    Clock,
    Spread,
    best,
    best_rates,
    milliseconds,
    ratio,
    spread,
)
from benchmarks.rounds import Measurement, Turn


@dataclass(frozen=True)
class Ratio:
    """Ours by a peer's.

    Parameters
    ----------
    peer, variant : str
        Whose, and in which form it was fastest.
    theirs : Spread
        In the unit of the row.
    ratio : Spread
        By the clock of the run, paired within rounds.
    wall : Spread or None
        By the other clock, where there are two.
    goal : float or None
        The largest that is good enough.
    """

    peer: str
    variant: str
    theirs: Spread
    ratio: Spread
    wall: Spread | None
    goal: float | None


@dataclass(frozen=True)
class Share:
    """Our part of what the machine can do.

    Parameters
    ----------
    of : str
        What is asked of the machine.
    rate : float
        Its best, in 1e9 operations or bytes a second; the median of the rounds.
    share : Spread
        Between 0 and 1.
    goal : float or None
        The smallest that is good enough.
    """

    of: str
    rate: float
    share: Spread
    goal: float | None


@dataclass(frozen=True)
class Row:
    """All about one work.

    Parameters
    ----------
    case, what : str
        The work.
    unit : str
        Of `ours` and `theirs`.
    ours : Spread
        What daskdl needed.
    ratios : tuple of Ratio
        A peer each.
    share : Share or None
        Where the work has a limit.
    goal : float or None
        The largest of `ours` that is good enough, where that is known without peers.
    others : float
        Cores that other processes kept busy: the median of all turns.
    run : int
        The number of its run, where several are joined; else 0.
    """

    case: str
    what: str
    unit: str
    ours: Spread
    ratios: tuple[Ratio, ...] = ()
    share: Share | None = None
    goal: float | None = None
    others: float = 0.0
    run: int = 0


@dataclass(frozen=True)
class Limit:
    """What a work would need if the machine gave all it has.

    Parameters
    ----------
    of : str
        Printed beside the rate.
    amount : float
        Operations or bytes in a call of the work.
    """

    of: str
    amount: float


def row(
    measurement: Measurement,
    peers: Sequence[str],
    clock: Clock,
    limit: Limit | None = None,
) -> Row | None:
    """Return what a measurement says, or None if ours is not in it."""
    own = best(measurement, OURS, clock)
    if own is None:
        return None
    case, what = measurement.case, measurement.what
    ours = measurement.turns[own]
    # Goals are of one thread, where CPU time counts.
    has_goals = clock == "cpu"
    ratios = []
    for peer in peers:
        form = best(measurement, peer, clock)
        if form is None or peer in (OURS, LIMIT):
            continue
        theirs = measurement.turns[form]
        ratios.append(
            Ratio(
                peer,
                form.variant,
                spread(theirs, clock),
                ratio(ours, theirs, clock),
                ratio(ours, theirs, "wall") if clock == "cpu" else None,
                goal(case, what, peer) if has_goals else None,
            )
        )
    every = [turn.others for turns in measurement.turns.values() for turn in turns]
    return Row(
        case,
        what,
        "ms",
        spread(ours, clock),
        tuple(ratios),
        None if limit is None else _share(measurement, ours, limit, clock),
        goal=goal(case, what, "") if has_goals else None,
        others=statistics.median(every),
    )


def _share(
    measurement: Measurement, ours: Sequence[Turn], limit: Limit, clock: Clock
) -> Share | None:
    machine = [form for form in measurement.turns if form.peer == LIMIT]
    if not machine:
        return None
    rates = best_rates(measurement, machine, clock)
    shares = [
        limit.amount / milliseconds(turn, clock) / rate
        for turn, rate in zip(ours, rates, strict=True)
    ]
    return Share(
        limit.of,
        statistics.median(rates) / 1e6,
        Spread.of(shares),
        goal(measurement.case, measurement.what, "limit") if clock == "cpu" else None,
    )
