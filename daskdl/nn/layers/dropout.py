"""The layer that drops numbers and does nothing else."""

from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import (
    LayerConf,
)
from daskdl.nn.conf.values import (
    Probability,
)
from daskdl.nn.layers.layer import Layer


class Dropout(LayerConf):
    """Keep each number with `keep_probability` in training, divided by it."""

    type: Literal["dropout"] = "dropout"
    keep_probability: Probability

    @property
    def draws_random_numbers(self) -> bool:
        """True if anything is dropped."""
        return self.keep_probability < 1

    def output_type(self, input_type: InputType) -> InputType:
        """Return what came in."""
        return input_type


class DropoutLayer(Layer[Dropout]):
    """Passes its input on: the stage around each layer does the dropping."""

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Return `x`; see :meth:`Layer.forward`."""
        self._check_input(x)
        return x

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Return `grad_out`; see :meth:`Layer.backward`."""
        return grad_out
