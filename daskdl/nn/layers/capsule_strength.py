"""The layer that measures capsules."""

from typing import ClassVar, Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.capsules import strength_backward, strength_forward
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf, refuse_input
from daskdl.nn.layers.layer import Layer


class CapsuleStrength(LayerConf):
    """The length of each capsule: how sure it is that there is what it stands for."""

    counts_gradient_twice: ClassVar[bool] = True

    type: Literal["capsule_strength"] = "capsule_strength"

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows of one number for each capsule."""
        if not isinstance(input_type, Recurrent):
            raise refuse_input(self, "capsules (Recurrent input)", input_type)
        return FeedForward(size=input_type.size)


class CapsuleStrengthLayer(Layer[CapsuleStrength]):
    """The Euclidean length of each capsule."""

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, (batch, capsules).

        See :meth:`Layer.forward`. Masks only pass by.
        """
        self._check_input(x)
        self._x = x
        self._output = self._buffer("output", (x.shape[0], x.shape[2]), x.dtype)
        return strength_forward(x, out=self._output)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Layer.backward`."""
        grad_x = self._like("grad_x", self._x)
        return strength_backward(grad_out, self._x, self._output, grad_x=grad_x)
