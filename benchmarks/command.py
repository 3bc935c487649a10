"""The command: which works, which peers, how long, and where results go."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from rich.console import Console

from benchmarks import table
from benchmarks.child import Child, PeerError
from benchmarks.machine import quiet_cores
from benchmarks.peers import COMMANDS, LIMIT, OTHER, OURS, Setting, start
from benchmarks.ratios import Clock
from benchmarks.results import Limit, Row, row
from benchmarks.rounds import Pace, measure
from benchmarks.serve.limit import PRODUCTS
from benchmarks.serve.shapes import FIT, NETS, OUTPUT


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    options = _parser().parse_args(arguments)
    console = Console()
    cores = {options.core} if options.core is not None else quiet_cores(options.threads)
    setting = Setting(options.threads, frozenset(cores), {}, options.against)
    peers = options.peers.split(",")
    if options.against:
        peers.insert(1, OTHER)
    clock: Clock = "cpu" if options.threads == 1 else "wall"
    pace = Pace(options.rounds, options.seconds, options.warm_up)
    with ExitStack() as stack:
        children: dict[str, Child] = {}
        for peer in [*peers, LIMIT]:
            try:
                children[peer] = stack.enter_context(start(peer, setting))
            except PeerError as error:
                console.print(f"{peer}: {error}")
        rows = list(
            _rows(options.names or list(NETS), children, pace, peers, clock, console)
        )
    table.show(console, rows, [peer for peer in peers if peer != OURS])


def _rows(
    names: Sequence[str],
    children: dict[str, Child],
    pace: Pace,
    peers: Sequence[str],
    clock: Clock,
    console: Console,
) -> Iterator[Row]:
    limits = [("sgemm", "best", name) for name in PRODUCTS]
    for name in names:
        for what in (FIT, OUTPUT):
            measurement = measure(children, name, what, pace, limits)
            for peer, reason in measurement.failures.items():
                console.print(f"{name} {what}: {peer}: {reason}")
            by_variant = {
                f"sgemm {shape}": float(product.flops(OUTPUT))
                for shape, product in PRODUCTS.items()
            }
            limit = Limit("Gflop/s", float(NETS[name].flops(what)), by_variant)
            result = row(measurement, peers, clock, limit)
            if result is not None:
                yield result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help="works; default all")
    parser.add_argument(
        "--peers", default=",".join(p for p in COMMANDS if p not in (OTHER, LIMIT))
    )
    parser.add_argument(
        "--against", metavar="FOLDER", help="another checkout of daskdl"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3, help="of a turn")
    parser.add_argument("--warm-up", type=float, default=0.5, help="seconds")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--core", type=int, help="default: the quietest")
    return parser
