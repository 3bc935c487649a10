"""The layer that drops numbers and does nothing else."""

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layers import Dropout
from daskdl.nn.layers.input_dropout import InputDropout
from daskdl.nn.layers.layer import Layer


class DropoutLayer(Layer[Dropout]):
    """Keep each number with a probability in training, divided by it."""

    def __init__(
        self, conf: Dropout, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self._dropout = InputDropout(conf.keep_probability, name, workspace)

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output; see :meth:`Layer.forward`."""
        self._check_input(x)
        return self._dropout.forward(x, training=training, rng=rng)

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Layer.backward`."""
        grad_x = self._like("grad_x", grad_out)
        array_namespace(grad_out).copyto(grad_x, grad_out)
        return self._dropout.backward(grad_x)
