"""The tables of a run, for a terminal and for a page: one for each kind of work.

Below 1 daskdl is the faster one. A cell has the median of the ratios of the rounds and
the range they lie in, the goal, and what the peer needed.
"""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.peers import OURS, TITLES
from benchmarks.ratios import Spread
from benchmarks.report import Report
from benchmarks.results import Ratio, Row, Share
from benchmarks.serve.layer_shapes import LAYER
from benchmarks.serve.shapes import (
    CODER,
    DATA,
    JOB,
    MEMORY,
    NETS,
    READING,
    SCALING,
    START,
    THRESHOLD,
)

_COLOURS = {True: "green", False: "red", None: ""}
_SECTIONS = {
    READING: "Files to minibatches",
    START: "Start",
    MEMORY: "Memory of a step",
    SCALING: "Two workers, a minibatch of each",
    DATA: "Data larger than memory",
    JOB: "Whole jobs",
    LAYER: "Layers, forward and backward",
}
_ORDER = [*NETS, THRESHOLD, CODER, READING, START, MEMORY, SCALING, DATA, JOB, LAYER]
_STEPS = "Steps, inference, messages"


def show(console: Console, reports: Sequence[Report]) -> None:
    """Print all tables: what reaches its goal in green, what misses it in red.

    Parameters
    ----------
    console : Console
        Where to.
    reports : sequence of Report
        The runs; if there are several, rows tell the number of theirs.
    """
    for line in _headings(reports):
        console.print(line, markup=False, highlight=False)
    for title, rows in _sections(reports):
        peers = _peers(reports, rows)
        table = Table(*_header(peers, rows), title=title)
        for row in rows:
            cells = _cells(peers, rows, row)
            table.add_row(
                *(
                    f"[{colour}]{text}[/]" if colour else text
                    for text, colour in (
                        (cell.text("\n"), cell.colour) for cell in cells
                    )
                )
            )
        console.print(table)
    for line in failures(reports):
        console.print(line, markup=False, highlight=False)


def markdown(reports: Sequence[Report]) -> Iterator[str]:
    """Yield the lines of the same in Markdown."""
    for line in _headings(reports):
        yield from (line, "")
    for title, rows in _sections(reports):
        peers = _peers(reports, rows)
        header = _header(peers, rows)
        yield from (f"### {title}", "")
        yield f"| {' | '.join(header)} |"
        yield "|" + "---|" * len(header)
        for row in rows:
            cells = [cell.text("<br>") for cell in _cells(peers, rows, row)]
            yield f"| {' | '.join(cells)} |"
        yield ""
    for line in failures(reports):
        yield f"- {line}"


def failures(reports: Sequence[Report]) -> Iterator[str]:
    """Yield a line for each thing that was not measured."""
    # Runs without one peer tell of it once.
    for failure in dict.fromkeys(f for report in reports for f in report.failures):
        work = f"{failure.case} {failure.what}".strip()
        where = f"{work}, " if work else ""
        yield f"Not measured: {where}{TITLES[failure.peer]}: {failure.reason}"


class _Cell:
    """Lines, and whether a goal is reached; None without a goal."""

    def __init__(self, *lines: str, reached: bool | None = None) -> None:
        self._lines = [line for line in lines if line]
        self.colour = _COLOURS[reached]

    def text(self, separator: str) -> str:
        return separator.join(self._lines) or "-"


def _headings(reports: Sequence[Report]) -> Iterator[str]:
    for number, report in enumerate(reports, 1):
        if len(reports) > 1:
            yield f"Run {number}:"
        yield from report.heading()


def _sections(reports: Sequence[Report]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the tables in the order of works, whichever run measured them."""
    rows = sorted(
        (row for report in reports for row in report.rows),
        key=lambda row: _ORDER.index(row.case),
    )
    titles = {_SECTIONS.get(row.case, _STEPS): None for row in rows}
    for title in titles:
        yield title, [row for row in rows if _SECTIONS.get(row.case, _STEPS) == title]


def _peers(reports: Sequence[Report], rows: Sequence[Row]) -> list[str]:
    present = {ratio.peer: None for row in rows for ratio in row.ratios}
    named = dict.fromkeys(peer for report in reports for peer in report.peers)
    return [
        *(peer for peer in named if peer in present),
        *(peer for peer in present if peer not in named),
    ]


def _header(peers: Sequence[str], rows: Sequence[Row]) -> list[str]:
    against = [f"/ {TITLES[peer]}" for peer in peers]
    limit = ["of the limit"] if any(row.share for row in rows) else []
    run = ["run"] if any(row.run for row in rows) else []
    return ["work", TITLES[OURS], *against, *limit, *run]


def _cells(peers: Sequence[str], rows: Sequence[Row], row: Row) -> list[_Cell]:
    by_peer = {ratio.peer: ratio for ratio in row.ratios}
    name = row.what if row.case in _SECTIONS else f"{row.case} {row.what}"
    cells = [_Cell(name), _own(row)]
    cells += [
        _ratio(by_peer[peer], row) if peer in by_peer else _Cell() for peer in peers
    ]
    if any(other.share for other in rows):
        cells.append(_Cell() if row.share is None else _share(row.share))
    if row.run:
        cells.append(_Cell(str(row.run)))
    return cells


def _own(row: Row) -> _Cell:
    amount = f"{figure(row.ours.median)} {row.unit}"
    others = f"others {row.others:.1f} cores" if row.others >= 0.1 else ""
    reached = None if row.goal is None else row.ours.median <= row.goal
    return _Cell(amount, _goal("<=", row.goal, reached), others, reached=reached)


def _ratio(ratio: Ratio, row: Row) -> _Cell:
    reached = None if ratio.goal is None else ratio.ratio.median <= ratio.goal
    # A call of one layer is short, and on one thread both clocks agree.
    shown = None if row.case == LAYER else ratio.wall
    wall = f"wall {shown.median:.2f}" if shown else ""
    theirs = f"{figure(ratio.theirs.median)} {row.unit} {ratio.variant}".rstrip()
    goal = _goal("<=", ratio.goal, reached)
    return _Cell(_range(ratio.ratio), goal, theirs, wall, reached=reached)


def _share(share: Share) -> _Cell:
    reached = None if share.goal is None else share.share.median >= share.goal
    rate = f"of {figure(share.rate)} {share.of}"
    return _Cell(
        _range(share.share), _goal(">=", share.goal, reached), rate, reached=reached
    )


def _range(spread: Spread) -> str:
    # A hundredth is too coarse where the peer takes thirty times as long.
    digits = 2 if spread.median >= 0.1 else 3
    low, median, high = (
        f"{value:.{digits}f}" for value in (spread.low, spread.median, spread.high)
    )
    return median if spread.low == spread.high else f"{median} ({low}-{high})"


def _goal(sign: str, goal: float | None, reached: bool | None) -> str:
    if goal is None:
        return ""
    return f"{'reached' if reached else 'missed'}: {sign} {goal:.3g}"


def figure(value: float) -> str:
    """Return a number with three digits that count."""
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"
