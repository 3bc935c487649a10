"""A layer of one's own: swish with a slope for each feature that is learned."""

import numpy as np

import daskdl


@daskdl.layer("learned_swish")
class LearnedSwish(daskdl.LayerDefinition):
    """``x * sigmoid(b * x)``."""

    def parameters(self, input_type):
        return (daskdl.Parameter("b", input_type.shape[-1:], "gain"),)

    def forward(self, run, x):
        b = run.params["b"]
        gate = 1 / (1 + np.exp(-b * x))

        def backward(grad):
            in_gate = grad * x * gate * (1 - gate)
            axes = tuple(range(x.ndim - 1))
            run.gradients["b"][...] = (in_gate * x).sum(axis=axes)
            return grad * gate + in_gate * b

        return x * gate, backward
