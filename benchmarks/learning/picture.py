"""Curves of what replicas learn, as SVG: a panel a task and number of workers."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

Curves = Mapping[tuple[str, int], Mapping[str, Sequence[float]]]
"""By task and number of workers: accuracy after each epoch, by what trained."""

_WIDTH, _HEIGHT = 260, 180
_LEFT, _TOP, _GAP = 46, 64, 44
_COLOURS = ("#2a9d5c", "#d1495b", "#2e6fba", "#e09f3e", "#8e5bb5", "#222222")


def svg(curves: Curves) -> str:
    """Return a picture of the curves; panels of one task have one scale."""
    tasks = list(dict.fromkeys(task for task, _ in curves))
    numbers = list(dict.fromkeys(n for _, n in curves))
    names = list(dict.fromkeys(name for lines in curves.values() for name in lines))
    colours = dict(zip(names, _COLOURS, strict=False))
    width = _LEFT + len(numbers) * (_WIDTH + _GAP)
    height = _TOP + len(tasks) * (_HEIGHT + _GAP)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        "<style>text {font: 12px sans-serif} path {fill: none}</style>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *_legend(colours),
    ]
    for (task, n), panel in curves.items():
        top = _TOP + tasks.index(task) * (_HEIGHT + _GAP)
        left = _LEFT + numbers.index(n) * (_WIDTH + _GAP)
        of_task = [
            value
            for (other, _), others in curves.items()
            if other == task
            for values in others.values()
            for value in values
        ]
        title = f"{task}, {n} workers"
        lines += _panel(left, top, title, panel, colours, min(of_task))
    return "\n".join([*lines, "</svg>", ""])


def _legend(colours: Mapping[str, str]) -> Iterator[str]:
    for number, (name, colour) in enumerate(colours.items()):
        x = _LEFT + 150 * number
        yield f'<path d="M{x} 20h24" stroke="{colour}" stroke-width="2"/>'
        yield _text(x + 30, 24, name)


def _panel(
    left: int,
    top: int,
    title: str,
    curves: Mapping[str, Sequence[float]],
    colours: Mapping[str, str],
    least: float,
) -> Iterator[str]:
    yield _text(left, top - 8, title)
    yield (
        f'<rect x="{left}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" '
        'fill="none" stroke="#8d99ae"/>'
    )
    for share in (0.0, 0.5, 1.0):
        y = top + _HEIGHT * (1 - share)
        yield _text(left - 40, y + 4, f"{least + share * (1 - least):.0%}")
    for name, values in curves.items():
        step = _WIDTH / max(1, len(values) - 1)
        points = [
            f"{left + step * at:.1f} "
            f"{top + _HEIGHT * (1 - (value - least) / (1 - least)):.1f}"
            for at, value in enumerate(values)
        ]
        path = "L".join(points)
        yield f'<path d="M{path}" stroke="{colours[name]}" stroke-width="1.5"/>'
    yield _text(left, top + _HEIGHT + 16, "epoch 1")
    epochs = max(len(values) for values in curves.values())
    yield _text(left + _WIDTH - 50, top + _HEIGHT + 16, f"epoch {epochs}")


def _text(x: float, y: float, words: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'
