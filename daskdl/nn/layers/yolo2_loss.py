"""The loss of boxes in the cells of a grid, with all its terms."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.yolo import boxes_backward, overlap_backward, overlap_forward
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.activations.table import activation_function
from daskdl.nn.losses.loss import LossFunction

#: What is predicted of a box before its classes: x, y, width, height, confidence.
N_GEOMETRY = 5
#: What a label says of a box before its classes: two corners.
N_CORNERS = 4


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

    Notes
    -----
    Of the boxes of a cell with an object, the one that overlaps it most is responsible,
    the first of equals: place, size and classes are measured of this one alone, and its
    confidence against its overlap. All others should have the confidence 0.

    Arrays are labels (batch, height, width, 4 + classes), and `x` and `boxes` of shape
    (batch, height, width, boxes, 5 + classes), before and behind the activations.
    """

    place: LossFunction
    classes: LossFunction
    lambda_coord: float
    lambda_no_obj: float

    def score_examples(
        self, labels: FloatArray, x: FloatArray, boxes: FloatArray
    ) -> FloatArray:
        """Compute the loss of each example, shape (batch,)."""
        target = _target(labels, boxes)
        place, size, classes = (
            _by_example(terms.loss.score_examples(*terms.arguments), labels)
            for terms in self._terms(target, x, boxes)
        )
        responsible, idle = (
            _by_example(errors, labels) for errors in _confidence_errors(target, boxes)
        )
        scores: FloatArray = self.lambda_coord * (place + size) + responsible + classes
        # DL4J weighs twice where it scores example by example, and once elsewhere.
        scores += self.lambda_no_obj**2 * idle
        return scores

    def score(self, labels: FloatArray, x: FloatArray, boxes: FloatArray) -> float:
        """Compute the loss of the minibatch."""
        target = _target(labels, boxes)
        place, size, classes = (
            terms.loss.score(*terms.arguments)
            for terms in self._terms(target, x, boxes)
        )
        responsible, idle = _confidence_errors(target, boxes)
        confidence = float(responsible.sum() + self.lambda_no_obj * idle.sum())
        return self.lambda_coord * (place + size) + confidence + classes

    def gradient(
        self, labels: FloatArray, x: FloatArray, boxes: FloatArray, *, out: FloatArray
    ) -> FloatArray:
        """Write the gradient of :meth:`score` in `x` to `out`, and return it."""
        target = _target(labels, boxes)
        place, size, classes = (
            terms.loss.gradient(*terms.arguments).reshape(*out.shape[:-1], -1)
            for terms in self._terms(target, x, boxes)
        )
        confidence = boxes[..., 4]
        # The confidence is measured against the overlap, which moves the box as well.
        grad_overlap = 2 * (target.overlap - confidence) * target.responsible
        grad_center, grad_size = overlap_backward(
            grad_overlap, boxes, target.top_left, target.bottom_right
        )
        root = array_namespace(x).sqrt(boxes[..., 2:4])
        out[..., 0:2] = self.lambda_coord * place + grad_center
        out[..., 2:4] = self.lambda_coord * size / (2 * root) + grad_size
        weight = target.responsible + self.lambda_no_obj * (1 - target.responsible)
        wanted = target.overlap * target.responsible
        out[..., 4] = 2 * (confidence - wanted) * weight
        out[..., N_GEOMETRY:] = 0
        boxes_backward(out, boxes, grad_x=out)
        out[..., N_GEOMETRY:] = classes
        return out

    def _terms(
        self, target: "_Target", x: FloatArray, boxes: FloatArray
    ) -> tuple["_Term", "_Term", "_Term"]:
        """Return what the losses compare: centers, roots of sizes, and classes."""
        xp = array_namespace(x)
        identity, softmax = (
            activation_function("identity"),
            activation_function("softmax"),
        )
        roots = xp.sqrt(boxes[..., 2:4])
        mask = target.responsible.reshape(-1)

        def term(
            loss: LossFunction, wanted: Any, came: Any, activation: ActivationFunction
        ) -> _Term:
            every = xp.broadcast_to(wanted[..., None, :], came.shape)
            n = came.shape[-1]
            return _Term(
                loss, (every.reshape(-1, n), came.reshape(-1, n), activation, mask)
            )

        return (
            term(self.place, target.center, boxes[..., 0:2], identity),
            term(self.place, target.root, roots, identity),
            term(self.classes, target.classes, x[..., N_GEOMETRY:], softmax),
        )


class _Target(NamedTuple):
    """What labels want of boxes; `responsible` and `overlap` are of each box."""

    top_left: Any
    bottom_right: Any
    classes: Any
    center: Any
    root: Any
    overlap: Any
    responsible: Any


class _Term(NamedTuple):
    """A loss and its arguments: labels and numbers as rows, activation, mask."""

    loss: LossFunction
    arguments: tuple[FloatArray, FloatArray, ActivationFunction, FloatArray]


def _target(labels: FloatArray, boxes: FloatArray) -> _Target:
    xp = array_namespace(boxes)
    top_left, bottom_right = labels[..., 0:2], labels[..., 2:4]
    classes = labels[..., N_CORNERS:]
    has_object = (xp.sum(classes, axis=-1) > 0)[..., None]
    overlap = overlap_forward(boxes, top_left, bottom_right) * has_object
    is_best = xp.argmax(overlap, axis=-1)[..., None] == xp.arange(boxes.shape[3])
    center = (top_left + bottom_right) / 2
    return _Target(
        top_left,
        bottom_right,
        classes,
        center - xp.floor(center),
        xp.sqrt(bottom_right - top_left),
        overlap,
        (is_best & has_object).astype(boxes.dtype),
    )


def _confidence_errors(
    target: _Target, boxes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the squared errors of responsible boxes, and those of the others."""
    wanted = target.overlap * target.responsible
    errors = (boxes[..., 4] - wanted) ** 2
    return errors * target.responsible, errors * (1 - target.responsible)


def _by_example(values: FloatArray, labels: FloatArray) -> FloatArray:
    sums: FloatArray = values.reshape(len(labels), -1).sum(axis=1)
    return sums
