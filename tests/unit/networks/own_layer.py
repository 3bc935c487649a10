"""A layer of one's own, in a module that no worker has."""

import daskdl


@daskdl.layer("scaled_by_test")
class Scaled(daskdl.LayerDefinition):
    """Each feature times a number that is learned.

    Parameters
    ----------
    factor : float
        Of all features.
    """

    factor: float = 1.0

    def parameters(self, input_type):
        return (daskdl.Parameter("scale", input_type.shape[-1:], "gain"),)

    def forward(self, run, x):
        scale = self.factor * run.params["scale"]

        def backward(grad):
            summed = (grad * x).reshape(-1, x.shape[-1]).sum(axis=0)
            run.gradients["scale"][...] = self.factor * summed
            return grad * scale

        return x * scale, backward
