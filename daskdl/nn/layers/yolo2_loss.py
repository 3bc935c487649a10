"""The loss of boxes in the cells of a grid, with all its terms."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.yolo import boxes_backward, overlap_backward, overlap_forward
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.activations.table import activation_function
from daskdl.nn.losses.box_labels import N_CORNERS
from daskdl.nn.losses.loss import LossFunction

#: What is predicted of a box before its classes: x, y, width, height, confidence.
N_GEOMETRY = 5


@dataclass(frozen=True)
class BoxLoss:
    """The loss of :class:`~daskdl.nn.layers.yolo2_output.Yolo2Output`.

    Parameters
    ----------
    place : LossFunction
        Of centers in their cells, and of square roots of sizes.
    classes : LossFunction
        Of the softmax of classes.
    lambda_coord, lambda_no_obj : float
        Weights of `place`, and of the confidence of boxes without an object.
    squares_lambda_no_obj : bool
        Whether scores of examples weigh these with the square of `lambda_no_obj`, where
        the score of a minibatch weighs with `lambda_no_obj` itself.

    Notes
    -----
    Of the boxes of a cell with an object, the one that overlaps it most is responsible,
    the first of equals: place, size and classes are measured of this one alone, and its
    confidence against its overlap. All others should have the confidence 0.

    Few cells have an object, so the responsible boxes are taken out and measured by
    themselves, and the others by their confidence alone.

    Arrays are labels (batch, height, width, 4 + classes), and `x` and `boxes` of shape
    (batch, height, width, boxes, 5 + classes), before and behind the activations.
    """

    place: LossFunction
    classes: LossFunction
    lambda_coord: float
    lambda_no_obj: float
    squares_lambda_no_obj: bool = False

    def score_examples(
        self, labels: FloatArray, x: FloatArray, boxes: FloatArray
    ) -> FloatArray:
        """Compute the loss of each example, shape (batch,)."""
        target = _target(labels, boxes)
        place, size, classes = (
            term.loss.score_examples(*term.arguments) for term in self._terms(target, x)
        )
        confidence = (target.boxes[:, 4] - target.overlap) ** 2
        responsible = self.lambda_coord * (place + size) + confidence + classes
        xp = array_namespace(boxes)
        idle = _idle_confidence(target, boxes).reshape(len(labels), -1)
        weight = self.lambda_no_obj ** (2 if self.squares_lambda_no_obj else 1)
        scores: FloatArray = weight * xp.sum(idle * idle, axis=1)
        xp.add.at(scores, target.numbers // idle.shape[1], responsible)
        return scores

    def score(self, labels: FloatArray, x: FloatArray, boxes: FloatArray) -> float:
        """Compute the loss of the minibatch.

        Labels are of shape (batch, height, width, 4 + classes), `x` and `boxes` of
        shape (batch, height, width, boxes, 5 + classes).
        """
        target = _target(labels, boxes)
        place, size, classes = (
            term.loss.score(*term.arguments) for term in self._terms(target, x)
        )
        responsible = ((target.boxes[:, 4] - target.overlap) ** 2).sum()
        idle = (_idle_confidence(target, boxes) ** 2).sum()
        confidence = float(responsible + self.lambda_no_obj * idle)
        return self.lambda_coord * (place + size) + confidence + classes

    def gradient(
        self, labels: FloatArray, x: FloatArray, boxes: FloatArray, *, out: FloatArray
    ) -> FloatArray:
        """Write the gradient of :meth:`score` in `x` to `out`, and return it.

        `out` is of the same shape as `x`.
        """
        target = _target(labels, boxes)
        out.fill(0)
        confidence = boxes[..., 4]
        grad_idle = 2 * self.lambda_no_obj * confidence
        out[..., 4] = grad_idle * confidence * (1 - confidence)
        out.reshape(-1, out.shape[-1])[target.numbers] = self._gradient(target, x)
        return out

    def _gradient(self, target: "_Target", x: FloatArray) -> FloatArray:
        """Return the gradient in the responsible boxes."""
        place, size, classes = (
            term.loss.gradient(*term.arguments) for term in self._terms(target, x)
        )
        boxes, xp = target.boxes, array_namespace(x)
        # The confidence is measured against the overlap, which moves the box as well.
        grad_overlap = 2 * (target.overlap - boxes[:, 4])
        grad_center, grad_size = overlap_backward(
            grad_overlap[:, None],
            boxes[:, None],
            target.cells,
            target.top_left,
            target.bottom_right,
        )
        root = xp.sqrt(boxes[:, 2:4])
        grad: FloatArray = xp.zeros_like(boxes)
        grad[:, 0:2] = self.lambda_coord * place + grad_center[:, 0]
        grad[:, 2:4] = self.lambda_coord * size / (2 * root) + grad_size[:, 0]
        grad[:, 4] = -grad_overlap
        boxes_backward(grad, boxes, grad_x=grad)
        grad[:, N_GEOMETRY:] = classes
        return grad

    def _terms(
        self, target: "_Target", x: FloatArray
    ) -> tuple["_Term", "_Term", "_Term"]:
        """Return the terms of the loss: centers, roots of sizes, and classes."""
        xp = array_namespace(x)
        identity, softmax = (
            activation_function("identity"),
            activation_function("softmax"),
        )
        center = (target.top_left + target.bottom_right) / 2
        classes = x.reshape(-1, x.shape[-1])[target.numbers, N_GEOMETRY:]
        wanted = xp.sqrt(target.bottom_right - target.top_left)
        came = xp.sqrt(target.boxes[:, 2:4])
        return (
            _Term(
                self.place,
                (center - xp.floor(center), target.boxes[:, 0:2], identity),
            ),
            _Term(self.place, (wanted, came, identity)),
            _Term(self.classes, (target.classes, classes, softmax)),
        )


class _Target(NamedTuple):
    """The cells with an object, and the box of each that is responsible for it.

    `numbers` count the responsible boxes among all, `cells` are the corners of the
    cells, `boxes` what is predicted; the rest is what labels want of it.
    """

    numbers: Any
    cells: Any
    boxes: Any
    overlap: Any
    top_left: Any
    bottom_right: Any
    classes: Any


class _Term(NamedTuple):
    """A loss and its arguments: labels and numbers as rows, and the activation."""

    loss: LossFunction
    arguments: tuple[FloatArray, FloatArray, ActivationFunction]


def _target(labels: FloatArray, boxes: FloatArray) -> _Target:
    xp = array_namespace(boxes)
    height, width, n_boxes, per_box = boxes.shape[1:]
    rows = labels.reshape(-1, labels.shape[-1])
    found = xp.flatnonzero(xp.sum(rows[:, N_CORNERS:], axis=1) > 0)
    wanted = rows[found]
    top_left, bottom_right = wanted[:, 0:2], wanted[:, 2:4]
    cells = xp.stack([found % width, found // width % height], axis=1)
    cells = cells.astype(boxes.dtype)
    choice = boxes.reshape(-1, n_boxes, per_box)[found]
    overlap = overlap_forward(choice, cells, top_left, bottom_right)
    best = xp.argmax(overlap, axis=1)
    each = xp.arange(len(found))
    return _Target(
        found * n_boxes + best,
        cells,
        choice[each, best],
        overlap[each, best],
        top_left,
        bottom_right,
        wanted[:, N_CORNERS:],
    )


def _idle_confidence(target: _Target, boxes: FloatArray) -> FloatArray:
    """Return the confidences of all boxes, 0 for those that are responsible."""
    confidence: FloatArray = boxes[..., 4].copy().reshape(-1)
    confidence[target.numbers] = 0
    return confidence
