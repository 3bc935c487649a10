"""The output layer that finds objects in images: YOLO, version 2."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.errors import OptionError, ShapeError
from daskdl.kernels.yolo import boxes_backward, boxes_forward
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import Convolutional, InputType
from daskdl.nn.conf.layer import DroppedLayerConf
from daskdl.nn.conf.losses import AnyLoss
from daskdl.nn.conf.values import NonNegative, Positive
from daskdl.nn.layers.entering import images_in
from daskdl.nn.layers.layer import OutputLayer, works_for
from daskdl.nn.layers.yolo2_loss import N_CORNERS, N_GEOMETRY, BoxLoss
from daskdl.nn.losses.table import loss_function


class Yolo2Output(DroppedLayerConf):
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
    none. Masks are not needed, and refused.

    References
    ----------
    Redmon and Farhadi, *YOLO9000: Better, Faster, Stronger*, 2016; the loss is that of
    Redmon, Divvala, Girshick and Farhadi, *You Only Look Once*, 2016, equation 3, in
    the variant of DL4J's `Yolo2OutputLayer`: the confidence of a box is measured
    against its overlap with the object, which also moves the box.
    """

    takes_network_dropout: ClassVar[bool] = False

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


@works_for(Yolo2Output)
class Yolo2OutputLayer(OutputLayer[Yolo2Output]):
    """Boxes and their loss. Masks that arrive with the input change nothing."""

    has_mean_score = True

    def __init__(
        self,
        conf: Yolo2Output,
        input_type: InputType,
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        n_classes = conf.n_classes(images_in(conf, input_type))
        self._per_box = N_GEOMETRY + n_classes
        self._per_label = N_CORNERS + n_classes
        self._loss = BoxLoss(
            loss_function(conf.loss_position_scale, conf.quirks),
            loss_function(conf.loss_class_predictions, conf.quirks),
            conf.lambda_coord,
            conf.lambda_no_obj,
            squares_lambda_no_obj="yolo2_squares_lambda_no_obj" in conf.quirks,
        )

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the boxes; see :meth:`Layer.forward`."""
        self._check_input(x)
        self._x = self._boxes(x)
        priors = array_namespace(x).asarray(self.conf.bounding_boxes, dtype=x.dtype)
        output = self._like("output", x)
        self._output = boxes_forward(self._x, priors, out=self._boxes(output))
        return output

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient of the boxes, not of the loss.

        See :meth:`Layer.backward`.
        """
        grad_x = self._like("grad_x", grad_out)
        boxes_backward(self._boxes(grad_out), self._output, grad_x=self._boxes(grad_x))
        return grad_x

    def score_examples(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray:
        """Compute the losses; see :meth:`OutputLayer.score_examples`."""
        self._check(labels, mask)
        return self._loss.score_examples(labels, self._x, self._output)

    def score(self, labels: FloatArray, mask: FloatArray | None = None) -> float:
        """Return the summed loss; see :meth:`OutputLayer.score`."""
        self._check(labels, mask)
        return self._loss.score(labels, self._x, self._output)

    def backward_loss(
        self, labels: FloatArray, mask: FloatArray | None = None
    ) -> FloatArray:
        """Compute the gradients; see :meth:`OutputLayer.backward_loss`."""
        self._check(labels, mask)
        batch, height, width, n_boxes, per_box = self._x.shape
        shape = (batch, height, width, n_boxes * per_box)
        grad_x: FloatArray = self._buffer("grad_x", shape, self._x.dtype)
        self._loss.gradient(labels, self._x, self._output, out=self._boxes(grad_x))
        return grad_x

    def _boxes(self, x: FloatArray) -> FloatArray:
        return x.reshape(*x.shape[:-1], len(self.conf.bounding_boxes), self._per_box)

    def _check(self, labels: FloatArray, mask: FloatArray | None) -> None:
        expected = (*self._x.shape[:3], self._per_label)
        if labels.shape != expected:
            raise ShapeError(
                f"{self.who}: labels must have shape {expected}, got {labels.shape}."
            )
        if mask is not None:
            raise OptionError(
                f"{self.who}: labels must come without a mask, got one of shape "
                f"{mask.shape}. A cell without an object has no class."
            )
