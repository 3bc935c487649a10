"""The layer with one weight a feature."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Count
from daskdl.nn.layers.input_kinds import refuse_input
from daskdl.nn.layers.row_activation import activated_rows
from daskdl.nn.run import Backward, Run


class ElementWiseMultiplication(WeightOptions, TrainingOptions, LayerConf):
    """Weigh each feature: ``activation(x * W + b)``.

    Parameters
    ----------
    n_out : int, optional
        As many as come in; None infers it.
    """

    ignores_weight_noise: ClassVar[bool] = True
    can_be_cut: ClassVar[bool] = True

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

    def fans(self, parameter: Parameter) -> tuple[float, float]:
        """Return the number of features, twice."""
        (n,) = parameter.shape
        return n, n

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Weigh `x`, of shape (batch, ..., n); masked rows come out as 0."""
        xp = array_namespace(x)
        weight = run.params["W"]
        rows = x.reshape(-1, x.shape[-1])
        preout = run.lent_like("preout", rows)
        xp.multiply(rows, weight, out=preout)
        preout += run.params["b"]
        output, activated_backward = activated_rows(run, preout, self.activation)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            grad_preout = activated_backward(grad_out)
            xp.sum(grad_preout, axis=0, out=run.gradients["b"])
            grad_x = run.lent_like("grad_x", rows)
            xp.multiply(grad_preout, rows, out=grad_x)
            xp.sum(grad_x, axis=0, out=run.gradients["W"])
            if not run.needs_grad_x:
                return None
            xp.multiply(grad_preout, weight, out=grad_x)
            return grad_x.reshape(x.shape)

        return output.reshape(x.shape), backward
