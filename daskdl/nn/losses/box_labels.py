"""The rule of the labels of boxes, which the output layer of YOLO takes."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from daskdl.nn.losses.label_rules import LabelRule

__all__ = ["N_CORNERS", "box_rule"]

#: What a label says of a box before its classes: two corners.
N_CORNERS = 4
# In cells. Corners are computed from pixels, and rounded.
_ROUNDING = 1e-3


def box_rule(axis: int) -> LabelRule:
    """Return the rule of labels that hold corners and a class in cells of a grid.

    Parameters
    ----------
    axis : int
        Of corners and classes; that of labels in front of it is the batch, and the
        others are height and width of the grid.
    """
    return _BoxRule(
        must="have corners x1 <= x2 and y1 <= y2 around a center in the grid, in cells",
        holds=partial(_are_boxes, axis),
        advice="A box may end outside of the image, its center may not.",
        tells_classes=False,
        axis=axis,
    )


@dataclass(frozen=True)
class _BoxRule(LabelRule):
    axis: int = 1

    def told(self, labels: Any, place: tuple[int, ...]) -> str:
        """Return the corners, the row, and the cell of a refused number."""
        cells = np.moveaxis(labels, self.axis, -1)
        row, y, x = np.delete(place, self.axis)
        corners = ", ".join(f"{one:g}" for one in cells[row, y, x, :N_CORNERS])
        return f"({corners}) in row {row}, cell x={x}, y={y}"


def _are_boxes(axis: int, labels: Any) -> Any:
    """Return where labels are fine: False at corners of an object that is none."""
    cells = np.moveaxis(labels, axis, -1)
    top_left, bottom_right = cells[..., :2], cells[..., 2:N_CORNERS]
    has_object = cells[..., N_CORNERS:].sum(-1) > 0
    height, width = cells.shape[1:3]
    # A box that was cut off at an edge may have its center in a cell beside its own.
    center, edge = (top_left + bottom_right) / 2, np.array([width, height])
    is_in_grid = (center >= -_ROUNDING) & (center <= edge + _ROUNDING)
    is_fine = ((top_left <= bottom_right) & is_in_grid).all(axis=-1) | ~has_object
    found = np.ones(cells.shape, bool)
    found[..., :N_CORNERS] = is_fine[..., None]
    return np.moveaxis(found, -1, axis)
