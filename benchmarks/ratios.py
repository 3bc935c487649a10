"""From turns to figures: ratios within rounds, rates of the machine at its best."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.rounds import Contender, Measurement, Turn
from benchmarks.serve.limit import AMOUNT

Clock = Literal["cpu", "wall"]


@dataclass(frozen=True)
class Spread:
    """The smallest, middle and largest of some figures."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> "Spread":
        """Return the spread of at least one figure."""
        return cls(min(figures), statistics.median(figures), max(figures))


def milliseconds(turn: Turn, clock: Clock) -> float:
    """Return how long a call took."""
    return turn.cpu_ms if clock == "cpu" else turn.wall_ms


def spread(turns: Sequence[Turn], clock: Clock) -> Spread:
    """Return the milliseconds of a call."""
    return Spread.of([milliseconds(turn, clock) for turn in turns])


def ratio(ours: Sequence[Turn], theirs: Sequence[Turn], clock: Clock) -> Spread:
    """Return our time by theirs, within each round: below 1 where we are faster."""
    return Spread.of(
        [
            milliseconds(our, clock) / milliseconds(their, clock)
            for our, their in zip(ours, theirs, strict=True)
        ]
    )


def best(measurement: Measurement, peer: str, clock: Clock) -> Contender | None:
    """Return the form in which a peer is fastest, or None if it was not timed."""
    forms = [contender for contender in measurement.turns if contender.peer == peer]
    return min(
        forms,
        key=lambda form: spread(measurement.turns[form], clock).median,
        default=None,
    )


def best_rates(
    measurement: Measurement, contenders: Sequence[Contender], clock: Clock
) -> list[float]:
    """Return what the machine did at best in each round.

    Parameters
    ----------
    measurement : Measurement
        With turns of the contenders.
    contenders : sequence of Contender
        Works that ask all of the machine. What a call of one amounts to, in operations
        or bytes, is among its facts.
    clock : {"cpu", "wall"}
        Which time counts.

    Returns
    -------
    list of float
        Amount a millisecond, a number a round.
    """
    rates = [
        [
            turn.facts[AMOUNT] / milliseconds(turn, clock)
            for turn in measurement.turns[contender]
        ]
        for contender in contenders
    ]
    return [max(of_round) for of_round in zip(*rates, strict=True)]
