"""The wrapper that keeps a layer as it is, and hands the gradient on."""

from dataclasses import replace
from typing import Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import TrainedLayerConf
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.wrapper import WrapperConf, WrapperLayer


class FrozenWithBackprop(WrapperConf):
    """Keep a layer as it is, in inference mode; layers in front of it go on learning.

    Its parameters have no regularization, no constraints and no updater state.

    Parameters
    ----------
    layer : layer
        Any but an output layer.
    """

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
    def trained(self) -> TrainedLayerConf | None:
        """The wrapped layer, without its constraints."""
        trained = super().trained
        return trained and trained.model_copy(update={"constraints": ()})

    @property
    def draws_random_numbers(self) -> bool:
        """True if the wrapper drops its input; the layer inside drops nothing."""
        return self.input_dropout is not None


@works_for(FrozenWithBackprop)
class FrozenWithBackpropLayer(WrapperLayer[FrozenWithBackprop]):
    """The wrapped layer in inference mode; its own gradients are 0."""

    def __init__(
        self,
        conf: FrozenWithBackprop,
        input_type: InputType,
        name: str,
        workspace: Workspace,
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        self.inner.needs_gradients = False

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output in inference mode; see :meth:`Layer.forward`."""
        self._check_input(x)
        return self._inner_forward(x, training=False, mask=mask, rng=None)

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradient in the input; see :meth:`Layer.backward`."""
        grad_x = self._inner_backward(grad_out)
        for gradient in self.gradients.values():
            gradient.fill(0)
        return grad_x
