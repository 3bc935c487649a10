"""The table of a run, for a terminal and for a page."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.results import Ratio, Row, Share

_GOOD = "green"
_MISSED = "red"


def show(console: Console, rows: Sequence[Row], peers: Sequence[str]) -> None:
    """Print the rows: what reaches its goal in green, what misses it in red."""
    table = Table(*header(peers), show_lines=False)
    for row in rows:
        table.add_row(*cells(row, peers, coloured=True))
    console.print(table)


def markdown(rows: Sequence[Row], peers: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the same table in Markdown."""
    titles = header(peers)
    yield f"| {' | '.join(titles)} |"
    yield "|" + "---|" * len(titles)
    for row in rows:
        yield f"| {' | '.join(cells(row, peers))} |"


def header(peers: Sequence[str]) -> list[str]:
    """Return the titles of the columns."""
    return [
        "work",
        "daskdl",
        *(f"by {peer}" for peer in peers),
        "of the limit",
        "others",
    ]


def cells(row: Row, peers: Sequence[str], *, coloured: bool = False) -> list[str]:
    """Return a row of the table."""
    by_peer = {ratio.peer: ratio for ratio in row.ratios}
    own = f"{figure(row.ours.median)} {row.unit}"
    own = _judged(
        own, row.goal, row.goal is None or row.ours.median <= row.goal, coloured
    )
    return [
        f"{row.case} {row.what}",
        own,
        *(_ratio_cell(by_peer.get(peer), coloured) for peer in peers),
        _share_cell(row.share, coloured),
        f"{row.others:.2f}",
    ]


def figure(value: float) -> str:
    """Return a number with three digits that count."""
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f}"


def _ratio_cell(ratio: Ratio | None, coloured: bool) -> str:
    if ratio is None:
        return "-"
    text = (
        f"{ratio.ratio.low:.2f} / {ratio.ratio.median:.2f} / {ratio.ratio.high:.2f}"
        f"{f', wall {ratio.wall.median:.2f}' if ratio.wall else ''}"
        f"; {figure(ratio.theirs.median)}"
        f"{f' {ratio.variant}' if ratio.variant else ''}"
    )
    reached = ratio.goal is None or ratio.ratio.median <= ratio.goal
    return _judged(text, ratio.goal, reached, coloured, "<=")


def _share_cell(share: Share | None, coloured: bool) -> str:
    if share is None:
        return "-"
    text = f"{share.share.median:.0%} of {share.rate:.0f} {share.of}"
    reached = share.goal is None or share.share.median >= share.goal
    return _judged(text, share.goal, reached, coloured, ">=")


def _judged(
    text: str, goal: float | None, reached: bool, coloured: bool, sign: str = "<="
) -> str:
    if goal is None:
        return text
    judged = f"{text} (goal {sign} {goal:g})"
    if not coloured:
        return judged
    colour = _GOOD if reached else _MISSED
    return f"[{colour}]{judged}[/{colour}]"
