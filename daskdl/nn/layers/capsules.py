"""The layers of capsules: short vectors, made of images, routed and measured.

Capsules count as time series: the capsules are the features, and the numbers of a
capsule are the time steps.
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.capsules import (
    route_backward,
    route_forward,
    squash_backward,
    squash_forward,
    strength_backward,
    strength_forward,
)
from daskdl.kernels.capsules.routing import Routing
from daskdl.kernels.conv import convolution_backward, convolution_forward
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import LeakyRelu
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent, inside_type
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.names import ConvolutionModeName
from daskdl.nn.conf.options import TrainingOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Count, CountPair, IndexPair, Real
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.layers.input_kinds import images_in, refuse_input
from daskdl.nn.layers.same_diff import sd_defaults, sd_parameter
from daskdl.nn.layers.windows import window_of, window_sizes
from daskdl.nn.run import Backward, Run


class PrimaryCapsules(TrainingOptions, LayerConf):
    """A convolution whose output is cut into capsules: short vectors, squashed.

    What comes out counts as time series: the capsules are the features, and
    the numbers of a capsule are the time steps.

    Parameters
    ----------
    capsule_dimensions : int
        Numbers of a capsule.
    channels : int
        Capsules of each place: the convolution has ``channels * capsule_dimensions``
        output channels.
    capsules : int, optional
        Capsules of all places; inferred if the size of the images is known.
    kernel_size, stride, dilation, padding, convolution_mode, has_bias
        As for :class:`Convolution2D`.
    use_relu : bool
        Whether a rectifier stands between convolution and squashing.
    leak : float
        Its slope below 0.
    weight_init : str or weight init, optional
        How the initial weights are drawn.
    bias_init : float, optional
        Initial bias.

    Notes
    -----
    The numbers of a capsule are neighbouring channels of one place, and capsules are
    counted place by place.

    References
    ----------
    Sabour, Frosst and Hinton, "Dynamic Routing Between
    Capsules", NIPS 2017, section 4.
    """

    takes_network_dropout: ClassVar[bool] = False
    counts_gradient_twice: ClassVar[bool] = True

    type: Literal["primary_capsules"] = "primary_capsules"
    capsule_dimensions: Count
    channels: Count = 32
    capsules: Count | None = None
    kernel_size: CountPair = (9, 9)
    stride: CountPair = (2, 2)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)
    convolution_mode: ConvolutionModeName = "truncate"
    has_bias: bool = True
    use_relu: bool = False
    leak: Real = 0.0
    weight_init: AnyWeightInit | None = None
    bias_init: Real | None = None

    def filled(
        self, defaults: Mapping[str, Any], input_type: InputType, name: str
    ) -> LayerConf:
        """Return a copy with nothing left open, `capsules` included."""
        filled = super().filled(sd_defaults(self, defaults), input_type, name)
        capsules = self.output_type(inside_type(input_type)).size
        return filled.model_copy(update={"capsules": capsules})

    @property
    def n_channels(self) -> int:
        """Output channels of the convolution."""
        return self.channels * self.capsule_dimensions

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return the capsules as features, their numbers as time steps."""
        images = images_in(self, input_type)
        sizes = window_sizes(self, (images.height, images.width))
        known = [size for size in sizes if size is not None]
        found = math.prod(known) * self.channels if len(known) == len(sizes) else None
        capsules = self.capsules or found
        if capsules is None or found not in (None, capsules):
            raise PathError(
                f"must be what {images} give ({found or 'unknown'}), "
                f"got {self.capsules}. Give the size of the network's input.",
                "capsules",
            )
        return Recurrent(size=capsules, time_steps=self.capsule_dimensions)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return weight ``(*kernel, n_in, n_channels)`` and bias (n_channels,)."""
        n_in = images_in(self, input_type).channels
        shape = (*self.kernel_size, n_in, self.n_channels)
        weight = sd_parameter("weight", shape)
        if not self.has_bias:
            return (weight,)
        bias = sd_parameter("bias", (self.n_channels,), "bias")
        return (weight, bias)

    def fans(self, parameter: Parameter) -> tuple[float, float]:
        """Return the fans of a convolution, as far as its strides go."""
        *kernel, n_in, n_out = parameter.shape
        cells = math.prod(kernel)
        return n_in * cells, n_out * cells / math.prod(self.stride)

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Make capsules of `x`, of shape (batch, height, width, channels).

        Masks only pass by.
        """
        window = window_of(self, x.shape[1:3])
        preout = convolution_forward(
            x,
            run.params["weight"],
            run.params.get("bias"),
            window,
            run.workspace,
            out=run.buffer("preout", (len(x), *window.out, self.n_channels), x.dtype),
        )
        rectifier = self._rectifier
        rectified = preout
        if rectifier is not None:
            rectified = rectifier.forward(preout, out=run.like("rectified", preout))
        capsules = self._cut(run, rectified)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            grad_capsules = run.like("grad_capsules", capsules)
            squash_backward(grad_out.transpose(0, 2, 1), capsules, grad_x=grad_capsules)
            grad = self._joined(run, grad_capsules, preout)
            if rectifier is not None:
                rectifier.backward(grad, preout, rectified, out=grad)
            return convolution_backward(
                grad,
                x,
                run.params["weight"],
                window,
                run.workspace,
                grad_weight=run.gradients["weight"],
                grad_bias=run.gradients.get("bias"),
                grad_x=run.like("grad_x", x) if run.needs_grad_x else None,
            )

        batch, n_capsules, dimensions = capsules.shape
        output = run.buffer("output", (batch, dimensions, n_capsules), x.dtype)
        squash_forward(capsules, out=output.transpose(0, 2, 1))
        return output, backward

    @property
    def _rectifier(self) -> ActivationFunction | None:
        """The rectifier between convolution and squashing, if there is one."""
        if not self.use_relu:
            return None
        rectifier = LeakyRelu(alpha=self.leak) if self.leak else "relu"
        return activation_function(rectifier, self.quirks)

    def _cut(self, run: Run, images: FloatArray) -> FloatArray:
        """Return images as capsules of shape (batch, capsules, dimensions)."""
        if self._cuts_along_rows:
            batch, height, width, channels = images.shape
            shape = (batch, channels, height, width)
            channels_first = run.buffer("capsules", shape, images.dtype)
            channels_first[...] = images.transpose(0, 3, 1, 2)
            images = channels_first
        dimensions = self.capsule_dimensions
        n_capsules = math.prod(images.shape[1:]) // dimensions
        return images.reshape(len(images), n_capsules, dimensions)

    def _joined(self, run: Run, capsules: FloatArray, preout: FloatArray) -> FloatArray:
        """Return capsules as images like `preout`; the inverse of :meth:`_cut`."""
        if not self._cuts_along_rows:
            return capsules.reshape(preout.shape)
        images = run.like("grad_preout", preout)
        batch, *sizes, channels = images.shape
        channels_first = capsules.reshape(batch, channels, *sizes)
        images[...] = channels_first.transpose(0, 2, 3, 1)
        return images

    @property
    def _cuts_along_rows(self) -> bool:
        """Whether the numbers of a capsule are neighbours in a row of one channel."""
        return "primary_capsules_along_rows" in self.quirks


class Capsule(TrainingOptions, LayerConf):
    """Capsules that are routed to by agreement from the capsules in front.

    Capsules count as time series: the capsules are the features, and the
    numbers of a capsule are the time steps.

    Parameters
    ----------
    capsules : int
        Number of capsules.
    capsule_dimensions : int
        Numbers of a capsule.
    routings : int
        Iterations of the routing.
    has_bias : bool
        Whether a bias is added to what is squashed.
    weight_init : str or weight init, optional
        How the initial weights are drawn.
    bias_init : float, optional
        Initial bias.

    References
    ----------
    Sabour, Frosst and Hinton, "Dynamic Routing Between
    Capsules", NIPS 2017, procedure 1.
    """

    takes_network_dropout: ClassVar[bool] = False
    counts_gradient_twice: ClassVar[bool] = True

    type: Literal["capsule"] = "capsule"
    capsules: Count
    capsule_dimensions: Count
    routings: Count = 3
    has_bias: bool = False
    weight_init: AnyWeightInit | None = None
    bias_init: Real | None = None

    def filled(
        self, defaults: Mapping[str, Any], input_type: InputType, name: str
    ) -> LayerConf:
        """Return a copy with nothing left open."""
        return super().filled(sd_defaults(self, defaults), input_type, name)

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return the capsules as features, their numbers as time steps."""
        _entering(self, input_type)
        return Recurrent(size=self.capsules, time_steps=self.capsule_dimensions)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return weight (n_in, capsules * dimensions, n_dimensions) and bias."""
        n_in, n_dimensions = _entering(self, input_type)
        n_out = self.capsules * self.capsule_dimensions
        weight = sd_parameter(
            "weight",
            (n_in, n_out, n_dimensions),
            file_shape=(1, n_in, n_out, n_dimensions, 1),
        )
        if not self.has_bias:
            return (weight,)
        shape = (self.capsules, self.capsule_dimensions)
        bias = sd_parameter(
            "bias",
            shape,
            "bias",
            file_shape=(1, 1, *shape, 1),
        )
        return (weight, bias)

    def fans(self, parameter: Parameter) -> tuple[float, float]:
        """Return the numbers of inputs and outputs of a capsule's weights."""
        n_in, n_out, n_dimensions = parameter.shape
        return n_in * n_dimensions, n_out

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Route `x`, of shape (batch, numbers of a capsule, capsules).

        Masks only pass by.
        """
        batch, n_dimensions, n_in = x.shape
        weight = run.params["weight"]
        rows = run.buffer("x", (n_in, batch, n_dimensions), x.dtype)
        rows[...] = x.transpose(2, 0, 1)
        routing = self._routing(run, rows)
        shape = (batch, self.capsules, self.capsule_dimensions)
        capsules = run.buffer("capsules", shape, x.dtype)
        route_forward(rows, weight, run.params.get("bias"), routing, out=capsules)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            grad_rows = route_backward(
                grad_out.transpose(0, 2, 1),
                rows,
                weight,
                routing,
                run.workspace,
                grad_weight=run.gradients["weight"],
                grad_bias=run.gradients.get("bias"),
                grad_x=run.like("grad_rows", rows) if run.needs_grad_x else None,
            )
            if grad_rows is None:
                return None
            grad_x = run.like("grad_x", x)
            grad_x[...] = grad_rows.transpose(1, 2, 0)
            return grad_x

        output = run.buffer("output", (batch, shape[2], shape[1]), x.dtype)
        output[...] = capsules.transpose(0, 2, 1)
        return output, backward

    def _routing(self, run: Run, rows: FloatArray) -> Routing:
        """Return the arrays of a routing of `rows`, (n_in, batch, n_dimensions)."""
        below, above = rows.shape[:2], (self.capsules, self.capsule_dimensions)
        shapes = {
            "predictions": (*below, *above),
            "couplings": (self.routings, *below, self.capsules),
            "sums": (self.routings, below[1], *above),
        }
        return Routing(
            *(run.buffer(what, shape, rows.dtype) for what, shape in shapes.items())
        )


class CapsuleStrength(LayerConf):
    """The length of each capsule, which is the probability of its class."""

    counts_gradient_twice: ClassVar[bool] = True

    type: Literal["capsule_strength"] = "capsule_strength"

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows of one number for each capsule."""
        if not isinstance(input_type, Recurrent):
            raise refuse_input(self, "capsules (Recurrent input)", input_type)
        return FeedForward(size=input_type.size)

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Measure `x`, of shape (batch, length of a capsule, capsules)."""
        out = run.buffer("output", (x.shape[0], x.shape[2]), x.dtype)
        output = strength_forward(x, out=out)

        def backward(grad_out: FloatArray) -> FloatArray:
            grad_x = run.buffer("grad_x", x.shape, x.dtype)
            return strength_backward(grad_out, x, output, grad_x=grad_x)

        return output, backward


def _entering(layer: Capsule, input_type: InputType) -> tuple[int, int]:
    """Return the number of capsules of the input and their size; refuse other input."""
    if isinstance(input_type, Recurrent) and input_type.time_steps is not None:
        return input_type.n_features, input_type.time_steps
    needs = "capsules (Recurrent input of known length)"
    raise refuse_input(layer, needs, input_type)
