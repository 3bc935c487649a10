"""``python -m benchmarks learning``: what replicas learn by a rule of sharing."""

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.learning.lockstep import Learned, learned
from benchmarks.learning.tasks import TASKS
from daskdl.cluster.masters.options import training_master


def main(arguments: Sequence[str]) -> None:
    """Train replicas in step, and print a row for each number of them.

    Parameters
    ----------
    arguments : sequence of str
        The words behind ``learning``.
    """
    options = _parser().parse_args(arguments)
    table = Table("task", "workers", "quarter", "end", "message", "of dense")
    for cells in _rows(options):
        table.add_row(*cells)
    Console().print(table)


def _rows(options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    master = training_master(options.master, options.options)
    for name in options.task:
        task = TASKS[name]()
        for n in options.workers:
            runs = [
                learned(master, task, n, seed, options.delay)
                for seed in range(options.seeds)
            ]
            yield (name, str(n), *_cells(runs))


def _cells(runs: Sequence[Learned]) -> tuple[str, str, str, str]:
    quarter, end, sent = (
        float(np.mean([getattr(run, what) for run in runs]))
        for what in ("quarter", "end", "message_bytes")
    )
    is_alone = np.isnan(sent)
    return (
        f"{quarter:.1%}",
        f"{end:.1%}",
        "" if is_alone else f"{sent:.0f} bytes",
        "" if is_alone else f"1/{runs[0].dense_bytes / sent:.0f}",
    )


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def _names(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in TASKS:
            raise argparse.ArgumentTypeError(
                f"must be of {', '.join(TASKS)}, got {name!r}"
            )
    return names


def _plain(text: str) -> dict[str, Any]:
    options: dict[str, Any] = json.loads(text)
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks learning", description=__doc__
    )
    add = parser.add_argument
    add("--task", type=_names, default=list(TASKS), help="default: all")
    add("--workers", type=_numbers, default=[1, 2, 4, 8], help="default: 1,2,4,8")
    add("--master", choices=("shared", "averaging"), default="shared")
    add(
        "--options",
        type=_plain,
        default={},
        metavar="JSON",
        help='of the master, as a job file has them, e.g. {"warm_up": 0}',
    )
    add("--seeds", type=int, default=3, help="of which a row is the mean; default: 3")
    add("--delay", type=int, default=0, help="rounds that a message is late; default 0")
    return parser
