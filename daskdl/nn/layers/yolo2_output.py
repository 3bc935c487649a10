"""The output layer that finds objects in images: YOLO, version 2."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import OptionError, ShapeError
from daskdl.kernels.yolo import boxes_backward, boxes_forward
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import Convolutional, InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.losses import AnyLoss
from daskdl.nn.conf.options import DropoutOptions
from daskdl.nn.conf.values import NonNegative, Positive
from daskdl.nn.layers.input_kinds import images_in
from daskdl.nn.layers.yolo2_loss import N_GEOMETRY, BoxLoss
from daskdl.nn.losses.box_labels import N_CORNERS
from daskdl.nn.losses.table import loss_function
from daskdl.nn.run import LayerPass, Run


class Yolo2Output(DropoutOptions, LayerConf):
    """Find objects: boxes with a class in each cell of a grid, and their loss.

    Parameters
    ----------
    bounding_boxes : sequence of (float, float)
        Width and height, in grid cells, that the boxes of a cell begin with.
    lambda_coord, lambda_no_obj : float
        Weights of place and size, and of the confidence where there is no object.
    loss_position_scale : loss
        Of centers, and of the square roots of sizes.
    loss_class_predictions : loss
        Of the softmax of classes.

    Notes
    -----
    The input has ``boxes * (5 + classes)`` channels, box by box: x and y in the cell,
    width, height, confidence, classes. The labels have ``4 + classes``: the corners x1,
    y1, x2, y2 of the object in grid cells, and its class, one-hot; all 0 where there is
    none. Objects with a center outside of the grid are refused, and so are masks, which
    are not needed.

    References
    ----------
    Redmon and Farhadi, *YOLO9000: Better, Faster, Stronger*, 2016; the loss is that of
    Redmon, Divvala, Girshick and Farhadi, *You Only Look Once*, 2016, equation 3, in
    the variant of DL4J's `Yolo2OutputLayer`: the confidence of a box is measured
    against its overlap with the object, which also moves the box.
    """

    takes_network_dropout: ClassVar[bool] = False
    has_mean_score: ClassVar[bool] = True

    type: Literal["yolo2_output"] = "yolo2_output"
    bounding_boxes: Annotated[
        tuple[tuple[Positive, Positive], ...], Field(min_length=1)
    ]
    lambda_coord: NonNegative = 5.0
    lambda_no_obj: NonNegative = 0.5
    loss_position_scale: AnyLoss = "l2"
    loss_class_predictions: AnyLoss = "l2"

    @property
    def is_output(self) -> bool:
        """True: the layer computes a loss."""
        return True

    def n_classes(self, images: Convolutional) -> int:
        """Return how many classes the channels of `images` hold.

        Raises
        ------
        OptionError
            If the channels are not ``boxes * (5 + classes)``.
        """
        per_box, rest = divmod(images.channels, len(self.bounding_boxes))
        if rest or per_box <= N_GEOMETRY:
            raise PathError(
                "must go with the channels that come in, boxes * (5 + classes), got "
                f"{len(self.bounding_boxes)} for {images.channels} channels.",
                "bounding_boxes",
            )
        return per_box - N_GEOMETRY

    def output_type(self, input_type: InputType) -> Convolutional:
        """Return the type of the input; refuse what holds no boxes."""
        images = images_in(self, input_type)
        self.n_classes(images)
        return images

    def labels_type(self, input_type: InputType) -> Convolutional:
        """Return grids of corners and classes."""
        images = images_in(self, input_type)
        return images.replaced(channels=N_CORNERS + self.n_classes(images))

    @property
    def box_loss(self) -> BoxLoss:
        """The loss with the weights of the options."""
        return BoxLoss(
            loss_function(self.loss_position_scale, self.quirks),
            loss_function(self.loss_class_predictions, self.quirks),
            self.lambda_coord,
            self.lambda_no_obj,
            squares_lambda_no_obj="yolo2_squares_lambda_no_obj" in self.quirks,
        )

    def forward(self, run: Run, x: FloatArray) -> LayerPass:
        """Compute the boxes, (batch, height, width, channels) like `x`.

        Masks that arrive with the input change nothing.
        """
        n_boxes = len(self.bounding_boxes)
        priors = array_namespace(x).asarray(self.bounding_boxes, dtype=x.dtype)
        output, apart = run.like("output", x), by_box(x, n_boxes)
        boxes = boxes_forward(apart, priors, out=by_box(output, n_boxes))
        run.loss = GridLoss(run, self.box_loss, apart, boxes)

        def backward(grad_out: FloatArray) -> FloatArray:
            grad_x = run.like("grad_x", grad_out)
            grad_boxes = by_box(grad_out, n_boxes)
            boxes_backward(grad_boxes, boxes, grad_x=by_box(grad_x, n_boxes))
            return grad_x

        return output, backward


@dataclass
class GridLoss:
    """The loss of one forward pass; see :class:`~daskdl.nn.run.LossPass`.

    Attributes
    ----------
    run : Run
    loss : BoxLoss
    x, boxes : ndarray of shape (batch, height, width, boxes, 5 + classes)
        What came in, and what came out.
    """

    run: Run
    loss: BoxLoss
    x: FloatArray
    boxes: FloatArray

    def arrived_mask(self) -> None:
        """Return None: masks that arrive change nothing."""

    def score_examples(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray:
        """Compute the losses, (batch,); see :meth:`LossPass.score_examples`."""
        self._check(labels, mask)
        return self.loss.score_examples(labels, self.x, self.boxes)

    def score(self, labels: FloatArray, mask: FloatArray | None = None) -> float:
        """Return the summed loss; see :meth:`LossPass.score`."""
        self._check(labels, mask)
        return self.loss.score(labels, self.x, self.boxes)

    def backward(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray:
        """Compute the gradients; see :meth:`LossPass.backward`."""
        self._check(labels, mask)
        *cells, n_boxes, per_box = self.x.shape
        shape = (*cells, n_boxes * per_box)
        grad_x = self.run.buffer("grad_x", shape, self.x.dtype)
        self.loss.gradient(labels, self.x, self.boxes, out=by_box(grad_x, n_boxes))
        return grad_x

    def _check(self, labels: FloatArray, mask: FloatArray | None) -> None:
        expected = (*self.x.shape[:3], self.x.shape[4] - N_GEOMETRY + N_CORNERS)
        if labels.shape != expected:
            raise ShapeError(
                f"{self.run.who}: labels must have shape {expected}, got "
                f"{labels.shape}."
            )
        if mask is not None:
            raise OptionError(
                f"{self.run.who}: labels must come without a mask, got one of shape "
                f"{mask.shape}. A cell without an object has no class."
            )


def by_box(grid: FloatArray, n_boxes: int) -> FloatArray:
    """View cells (batch, height, width, channels) as (..., boxes, 5 + classes)."""
    *cells, channels = grid.shape
    return grid.reshape(*cells, n_boxes, channels // n_boxes)
