"""The layer that makes capsules of images."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.capsules import squash_backward, squash_forward
from daskdl.kernels.conv import convolution_backward, convolution_forward
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation, LeakyRelu
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, Recurrent, inside_type
from daskdl.nn.conf.layer import LayerConf, TrainedLayerConf
from daskdl.nn.conf.names import ConvolutionModeName
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Count, CountPair, IndexPair, Real
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.layers.entering import images_in
from daskdl.nn.layers.layer import Layer, works_for
from daskdl.nn.layers.same_diff import sd_defaults, sd_parameter
from daskdl.nn.layers.windows import window_of, window_sizes


class PrimaryCapsules(TrainedLayerConf):
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


@works_for(PrimaryCapsules)
class PrimaryCapsulesLayer(Layer[PrimaryCapsules]):
    """``squash(convolution of x, cut into capsules)``."""

    def __init__(
        self,
        conf: PrimaryCapsules,
        input_type: InputType,
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        rectifier: AnyActivation = LeakyRelu(alpha=conf.leak) if conf.leak else "relu"
        self._rectifier = None
        if conf.use_relu:
            self._rectifier = activation_function(rectifier, conf.quirks)

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw the weight as a convolution's; every bias is `bias_init`."""
        *kernel, n_in, n_out = self.params["weight"].shape
        cells = math.prod(kernel)
        fan_out = n_out * cells / math.prod(self.conf.stride)
        self._draw("weight", n_in * cells, fan_out, rng)
        if "bias" in self.params:
            self.params["bias"].fill(self._given("bias_init", self.conf.bias_init))

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output; see :meth:`Layer.forward`. Masks only pass by."""
        self._check_input(x)
        self._x = x
        self._window = window_of(self.conf, x.shape[1:3])
        shape = (len(x), *self._window.out, self.conf.n_channels)
        self._preout = convolution_forward(
            x,
            self.params["weight"],
            self.params.get("bias"),
            self._window,
            self._workspace,
            out=self._buffer("preout", shape, x.dtype),
        )
        self._rectified = self._preout
        if self._rectifier is not None:
            rectified = self._like("rectified", self._preout)
            self._rectified = self._rectifier.forward(self._preout, out=rectified)
        self._capsules = self._cut(self._rectified)
        _, capsules, dimensions = self._capsules.shape
        output: FloatArray = self._buffer(
            "output", (len(x), dimensions, capsules), x.dtype
        )
        squash_forward(self._capsules, out=output.transpose(0, 2, 1))
        return output

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients; see :meth:`Layer.backward`."""
        grad_capsules = self._like("grad_capsules", self._capsules)
        squash_backward(
            grad_out.transpose(0, 2, 1), self._capsules, grad_x=grad_capsules
        )
        grad = self._joined(grad_capsules)
        if self._rectifier is not None:
            self._rectifier.backward(grad, self._preout, self._rectified, out=grad)
        return convolution_backward(
            grad,
            self._x,
            self.params["weight"],
            self._window,
            self._workspace,
            grad_weight=self.gradients["weight"],
            grad_bias=self.gradients.get("bias"),
            grad_x=self._like("grad_x", self._x) if self.needs_grad_x else None,
        )

    def _cut(self, images: FloatArray) -> FloatArray:
        """Return images as capsules of shape (batch, capsules, dimensions)."""
        if self._cuts_along_rows:
            batch, height, width, channels = images.shape
            channels_first: FloatArray = self._buffer(
                "capsules", (batch, channels, height, width), images.dtype
            )
            channels_first[...] = images.transpose(0, 3, 1, 2)
            images = channels_first
        dimensions = self.conf.capsule_dimensions
        n_capsules = math.prod(images.shape[1:]) // dimensions
        return images.reshape(len(images), n_capsules, dimensions)

    def _joined(self, capsules: FloatArray) -> FloatArray:
        """Return capsules as images; the inverse of :meth:`_cut`."""
        if not self._cuts_along_rows:
            return capsules.reshape(self._preout.shape)
        images = self._like("grad_preout", self._preout)
        batch, *sizes, channels = images.shape
        channels_first = capsules.reshape(batch, channels, *sizes)
        images[...] = channels_first.transpose(0, 2, 3, 1)
        return images

    @property
    def _cuts_along_rows(self) -> bool:
        """Whether the numbers of a capsule are neighbours in a row of one channel."""
        return "primary_capsules_along_rows" in self.conf.quirks
