"""``python -m benchmarks learning``: what replicas learn with a training master."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.learning.lockstep import learned
from benchmarks.learning.picture import svg
from benchmarks.learning.replicas import Learned
from benchmarks.learning.tasks import TASKS, Task
from daskdl.cluster.masters.options import MASTERS, training_master

ALONE = "one process"


def main(arguments: Sequence[str]) -> None:
    """Train replicas in step, and print a row for each number of them.

    Parameters
    ----------
    arguments : sequence of str
        The words behind ``learning``.
    """
    options = _parser().parse_args(arguments)
    table = Table(
        *("task", "master", "workers", "quarter", "end", "message bytes", "of dense")
    )
    curves: dict[tuple[str, int], dict[str, list[float]]] = {}
    for name in options.task:
        known = TASKS[name]()
        for n in options.workers:
            task = _task(known, n, options)
            for master in options.master:
                runs = _runs(master, task, n, options)
                table.add_row(name, master, str(n), *_cells(runs))
                if n > 1:
                    curves.setdefault((name, n), {})[master] = _mean_scores(runs)
        if options.svg is not None:
            task = _task(known, 1, options)
            alone = _mean_scores(_runs("allreduce", task, 1, options))
            for (of, _), panel in curves.items():
                if of == name:
                    panel[ALONE] = alone
    Console().print(table)
    if options.svg is not None:
        options.svg.write_text(svg(curves))


def _task(task: Task, n: int, options: argparse.Namespace) -> Task:
    batch_size = options.batch_size or task.batch_size
    iterations = task.epochs * ceil(len(task.train[0]) / (n * batch_size))
    return replace(
        task,
        learning_rate=options.rate * task.learning_rate,
        batch_size=batch_size,
        falls_within=iterations if options.falling else 0,
    )


def _runs(name: str, task: Task, n: int, options: argparse.Namespace) -> list[Learned]:
    master = training_master(name, options.options if n > 1 else {})
    return [
        learned(master, task, n, seed, options.delay) for seed in range(options.seeds)
    ]


def _mean_scores(runs: Sequence[Learned]) -> list[float]:
    return [float(mean) for mean in np.mean([run.scores for run in runs], axis=0)]


def _cells(runs: Sequence[Learned]) -> tuple[str, str, str, str]:
    quarter, end, sent = (
        float(np.mean([getattr(run, what) for run in runs]))
        for what in ("quarter", "end", "message_bytes")
    )
    is_alone = np.isnan(sent)
    return (
        f"{quarter:.1%}",
        f"{end:.1%}",
        "" if is_alone else f"{sent:.0f}",
        "" if is_alone else f"{sent / runs[0].dense_bytes:.2%}",
    )


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def _names(text: str, known: Sequence[str]) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(
                f"must be of {', '.join(known)}, got {name!r}"
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
    tasks = list(TASKS)
    add(
        "--task",
        type=lambda text: _names(text, tasks),
        default=["digits", "images", "sequences"],
        help=f"of {', '.join(tasks)}; fashion needs a package",
    )
    add("--workers", type=_numbers, default=[1, 2, 4, 8], help="default: 1,2,4,8")
    add(
        "--master",
        type=lambda text: _names(text, list(MASTERS)),
        default=["shared"],
        help=f"of {', '.join(MASTERS)}; default: shared",
    )
    add(
        "--options",
        type=_plain,
        default={},
        metavar="JSON",
        help='of the master, as a job file has them, e.g. {"warm_up": 0}',
    )
    add("--rate", type=float, default=1.0, help="multiplies the learning rate")
    add("--falling", action="store_true", help="the rate falls to nothing in a line")
    add("--batch-size", type=int, help="examples of a minibatch; default: the task's")
    add("--seeds", type=int, default=3, help="of which a row is the mean; default: 3")
    add(
        "--delay",
        type=int,
        default=0,
        help="minibatches that a message is late, or with overlap a mean; default: 0",
    )
    add("--svg", type=Path, help="a file for curves, with one process beside them")
    return parser
