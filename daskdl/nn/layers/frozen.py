"""The wrapper that keeps a layer as it is, and the gradient from what is in front."""

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.layer import works_for
from daskdl.nn.layers.wrapper import WrapperConf, WrapperLayer


class Frozen(WrapperConf):
    """Keep a layer as it is: it works in inference mode, also in training.

    No gradient goes through it: layers in front of it learn nothing from what is behind
    it. Its parameters have no regularization, no constraints and no updater state.

    Parameters
    ----------
    layer : layer
        Any but an output layer.
    """

    stops_gradient: ClassVar[bool] = True

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


@works_for(Frozen)
class FrozenLayer(WrapperLayer[Frozen]):
    """The wrapped layer in inference mode, without gradients."""

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
        self._x = x
        return self._inner_forward(x, training=False, mask=mask, rng=None)

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Set all gradients to 0, that in the input too; see :meth:`Layer.backward`."""
        for gradient in self.gradients.values():
            gradient.fill(0)
        if not self.needs_grad_x:
            return None
        grad_x = self._like("grad_x", self._x)
        grad_x.fill(0)
        return grad_x
