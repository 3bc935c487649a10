"""The wrapper that keeps a layer as it is, and the gradient from what is in front."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.wrapper import WrapperConf, through
from daskdl.nn.run import LayerPass, Run


class Frozen(WrapperConf, LayerConf):
    """Keep a layer as it is: it works in inference mode, also in training.

    No gradient goes through it: layers in front of it learn nothing from what is behind
    it. Its parameters have no regularization, no constraints and no updater state.

    Parameters
    ----------
    layer : layer
        Any but an output layer.
    """

    stops_gradient: ClassVar[bool] = True
    can_be_cut: ClassVar[bool] = True

    type: Literal["frozen"] = "frozen"

    def output_type(self, input_type: InputType) -> InputType:
        """Return what comes out of the wrapped layer."""
        return self.wrapped_output(input_type)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return the parameters of the wrapped layer, which never change."""
        return tuple(
            replace(item, role="frozen", is_pretraining=False)
            for item in super().parameters(input_type)
        )

    @property
    def draws_random_numbers(self) -> bool:
        """True if the wrapper drops its input; the layer inside drops nothing."""
        return self.input_dropout is not None

    def forward(self, run: Run, x: FloatArray) -> LayerPass:
        """Compute the output in inference mode, (batch, ...), for `x` (batch, ...)."""
        output, _ = through(run, x, learns=False)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            clear(run.gradients)
            if not run.needs_grad_x:
                return None
            grad_x = run.lent_like("grad_x", x)
            grad_x.fill(0)
            return grad_x

        return output, backward


def clear(gradients: Mapping[str, FloatArray]) -> None:
    """Set the gradients of frozen parameters, of any shape, to 0."""
    for gradient in gradients.values():
        gradient.fill(0)
