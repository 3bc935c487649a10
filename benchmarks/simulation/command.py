"""Predict how training scales: the real rules of both masters, on a simulated clock.

Workers, lines and the time of messages are modelled; see --help for each figure. Costs
of messages are those of LeNet in docs/design/0035. With --epochs the workers learn the
digits; without it nothing is learned, and messages are their sizes.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

from rich.console import Console
from rich.table import Table

from benchmarks.simulation.learning import learned
from benchmarks.simulation.measured import Measured, measure_two
from benchmarks.simulation.run import Outcome, Simulation
from benchmarks.simulation.setting import AVERAGING, MESH, PLAIN, SHARED, Costs, Setting
from daskdl.errors import OptionError

# What is an option of its own name, with the default of the setting.
_NUMBERS = {
    "step_ms": "of a minibatch on a worker, in milliseconds",
    "jitter": "standard deviation of a step, as a share of it",
    "latency_ms": "of a line, in milliseconds",
    "bandwidth_mbit": "of each host's line, in 1e6 bits a second",
    "workers_per_host": "workers that share the line of a host",
    "minibatches": "of each worker, where nothing is learned",
    "batch_size": "examples of a minibatch",
    "n_params": "parameters of the network, where nothing is learned",
    "message_kib": "of a worker's update, in KiB, where nothing is learned",
    "averaging_frequency": "minibatches between two averagings",
    "notice_s": "seconds until others know of a death",
    "seed": "of steps, minibatches and networks",
}


def main(arguments: Sequence[str]) -> None:
    """Simulate, and print a table.

    Parameters
    ----------
    arguments : sequence of str
        The words of the command line after ``simulate``.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    console = Console()
    try:
        if options.measure:
            _show_measured(console, measure_two(options.measure), _settings(options)[0])
        else:
            _show(console, _settings(options), options.epochs)
    except OptionError as error:
        parser.error(str(error))


def _show(console: Console, settings: Sequence[Setting], epochs: int) -> None:
    title = "Simulated" if epochs else "Simulated, nothing learned"
    table = Table(*_header(epochs), title=title)
    began_s = time.perf_counter()
    for setting in settings:
        console.print(f"{setting.workers} workers", style="dim")
        table.add_row(*_row(setting, epochs))
    console.print(table)
    took_s = time.perf_counter() - began_s
    console.print(f"{took_s:.1f} s; seed {settings[0].seed}.", highlight=False)


def _header(epochs: int) -> Iterator[str]:
    yield from ("workers", "examples/s", "of n alone", "ms a minibatch")
    yield from ("KiB sent a minibatch", "between hosts", "late, mean", "late, most")
    if epochs:
        yield "accuracy"


def _row(setting: Setting, epochs: int) -> Iterator[str]:
    if epochs:
        outcome, accuracy = learned(setting, epochs)
    else:
        outcome, accuracy = Simulation(setting).run(), None
    yield str(setting.workers)
    yield f"{outcome.per_s:,.0f}"
    yield f"{outcome.efficiency:.2f}"
    yield f"{outcome.step_ms:.1f}"
    yield f"{outcome.kib_a_minibatch:,.1f}"
    yield f"{outcome.crossed_kib_a_minibatch:,.1f}"
    yield f"{outcome.mean_late:.2f}"
    yield str(outcome.most_late)
    if accuracy is not None:
        yield f"{accuracy:.3f}"


def _show_measured(console: Console, found: Measured, setting: Setting) -> None:
    """Hold a prediction for two workers against two processes of this machine."""
    predicted = predict(found, setting)
    table = Table("two workers", "simulated", "measured", "ratio", title=found.net)
    rows = [
        ("ms a minibatch", predicted.step_ms, found.two_ms),
        ("KiB sent a minibatch", predicted.kib_a_minibatch, found.sent_kib),
        ("of two alone", predicted.efficiency, found.alone_ms / found.two_ms),
    ]
    for name, ours, theirs in rows:
        table.add_row(name, f"{ours:.3g}", f"{theirs:.3g}", f"{ours / theirs:.2f}")
    console.print(table)
    console.print(
        f"A step of {found.alone_ms:.3g} ms, of two processes that share nothing, and "
        "the size of messages are measured and put in. More workers than cores would "
        "say nothing: they take turns, as none does in a simulation.",
        highlight=False,
    )


def predict(found: Measured, setting: Setting) -> Outcome:
    """Return what a simulation says of two workers whose steps were measured."""
    two = replace(
        setting,
        workers=2,
        master=SHARED,
        topology=PLAIN,
        step_ms=found.alone_ms,
        message_kib=found.sent_kib,
        minibatches=found.minibatches,
        stragglers=(),
        deaths=(),
    )
    return Simulation(two).run()


def _settings(options: argparse.Namespace) -> list[Setting]:
    """Return a setting for each number of workers; all are checked before one runs."""
    costs = Costs(**{f.name: getattr(options, f.name) for f in fields(Costs)})
    values = {name: getattr(options, name) for name in _NUMBERS}
    return [
        Setting(
            workers=workers,
            master=options.master,
            topology=options.topology,
            stragglers=options.straggler,
            deaths=options.deaths,
            overlap=options.overlap,
            costs=costs,
            **values,
        )
        for workers in options.workers
    ]


def _counts(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def _stragglers(text: str) -> tuple[float, ...]:
    factor, _, count = text.partition("x")
    return (float(factor),) * int(count or 1)


def _deaths(text: str) -> tuple[tuple[int, float], ...]:
    pairs = [word.split("@") for word in text.split(",")]
    return tuple((int(rank), float(second)) for rank, second in pairs)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks simulate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--workers",
        type=_counts,
        default=[2, 4, 8, 64],
        metavar="N,N,...",
        help="a row each; default: 2,4,8,64",
    )
    add("--master", choices=(SHARED, AVERAGING), default=SHARED)
    add(
        "--topology",
        choices=(PLAIN, MESH),
        default=PLAIN,
        help="updates go to all, or over a tree; default: %(default)s",
    )
    add(
        "--overlap",
        action="store_true",
        help="of averaging: train on while a round is under way",
    )
    add(
        "--straggler",
        type=_stragglers,
        default=(),
        metavar="FACTORxCOUNT",
        help="4x1: one worker, the last, takes four times as long",
    )
    add(
        "--deaths",
        type=_deaths,
        default=(),
        metavar="RANK@SECOND,...",
        help="who dies when; what is left of its minibatches is not dealt again",
    )
    add(
        "--epochs",
        type=int,
        default=0,
        help="of the digits; 0 learns nothing; default: %(default)s",
    )
    add(
        "--measure",
        metavar="NET",
        choices=("lenet", "mlp"),
        help="train this on two real workers as well, and print both",
    )
    _add_numbers(parser)
    return parser


def _add_numbers(parser: argparse.ArgumentParser) -> None:
    defaults = {f.name: f.default for f in fields(Setting)}
    for name, what in _NUMBERS.items():
        _add_number(parser, name, defaults[name], what)
    for cost in fields(Costs):
        what = "of a message: see benchmarks/simulation/setting.py"
        _add_number(parser, cost.name, cost.default, what)


def _add_number(
    parser: argparse.ArgumentParser, name: str, default: object, what: str
) -> None:
    parser.add_argument(
        f"--{name.replace('_', '-')}",
        type=type(default),
        default=default,
        metavar="X",
        help=f"{what}; default: %(default)s",
    )
