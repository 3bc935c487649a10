"""``python -m benchmarks parallel``: one machine, against what it is to reach."""

import argparse
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.parallel.asking import (
    SWAPS,
    alone_per_s,
    asked,
    lost_in_swaps,
    network_of,
    rows_of,
)
from benchmarks.parallel.training import independent_per_s, minibatches_per_s
from benchmarks.serve.shapes import SCALED
from daskdl import ParallelInference

# What each is given beside the workers. DL4J's tutorial of several devices averages
# this network after every third minibatch.
WAYS: dict[str, dict[str, Any]] = {
    "averaging": {"training_mode": "averaging"},
    "averaging every third": {"training_mode": "averaging", "averaging_frequency": 3},
    "shared_gradients": {"training_mode": "shared_gradients"},
}
CONTROL = "processes of their own"


@dataclass(frozen=True)
class Figure:
    """What was measured, in each round, and what it is to be at least or at most."""

    what: str
    rounds: Sequence[float]
    unit: str
    least: float | None = None
    most: float | None = None

    @property
    def median(self) -> float:
        """The middle of the rounds."""
        return statistics.median(self.rounds)

    @property
    def verdict(self) -> str:
        """Whether the goal is reached; empty without one."""
        if self.least is not None:
            word = "reached" if self.median >= self.least else "missed"
            return f"{word}: >= {self.least:g}"
        if self.most is not None:
            word = "reached" if self.median <= self.most else "missed"
            return f"{word}: <= {self.most:g}"
        return ""

    def cells(self) -> tuple[str, str, str, str]:
        """Return the row of a table: what, the median, the range, the goal."""
        low, high = min(self.rounds), max(self.rounds)
        return (
            self.what,
            f"{self.median:.4g} {self.unit}".rstrip(),
            f"{low:.4g} - {high:.4g}",
            self.verdict,
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words of the command line behind ``parallel``.
    """
    options = _parser().parse_args(arguments)
    table = Table(
        "what", "median", "rounds", "goal", title=f"One machine, {options.net}"
    )
    for figure in [*_inference(options), *_training(options)]:
        table.add_row(*figure.cells())
    Console().print(table)


def _inference(options: argparse.Namespace) -> Iterator[Figure]:
    n, seconds = options.clients, options.seconds
    network, rows = network_of(options.net), rows_of(options.net, n)
    alone, together, late_ms = [], [], []
    with ParallelInference(network, batch_limit=options.batch_limit) as inference:
        asked(inference.output, rows, seconds / 2)
        for _ in range(options.rounds):
            alone.append(alone_per_s(network, rows, seconds))
            waits_s = asked(inference.output, rows, seconds)
            together.append(sum(map(len, waits_s)) / seconds)
            waits_s = asked(inference.output, rows, seconds, together[-1] / 2)
            late_ms.append(float(np.percentile(np.concatenate(waits_s), 99)) * 1e3)
    ratios = [many / one for many, one in zip(together, alone, strict=True)]
    yield Figure("one thread calls output", alone, "requests/s")
    yield Figure(f"{n} threads ask ParallelInference", together, "requests/s")
    yield Figure("times as many", ratios, "", least=3.0)
    yield Figure("99 % at half of that load within", late_ms, "ms", most=20.0)
    lost = lost_in_swaps([network, network_of(options.net)], rows)
    yield Figure(f"lost or wrong in {SWAPS} swaps", [lost], "answers", most=0)


def _training(options: argparse.Namespace) -> Iterator[Figure]:
    net = options.net
    sizes = {"minibatches": options.minibatches, "batch": options.batch}
    ways: dict[str, Callable[[int], float]] = {
        f"ParallelWrapper, {name}": partial(minibatches_per_s, net, given, **sizes)
        for name, given in WAYS.items()
    }
    ways[CONTROL] = partial(independent_per_s, net, **sizes)
    # In turn: the machine is not as fast in one minute as in the next.
    rounds = [
        {way: (measure(1), measure(2)) for way, measure in ways.items()}
        for _ in range(options.rounds)
    ]
    for way in ways:
        one, two = zip(*(rates[way] for rates in rounds), strict=True)
        ratios = [many / few for few, many in zip(one, two, strict=True)]
        yield Figure(f"{way}, one", one, "minibatches/s")
        yield Figure(f"{way}, two", two, "minibatches/s")
        goal = None if way == CONTROL else 1.8
        yield Figure("times as many", ratios, "", least=goal)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks parallel", description=__doc__
    )
    add = parser.add_argument
    add("--net", choices=SCALED, default=SCALED[0], help="default: %(default)s")
    add("--clients", type=int, default=64, help="threads; default: %(default)s")
    add("--batch-limit", type=int, default=32, help="default: %(default)s")
    add("--rounds", type=int, default=3, help="default: %(default)s")
    add("--seconds", type=float, default=2.0, help="default: %(default)s")
    add(
        "--minibatches",
        type=int,
        default=100,
        help="of a worker in an epoch; default: %(default)s",
    )
    add("--batch", type=int, help="examples of a minibatch; default: of the network")
    return parser
