"""The layer that applies an activation function and nothing else."""

from typing import Literal

import numpy as np
from pydantic import Field

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.nn.activations.rectifiers import RELU
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation, draws_random_numbers
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.layers.layer import Layer, works_for
from daskdl.nn.layers.softmax_axis import as_activated


class Activation(LayerConf):
    """Apply an activation function and nothing else; None takes the network's.

    Parameters
    ----------
    activation : activation, optional
        The function, with or without options.
    """

    type: Literal["activation"] = "activation"
    activation: AnyActivation | None = Field(default=None, kw_only=False)

    @property
    def draws_random_numbers(self) -> bool:
        """True if the activation does in training, or input is dropped."""
        if self.activation is not None and draws_random_numbers(self.activation):
            return True
        return super().draws_random_numbers

    def output_type(self, input_type: InputType) -> InputType:
        """Return `input_type`: nothing changes its shape."""
        return input_type


@works_for(Activation)
class ActivationLayer(Layer[Activation]):
    """``activation(x)``; softmax as :func:`~softmax_axis.as_activated` says.

    Where the layer in front does it already, see :mod:`daskdl.nn.fusion`, arrays are
    handed through.
    """

    def __init__(
        self, conf: Activation, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        activation: AnyActivation = self._given("activation", conf.activation)
        self._activation = activation_function(activation, conf.quirks)
        self._is_done_before = False

    @property
    def is_relu(self) -> bool:
        """Whether this is a rectifier without options."""
        return self._activation is RELU

    def leave_to_source(self) -> None:
        """Hand arrays through from now on."""
        self._is_done_before = True

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, an array like `x`; see :meth:`Layer.forward`."""
        self._check_input(x)
        if self._is_done_before:
            return x
        self._x = x
        self._output: FloatArray = self._like("output", x)
        self._activation.forward(
            self._seen(x),
            out=self._seen(self._output),
            rng=rng if training else None,
        )
        return self._output

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Layer.backward`."""
        if self._is_done_before:
            return grad_out
        grad_x: FloatArray = self._like("grad_x", grad_out)
        arrays = (grad_out, self._x, self._output)
        self._activation.backward(
            *(self._seen(array) for array in arrays), out=self._seen(grad_x)
        )
        return grad_x

    def _seen(self, array: FloatArray) -> FloatArray:
        quirks = self.conf.quirks
        return as_activated(array, self._activation, self.input_type, quirks)
