"""The frame of a chart: from values to pixels, grid, ticks, labels. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Frame", "axis_labels", "grid", "polyline"]


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The scale of a chart: from values to pixels of an SVG picture.

    Parameters
    ----------
    width, height : int
        Of the picture, in its own pixels.
    x_low, x_high, y_low, y_high : float
        Values at the edges of the plot.
    left, right, top, bottom : int
        Pixels around the plot, for ticks and labels.
    """

    width: int
    height: int
    x_low: float
    x_high: float
    y_low: float
    y_high: float
    left: int = 70
    right: int = 30
    top: int = 14
    bottom: int = 44

    def x(self, value: float) -> float:
        """Return the pixel of a value from the left."""
        share = (value - self.x_low) / (self.x_high - self.x_low)
        return round(self.left + share * (self.width - self.left - self.right), 1)

    def y(self, value: float) -> float:
        """Return the pixel of a value from the top."""
        share = (value - self.y_low) / (self.y_high - self.y_low)
        height = self.height - self.top - self.bottom
        return round(self.height - self.bottom - share * height, 1)

    @property
    def right_edge(self) -> int:
        """Pixel where the plot ends on the right."""
        return self.width - self.right

    @property
    def bottom_edge(self) -> int:
        """Pixel where the plot ends below."""
        return self.height - self.bottom


def grid(frame: Frame, x_ticks: Sequence[float], y_ticks: Sequence[float]) -> list[str]:
    """Return lines across the plot for `y_ticks`, and ticks below it for `x_ticks`."""
    bottom = frame.bottom_edge
    parts = []
    for tick in y_ticks:
        y = frame.y(tick)
        parts.append(
            f'<line class="grid" x1="{frame.left}" x2="{frame.right_edge}" '
            f'y1="{y}" y2="{y}"/>'
            f'<text class="tick" x="{frame.left - 8}" y="{y + 4}" text-anchor="end">'
            f"{tick:,.10g}</text>"
        )
    for tick in x_ticks:
        x = frame.x(tick)
        parts.append(
            f'<line class="axis" x1="{x}" x2="{x}" y1="{bottom}" y2="{bottom + 5}"/>'
            f'<text class="tick" x="{x}" y="{bottom + 18}" text-anchor="middle">'
            f"{tick:,.10g}</text>"
        )
    parts.append(
        f'<line class="axis" x1="{frame.left}" x2="{frame.right_edge}" '
        f'y1="{bottom}" y2="{bottom}"/>'
    )
    return parts


def axis_labels(frame: Frame, x_label: str, y_label: str) -> list[str]:
    """Return the names of both axes, that of the vertical one turned."""
    center = (frame.left + frame.right_edge) / 2
    middle = (frame.top + frame.bottom_edge) / 2
    turned = f'transform="rotate(-90 14 {middle})"'
    return [
        _label(x_label, f'x="{center}" y="{frame.height - 6}"'),
        _label(y_label, f'x="14" y="{middle}" {turned}'),
    ]


def polyline(frame: Frame, points: Sequence[tuple[float, float]], kind: str) -> str:
    """Return a line through points; `kind` is its class in the style sheet."""
    path = " ".join(f"{frame.x(x)},{frame.y(y)}" for x, y in points)
    return f'<polyline class="{kind}" points="{path}"/>'


def _label(text: str, where: str) -> str:
    return f'<text class="label" {where} text-anchor="middle">{escape(text)}</text>'
