"""The layer that measures capsules."""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.capsules import strength_backward, strength_forward
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf, refuse_input
from daskdl.nn.run import Backward, Run


class CapsuleStrength(LayerConf):
    """The length of each capsule: how sure it is that there is what it stands for."""

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
