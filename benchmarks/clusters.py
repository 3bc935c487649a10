"""The rows of works on two workers: scaling, data beyond memory, whole jobs."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from benchmarks.goals import goal
from benchmarks.peers import CONTROL_PROCESSES, ONE_WORKER, OURS, PLAIN_SCAN, SPARK
from benchmarks.ratios import Spread
from benchmarks.results import Row, row
from benchmarks.rounds import Contender, Measurement, Turn
from benchmarks.serve.shapes import (
    CONTROL,
    DATA,
    DL4J_SPARK,
    JOB,
    ONE,
    SCALING,
    SCAN,
    TWO,
)

# The forms of a work, and the column that each is in.
_PEERS = {
    "": OURS,
    TWO: OURS,
    ONE: ONE_WORKER,
    CONTROL: CONTROL_PROCESSES,
    SCAN: PLAIN_SCAN,
    DL4J_SPARK: SPARK,
}

Figure = Callable[[Turn], float]


def cluster_rows(measurement: Measurement) -> Iterator[Row]:
    """Yield what a work on two workers took, beside its other forms.

    Parameters
    ----------
    measurement : Measurement
        Of our turns, whose variants are the forms.
    """
    turns = {
        Contender(_PEERS[form.variant]): turns
        for form, turns in measurement.turns.items()
    }
    if Contender(OURS) in turns:
        by_form = Measurement(measurement.case, measurement.what, turns)
        yield from _ROWS[measurement.case](by_form)


def _scaling_rows(measurement: Measurement) -> Iterator[Row]:
    """Yield figures of a minibatch of a worker: those of one alone are the best."""
    net = measurement.what

    def training(turn: Turn) -> float:
        return turn.facts["training_s"] * 1e3 / turn.facts["minibatches"]

    def whole(turn: Turn) -> float:
        return turn.wall_ms / turn.facts["minibatches"]

    def cpu(turn: Turn) -> float:
        return turn.cpu_ms / turn.facts["minibatches"] / turn.facts["workers"]

    def sent(turn: Turn) -> float:
        n_minibatches = turn.facts["minibatches"] * turn.facts["workers"]
        return turn.facts["bytes"] / n_minibatches / 1024

    yield _compared(measurement, f"{net}, training", training)
    yield _compared(measurement, f"{net}, whole fit", whole)
    yield _compared(measurement, f"{net}, CPU time", cpu)
    yield _own(measurement, f"{net}, sent", "KiB a minibatch", sent)


def _data_rows(measurement: Measurement) -> Iterator[Row]:
    what = measurement.what

    def training(turn: Turn) -> float:
        # A scan is nothing else.
        return turn.facts.get("training_s", turn.wall_ms / 1e3) * 1e3

    yield _compared(measurement, what, training)
    yield _compared(measurement, "whole fit", lambda turn: turn.wall_ms)
    yield _compared(measurement, "whole fit, CPU time", lambda turn: turn.cpu_ms)
    yield _own(
        measurement,
        f"{what}, rate",
        "MB/s",
        lambda turn: turn.facts["bytes"] / 1e3 / training(turn),
    )
    yield _own(
        measurement, "loads of a part", "times", lambda turn: turn.facts["loads"]
    )
    yield _own(
        measurement, "a worker", "MiB on top", lambda turn: turn.facts["on_top_mib"]
    )


def _job_rows(measurement: Measurement) -> Iterator[Row]:
    what = measurement.what
    # A peer that does more than the job tells its time for it.
    yield _compared(
        measurement,
        f"{what}, all",
        lambda turn: turn.facts.get("whole_s", turn.wall_ms / 1e3) * 1e3,
    )
    yield _compared(
        measurement, f"{what}, an example", lambda turn: 1e3 / turn.facts["per_s"]
    )
    yield _own(
        measurement, f"{what}, warm", "examples/s", lambda turn: turn.facts["per_s"]
    )


def _compared(measurement: Measurement, what: str, milliseconds: Figure) -> Row:
    """Return a row of one figure of the turns of all forms."""
    turns = {
        form: [
            # The workers are others, too.
            replace(turn, wall_ms=milliseconds(turn), others=0.0)
            for turn in turns
        ]
        for form, turns in measurement.turns.items()
    }
    peers = [form.peer for form in turns]
    # A clock has been chosen by what the figure is.
    figures = row(Measurement(measurement.case, what, turns), peers, "wall")
    if figures is None:
        raise ValueError(f"{measurement.case}: there must be turns of ours.")
    return figures


def _own(measurement: Measurement, what: str, unit: str, figure: Figure) -> Row:
    figures = [figure(turn) for turn in measurement.turns[Contender(OURS)]]
    own = goal(measurement.case, what, "")
    return Row(measurement.case, what, unit, Spread.of(figures), goal=own)


_ROWS = {SCALING: _scaling_rows, DATA: _data_rows, JOB: _job_rows}
