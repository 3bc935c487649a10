"""The layer with one weight a feature."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf, WeightLayerConf, refuse_input
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Count
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.initializers import draw_weights
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.row_layer import RowLayer


class ElementWiseMultiplication(WeightLayerConf):
    """Weigh each feature: ``activation(x * W + b)``.

    Parameters
    ----------
    n_out : int, optional
        As many as come in; None infers it.
    """

    ignores_weight_noise: ClassVar[bool] = True

    type: Literal["element_wise_multiplication"] = "element_wise_multiplication"
    n_out: Count | None = None  # type: ignore[assignment]

    def output_type(self, input_type: InputType) -> InputType:
        """Return `input_type`; refuse all but rows and time series."""
        if not isinstance(input_type, FeedForward | Recurrent):
            raise refuse_input(self, "rows or time series", input_type)
        n_in = self.inferred_n_in(input_type)
        if self.n_out not in (None, n_in):
            raise PathError(
                f"must be {n_in}, as many as come in, got {self.n_out}. Leave it out "
                "to infer it.",
                "n_out",
            )
        return input_type

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W and b, each (n,)."""
        shape = (self.inferred_n_in(input_type),)
        return (
            Parameter("W", shape, file_shape=(1, *shape)),
            Parameter("b", shape, "bias"),
        )

    def filled(
        self, defaults: Mapping[str, Any], input_type: InputType, name: str
    ) -> LayerConf:
        """Return a copy with nothing left open, `n_out` included."""
        filled = super().filled(defaults, input_type, name)
        return filled.model_copy(update={"n_out": self.inferred_n_in(input_type)})


@works_for(ElementWiseMultiplication)
class ElementWiseMultiplicationLayer(RowLayer[ElementWiseMultiplication]):
    """``activation(x * W + b)``; masked rows come out as 0."""

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw W with as many inputs and outputs as features; b is `bias_init`."""
        weight = self.params["W"]
        n = weight.size
        scheme: AnyWeightInit = self._given("weight_init", self.conf.weight_init)
        row, quirks = weight.reshape(1, n), self.conf.quirks
        draw_weights(scheme, n, n, rng, out=row, quirks=quirks)
        self.params["b"].fill(self._given("bias_init", self.conf.bias_init))

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output, an array like `x`; see :meth:`Layer.forward`."""
        self._check_input(x)
        self._rows = x.reshape(-1, x.shape[-1])
        preout = self._like("preout", self._rows)
        array_namespace(x).multiply(self._rows, self.params["W"], out=preout)
        preout += self.params["b"]
        rows = self._activated_and_masked(preout, mask, rng if training else None)
        return rows.reshape(x.shape)

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients; see :meth:`Layer.backward`."""
        xp = array_namespace(grad_out)
        grad_preout = self._preout_gradient(grad_out)
        xp.sum(grad_preout, axis=0, out=self.gradients["b"])
        grad_x = self._like("grad_x", grad_preout)
        xp.multiply(grad_preout, self._rows, out=grad_x)
        xp.sum(grad_x, axis=0, out=self.gradients["W"])
        if not self.needs_grad_x:
            return None
        xp.multiply(grad_preout, self.params["W"], out=grad_x)
        return grad_x.reshape(grad_out.shape)
