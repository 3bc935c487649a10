"""A layer of one's own: each feature times a number that is learned."""

import daskdl
from daskdl import Backward, FloatArray, InputType, Parameter, Run, features_of
from daskdl.testing import check_gradients


@daskdl.layer("scaled")
class Scaled(daskdl.LayerDefinition):
    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        return (Parameter("g", (features_of(input_type),), "gain"),)

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        def backward(grad: FloatArray) -> FloatArray:
            run.gradients["g"][...] = (grad * x).sum(axis=tuple(range(x.ndim - 1)))
            return grad * run.params["g"]

        return x * run.params["g"], backward


print(check_gradients(Scaled(), daskdl.FeedForward(4)))
