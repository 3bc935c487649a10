"""The two-dimensional convolution layer."""

import math
from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, to_device
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.conv import convolution_backward, convolution_forward
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.input_type import Convolutional, InputType
from daskdl.nn.conf.layer import (
    WeightLayerConf,
)
from daskdl.nn.conf.names import (
    ConvolutionModeName,
    WeightInitLiteral,
)
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import (
    CountPair,
    IndexPair,
)
from daskdl.nn.initializers import initialize
from daskdl.nn.layers.layer import Layer
from daskdl.nn.layers.windows import images_in, window_of, window_output


class Convolution2D(WeightLayerConf):
    """A two-dimensional convolution (cross-correlation, as everywhere).

    Parameters
    ----------
    kernel_size, stride, dilation : (int, int) or int
        Height and width; one number means both.
    padding : (int, int) or int
        Zeros on both sides; not used by mode ``same``.
    convolution_mode : {"truncate", "same", "strict"}
        What happens where kernel and stride do not fit: cut off the rest, pad so
        that the output has ``ceil(size / stride)``, or refuse.
    has_bias : bool
        Whether a bias is added.
    """

    type: Literal["convolution2d"] = "convolution2d"
    kernel_size: CountPair = (5, 5)
    stride: CountPair = (1, 1)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)
    convolution_mode: ConvolutionModeName = "truncate"
    has_bias: bool = True

    def inferred_n_in(self, input_type: InputType) -> int:
        """Return the number of channels that come in."""
        return self._agreed_n_in(images_in(self, input_type).channels, input_type)

    def output_type(self, input_type: InputType) -> Convolutional:
        """Return images of `n_out` channels."""
        images = images_in(self, input_type)
        self.inferred_n_in(images)
        return images.replaced(**window_output(self, images), channels=self.n_out)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (kernel height, kernel width, n_in, n_out) and b (n_out,)."""
        shape = (*self.kernel_size, self.inferred_n_in(input_type), self.n_out)
        weight = Parameter("W", shape, axes=(3, 2, 0, 1), order="c")
        bias = (Parameter("b", (self.n_out,), "bias"),) if self.has_bias else ()
        return (weight, *bias)

    def dl4j_order(self, input_type: InputType) -> tuple[str, ...]:
        """Return the bias first, as DL4J keeps it."""
        return ("b", "W") if self.has_bias else ("W",)


class ConvolutionLayer(Layer[Convolution2D]):
    """``activation(cross-correlation of x with W, plus b)`` of images."""

    def __init__(
        self,
        conf: Convolution2D,
        input_type: InputType,
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._activation = activation_function(
            self._given("activation", conf.activation)
        )

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw W with DL4J's fans; every bias is `bias_init`.

        The fans are n_in * kernel cells, and n_out * kernel cells / stride cells.
        """
        weight = self.params["W"]
        cells = math.prod(self.conf.kernel_size)
        stride = self.conf.stride
        fan_in = weight.shape[2] * cells
        fan_out = weight.shape[3] * cells / (stride[0] * stride[1])
        scheme: WeightInitLiteral = self._given("weight_init", self.conf.weight_init)
        drawn = initialize(scheme, weight.shape, fan_in, fan_out, rng)
        weight[...] = to_device(drawn, like=weight)
        if "b" in self.params:
            self.params["b"].fill(self._given("bias_init", self.conf.bias_init))

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
        rows, columns = self._window.height.out, self._window.width.out
        shape = (x.shape[0], rows, columns, self.conf.n_out)
        self._preout = convolution_forward(
            self._x,
            self.params["W"],
            self.params.get("b"),
            self._window,
            self._workspace,
            out=self._buffer("preout", shape, x.dtype),
        )
        reads_preout = self._activation.reads_preout
        out = self._like("output", self._preout) if reads_preout else self._preout
        self._output = self._activation.forward(self._preout, out=out)
        return self._output

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients; see :meth:`Layer.backward`."""
        grad_preout = grad_out
        if self._activation.name != "identity":
            grad_preout = self._activation.backward(
                grad_out,
                self._preout,
                self._output,
                out=self._like("grad_preout", self._output),
            )
        grad_x = convolution_backward(
            grad_preout,
            self._x,
            self.params["W"],
            self._window,
            self._workspace,
            grad_weight=self.gradients["W"],
            grad_bias=self.gradients.get("b"),
            grad_x=self._like("grad_x", self._x) if self.needs_grad_x else None,
        )
        return grad_x
