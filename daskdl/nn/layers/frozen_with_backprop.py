"""The wrapper that keeps a layer as it is, and hands the gradient on."""

from dataclasses import replace
from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import TrainingOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.frozen import clear
from daskdl.nn.layers.wrapper import WrapperConf, through
from daskdl.nn.run import LayerPass, Run


class FrozenWithBackprop(WrapperConf, LayerConf):
    """Keep a layer as it is, in inference mode; layers in front of it go on learning.

    Its parameters have no regularization, no constraints and no updater state.

    Parameters
    ----------
    layer : layer
        Any but an output layer.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["frozen_with_backprop"] = "frozen_with_backprop"

    def output_type(self, input_type: InputType) -> InputType:
        """Return what comes out of the wrapped layer."""
        return self.wrapped_output(input_type)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return the parameters of the wrapped layer, which never change."""
        inside = super().parameters(input_type)
        if "frozen_layers_decay" in self.quirks:
            # With updater state, and penalties: they are not quite frozen.
            return tuple(replace(item, is_scored=False) for item in inside)
        frozen = (replace(item, role="frozen", is_pretraining=False) for item in inside)
        return tuple(frozen)

    @property
    def trained(self) -> TrainingOptions | None:
        """The wrapped layer, without its constraints."""
        trained = super().trained
        return trained and trained.model_copy(update={"constraints": ()})

    @property
    def draws_random_numbers(self) -> bool:
        """True if the wrapper drops its input; the layer inside drops nothing."""
        return self.input_dropout is not None

    def forward(self, run: Run, x: FloatArray) -> LayerPass:
        """Compute the output in inference mode, (batch, ...), for `x` (batch, ...)."""
        output, back = through(run, x, learns=False)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            grad_x = back(grad_out)
            clear(run.gradients)
            return grad_x

        return output, backward
