"""The layer of capsules that choose among each other by agreement."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.capsules import route_backward, route_forward
from daskdl.kernels.capsules.routing import Routing
from daskdl.nn.conf.input_type import InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf, TrainedLayerConf, refuse_input
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Count, Real
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.layers.layer import Layer, works_for
from daskdl.nn.layers.same_diff import sd_defaults, sd_parameter


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


def entering_capsules(
    layer: TrainedLayerConf, input_type: InputType
) -> tuple[int, int]:
    """Return how many capsules come in, and the numbers of one; refuse other things."""
    if isinstance(input_type, Recurrent) and input_type.time_steps is not None:
        return input_type.n_features, input_type.time_steps
    needs = "capsules (Recurrent input of known length)"
    raise refuse_input(layer, needs, input_type)


@works_for(Capsule)
class CapsuleLayer(Layer[Capsule]):
    """``squash(what capsules in front predict, weighed by agreement, plus bias)``."""

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw the weight; every bias is `bias_init`.

        The fans are all numbers that come in, and all that come out.
        """
        n_in, n_out, n_dimensions = self.params["weight"].shape
        self._draw("weight", n_in * n_dimensions, n_out, rng)
        if "bias" in self.params:
            self.params["bias"].fill(self._given("bias_init", self.conf.bias_init))

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, (batch, dimensions, capsules).

        See :meth:`Layer.forward`. Masks only pass by.
        """
        self._check_input(x)
        batch, n_dimensions, n_in = x.shape
        self._x = self._buffer("x", (n_in, batch, n_dimensions), x.dtype)
        self._x[...] = x.transpose(2, 0, 1)
        self._routing = self._new_routing(n_in, batch, x.dtype)
        shape = (batch, self.conf.capsules, self.conf.capsule_dimensions)
        capsules = self._buffer("capsules", shape, x.dtype)
        route_forward(
            self._x,
            self.params["weight"],
            self.params.get("bias"),
            self._routing,
            out=capsules,
        )
        output: FloatArray = self._buffer(
            "output", (batch, shape[2], shape[1]), x.dtype
        )
        output[...] = capsules.transpose(0, 2, 1)
        return output

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients; see :meth:`Layer.backward`."""
        grad_rows = route_backward(
            grad_out.transpose(0, 2, 1),
            self._x,
            self.params["weight"],
            self._routing,
            self._workspace,
            grad_weight=self.gradients["weight"],
            grad_bias=self.gradients.get("bias"),
            grad_x=self._like("grad_rows", self._x) if self.needs_grad_x else None,
        )
        if grad_rows is None:
            return None
        n_in, batch, n_dimensions = grad_rows.shape
        grad_x: FloatArray = self._buffer(
            "grad_x", (batch, n_dimensions, n_in), grad_rows.dtype
        )
        grad_x[...] = grad_rows.transpose(1, 2, 0)
        return grad_x

    def _new_routing(
        self, n_in: int, batch: int, dtype: np.dtype[np.floating]
    ) -> Routing:
        conf = self.conf
        below, above = (n_in, batch), (conf.capsules, conf.capsule_dimensions)
        return Routing(
            self._buffer("predictions", (*below, *above), dtype),
            self._buffer("couplings", (conf.routings, *below, conf.capsules), dtype),
            self._buffer("sums", (conf.routings, batch, *above), dtype),
        )
