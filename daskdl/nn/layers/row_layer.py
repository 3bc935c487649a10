"""What the layers share whose activation sees rows, and in which a mask drops rows."""

from typing import TypeVar

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import WeightLayerConf
from daskdl.nn.layers.layer import Layer
from daskdl.nn.masks import column_mask

R = TypeVar("R", bound=WeightLayerConf)


class RowLayer(Layer[R]):
    """A layer of rows: examples, or the time steps of all of them."""

    # Whether somebody beside the gradient of the activation reads the pre-activations.
    _keeps_preout = False

    def __init__(
        self, conf: R, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        activation: AnyActivation = self._given("activation", conf.activation)
        self._activation = activation_function(activation, conf.quirks)

    def _activated(
        self, preout: FloatArray, rng: np.random.Generator | None
    ) -> FloatArray:
        """Return the activation, in place where nobody reads what went in.

        Only training gives an `rng`.
        """
        reads_preout = self._keeps_preout or self._activation.reads_preout
        out = self._like("output", preout) if reads_preout else preout
        return self._activation.forward(preout, out=out, rng=rng)

    def _activated_and_masked(
        self,
        preout: FloatArray,
        mask: FloatArray | None,
        rng: np.random.Generator | None,
    ) -> FloatArray:
        """Return the activation of kept rows, and 0 for the others."""
        self._preout = preout
        self._output = self._activated(preout, rng)
        self._column = None
        if mask is not None:
            self._column = column_mask(mask, len(preout), self.who)
            self._output *= self._column
        return self._output

    def _preout_gradient(self, grad_out: FloatArray) -> FloatArray:
        """Return the gradient in what :meth:`_activated_and_masked` saw, a buffer."""
        grad = grad_out.reshape(self._output.shape)
        grad_preout = self._like("grad_preout", self._output)
        if self._column is not None:
            xp = array_namespace(grad)
            grad = xp.multiply(grad, self._column, out=grad_preout)
        return self._activation.backward(
            grad, self._preout, self._output, out=grad_preout
        )
