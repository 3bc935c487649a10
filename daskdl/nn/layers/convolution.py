"""The two-dimensional convolution layer."""

from typing import ClassVar

import numpy as np

from daskdl.arrays.namespace import FloatArray, to_device
from daskdl.arrays.workspace import Workspace
from daskdl.kernels.conv import convolution_backward, convolution_forward
from daskdl.nn.activations import activation_function
from daskdl.nn.conf.convolutional import Convolution2D
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.names import WeightInitLiteral
from daskdl.nn.initializers import initialize
from daskdl.nn.layers.input_dropout import InputDropout
from daskdl.nn.layers.layer import Layer
from daskdl.nn.layers.windows import window_of


class ConvolutionLayer(Layer[Convolution2D]):
    """``activation(cross-correlation of x with W, plus b)`` of images."""

    regularized: ClassVar[frozenset[str]] = frozenset({"W"})
    biases: ClassVar[frozenset[str]] = frozenset({"b"})

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
        self._dropout = InputDropout(conf.keep_probability, name, workspace)
        self._window = window_of(conf, input_type)

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw W with DL4J's fans; every bias is `bias_init`.

        The fans are n_in * kernel cells, and n_out * kernel cells / stride cells.
        """
        weight = self.params["W"]
        cells = self._window.n_cells
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
        self._x = self._dropout.forward(x, training=training, rng=rng)
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
        return None if grad_x is None else self._dropout.backward(grad_x)
