"""The layer of capsules that choose among each other by agreement."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.capsules import route_backward, route_forward
from daskdl.kernels.capsules.routing import Routing
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf, TrainedLayerConf, refuse_input
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Count, Real
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.layers.same_diff import sd_defaults, sd_parameter
from daskdl.nn.run import Backward, Run


class Capsule(TrainedLayerConf):
    """Capsules that get what the capsules in front send to those they agree with.

    Capsules count as time series: the capsules are the features, and the
    numbers of a capsule are the time steps.

    Parameters
    ----------
    capsules : int
        Number of capsules.
    capsule_dimensions : int
        Numbers of a capsule.
    routings : int
        Iterations of the routing.
    has_bias : bool
        Whether a bias is added to what is squashed.
    weight_init : str or weight init, optional
        How the initial weights are drawn.
    bias_init : float, optional
        Initial bias.

    References
    ----------
    Sabour, Frosst and Hinton, "Dynamic Routing Between
    Capsules", NIPS 2017, procedure 1.
    """

    takes_network_dropout: ClassVar[bool] = False
    counts_gradient_twice: ClassVar[bool] = True

    type: Literal["capsule"] = "capsule"
    capsules: Count
    capsule_dimensions: Count
    routings: Count = 3
    has_bias: bool = False
    weight_init: AnyWeightInit | None = None
    bias_init: Real | None = None

    def filled(
        self, defaults: Mapping[str, Any], input_type: InputType, name: str
    ) -> LayerConf:
        """Return a copy with nothing left open."""
        return super().filled(sd_defaults(self, defaults), input_type, name)

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return the capsules as features, their numbers as time steps."""
        entering_capsules(self, input_type)
        return Recurrent(size=self.capsules, time_steps=self.capsule_dimensions)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return weight (n_in, capsules * dimensions, n_dimensions) and bias."""
        n_in, n_dimensions = entering_capsules(self, input_type)
        n_out = self.capsules * self.capsule_dimensions
        weight = sd_parameter(
            "weight",
            (n_in, n_out, n_dimensions),
            file_shape=(1, n_in, n_out, n_dimensions, 1),
        )
        if not self.has_bias:
            return (weight,)
        shape = (self.capsules, self.capsule_dimensions)
        bias = sd_parameter(
            "bias",
            shape,
            "bias",
            file_shape=(1, 1, *shape, 1),
        )
        return (weight, bias)

    def fans(self, parameter: Parameter) -> tuple[float, float]:
        """Return how many numbers come in, and how many come out."""
        n_in, n_out, n_dimensions = parameter.shape
        return n_in * n_dimensions, n_out

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Route `x`, of shape (batch, numbers of a capsule, capsules).

        Masks only pass by.
        """
        batch, n_dimensions, n_in = x.shape
        weight = run.params["weight"]
        rows = run.buffer("x", (n_in, batch, n_dimensions), x.dtype)
        rows[...] = x.transpose(2, 0, 1)
        routing = self._routing(run, rows)
        shape = (batch, self.capsules, self.capsule_dimensions)
        capsules = run.buffer("capsules", shape, x.dtype)
        route_forward(rows, weight, run.params.get("bias"), routing, out=capsules)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            grad_rows = route_backward(
                grad_out.transpose(0, 2, 1),
                rows,
                weight,
                routing,
                run.workspace,
                grad_weight=run.gradients["weight"],
                grad_bias=run.gradients.get("bias"),
                grad_x=run.like("grad_rows", rows) if run.needs_grad_x else None,
            )
            if grad_rows is None:
                return None
            grad_x = run.like("grad_x", x)
            grad_x[...] = grad_rows.transpose(1, 2, 0)
            return grad_x

        output = run.buffer("output", (batch, shape[2], shape[1]), x.dtype)
        output[...] = capsules.transpose(0, 2, 1)
        return output, backward

    def _routing(self, run: Run, rows: FloatArray) -> Routing:
        """Return the arrays of a routing of `rows`, (n_in, batch, n_dimensions)."""
        below, above = rows.shape[:2], (self.capsules, self.capsule_dimensions)
        shapes = {
            "predictions": (*below, *above),
            "couplings": (self.routings, *below, self.capsules),
            "sums": (self.routings, below[1], *above),
        }
        return Routing(
            *(run.buffer(what, shape, rows.dtype) for what, shape in shapes.items())
        )


def entering_capsules(
    layer: TrainedLayerConf, input_type: InputType
) -> tuple[int, int]:
    """Return how many capsules come in, and the numbers of one; refuse other things."""
    if isinstance(input_type, Recurrent) and input_type.time_steps is not None:
        return input_type.n_features, input_type.time_steps
    needs = "capsules (Recurrent input of known length)"
    raise refuse_input(layer, needs, input_type)
