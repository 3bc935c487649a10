"""Two real workers of this machine, to hold a prediction against."""

import os
from dataclasses import dataclass

from benchmarks.peers import OURS, Setting, Sizes, start_cluster
from benchmarks.rounds import Contender, Pace, Turn, measure
from benchmarks.serve.shapes import CONTROL, SCALING, TWO

_ROUNDS = 3


@dataclass(frozen=True)
class Measured:
    """Medians of some rounds.

    Attributes
    ----------
    net : str
        The network.
    alone_ms, two_ms : float
        A minibatch of each of two processes: that share nothing, and that train
        together.
    sent_kib : float
        Of each worker in a minibatch, in KiB.
    minibatches : int
        Of each worker, in a fit.
    """

    net: str
    alone_ms: float
    two_ms: float
    sent_kib: float
    minibatches: int


def measure_two(net: str) -> Measured:
    """Train a network on two workers, as the work "scaling" does.

    Raises
    ------
    PeerError
        If the workers do not start.
    """
    cores = frozenset(os.sched_getaffinity(0))
    with start_cluster(Setting(1, cores, {}, None, Sizes())) as child:
        found = measure({OURS: child}, SCALING, net, Pace(_ROUNDS, 0.0, 0.0), ())
    alone, two = (found.turns[Contender(OURS, form)] for form in (CONTROL, TWO))
    facts = two[0].facts
    sent = sum(turn.facts["bytes"] for turn in two) / len(two)
    return Measured(
        net,
        _training_ms(alone),
        _training_ms(two),
        sent / facts["workers"] / facts["minibatches"] / 1024,
        int(facts["minibatches"]),
    )


def _training_ms(turns: list[Turn]) -> float:
    times = sorted(turn.facts["training_s"] for turn in turns)
    return times[len(times) // 2] * 1e3 / turns[0].facts["minibatches"]
