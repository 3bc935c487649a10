"""A layer in one class: options, shapes, parameters, forward and backward.

The class is a frozen value like every configuration and holds no state; what it works
with is the argument `run`. `forward` returns the output and the function that takes the
gradient back, and that closes over what it needs.
"""

from typing import Any, ClassVar, TypeVar

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.errors import ShapeError
from daskdl.nn.conf.axes import fits
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf, TrainedLayerConf
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Real
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.initializers import draw_weights
from daskdl.nn.layers.layer import Layer, works_for
from daskdl.nn.run import Backward, Run


class LayerDefinition(TrainedLayerConf):
    """A layer of one's own: derive from it, and register it with :func:`daskdl.layer`.

    Options are annotated fields. Arrays are of shape (batch, features), series (batch,
    time, features), images (batch, height, width, channels), whatever the data format
    of the network's input.

    Parameters
    ----------
    weight_init : str or weight init, optional
        How parameters of the role ``"weight"`` are drawn.
    bias_init, gain_init : float, optional
        What parameters of the roles ``"bias"`` and ``"gain"`` begin with.

    Examples
    --------
    >>> import daskdl
    >>> @daskdl.layer("doubled_example")
    ... class Doubled(daskdl.LayerDefinition):
    ...     def forward(self, run, x):
    ...         return 2 * x, lambda grad: 2 * grad
    >>> Doubled()
    Doubled()
    """

    # Whether training needs random numbers beside those of dropout.
    draws: ClassVar[bool] = False

    # That under which the class is registered.
    type: str = ""
    weight_init: AnyWeightInit | None = None
    bias_init: Real | None = None
    gain_init: Real | None = None

    def output_type(self, input_type: InputType) -> InputType:
        """Return what comes out for `input_type`: the same, unless overridden."""
        return input_type

    @property
    def draws_random_numbers(self) -> bool:
        """True if training needs random numbers."""
        return self.draws or super().draws_random_numbers


D = TypeVar("D", bound=LayerConf)


class DefinedLayer(Layer[D]):
    """A definition at work in a network.

    Parameters
    ----------
    conf : LayerConf
    input_type, name, workspace
        As of :class:`~daskdl.nn.layers.layer.Layer`.

    Attributes
    ----------
    run : Run
        What the definition works with.
    """

    def __init__(
        self, conf: D, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        if "activation" not in conf.unused_options:
            self._given("activation", getattr(conf, "activation", ""))
        self.run = Run(
            {},
            {},
            fused=self.fused,
            quirks=conf.quirks,
            input_type=input_type,
            output_type=self.output_type,
            who=self.who,
            name=name,
            workspace=workspace,
        )
        self._backward: Backward | None = None

    def bind(
        self, params: dict[str, FloatArray], gradients: dict[str, FloatArray]
    ) -> None:
        """Take the views to read parameters from and write gradients to."""
        super().bind(params, gradients)
        self.run.params, self.run.gradients = params, gradients

    def initialize(self, rng: np.random.Generator) -> None:
        """Fill the parameters as their roles say, and then as the definition does."""
        bias = getattr(self.conf, "bias_init", None)
        gain = getattr(self.conf, "gain_init", None)
        begin = {"gain": gain, "bias": bias, "bias of weights": bias}
        for item in self.conf.parameters(self.input_type):
            values = self.params[item.name]
            if item.role == "weight":
                self._draw_weight(item, rng)
            else:
                values.fill(begin.get(item.role) or 0.0)
        self.conf.initialize(self.run, rng)

    def _draw_weight(self, item: Parameter, rng: np.random.Generator) -> None:
        scheme = self._given("weight_init", getattr(self.conf, "weight_init", None))
        out, quirks = self.params[item.name], self.conf.quirks
        if out.ndim == 1:
            # Some vectors are rows in files, and drawn as such.
            out = out.reshape(item.shape_in_file)
        draw_weights(scheme, *self.conf.fans(item), rng, out=out, quirks=quirks)

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output; see :meth:`Layer.forward`."""
        if self.fused.is_done or (self.fused.is_done_in_inference and not training):
            self._backward = _handed_through
            return x
        self._check_input(x)
        run = self.run
        run.training, run.mask, run.rng = training, mask, rng if training else None
        output: FloatArray
        output, self._backward = self.conf.forward(run, x)
        return output

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients; see :meth:`Layer.backward`."""
        if self._backward is None:
            raise ShapeError(f"{self.who}: backward must follow forward.")
        self.run.needs_grad_x = self.needs_grad_x
        self.run.needs_gradients = self.needs_gradients
        return self._backward(grad_out)

    def pretrain(self, x: FloatArray, *, rng: np.random.Generator) -> float:
        """Compute the gradients of one step without labels.

        Parameters
        ----------
        x : ndarray of shape (batch, *input_type.shape)
            Not changed.
        rng : numpy.random.Generator
            For corruption and samples.

        Returns
        -------
        score : float
            See :meth:`LayerConf.pretrain`.
        """
        self._check_input(x)
        run = self.run
        run.training, run.mask, run.rng = True, None, rng
        return self.conf.pretrain(run, x, rng)

    def use_mask(self) -> None:
        """Say so to the definition; see :meth:`Layer.use_mask`."""
        self.run.uses_mask = True

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask that goes on with the output."""
        out: FloatArray | None = self.conf.feed_forward_mask(self.run, mask)
        return out


def _handed_through(grad_out: FloatArray) -> FloatArray:
    return grad_out


@works_for(LayerDefinition)
class OwnLayer(DefinedLayer[LayerDefinition]):
    """A definition that somebody else wrote: what it returns is looked at."""

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output; see :meth:`Layer.forward`."""
        try:
            output = super().forward(x, training=training, mask=mask, rng=rng)
        except (TypeError, ValueError) as error:
            if "unpack" not in str(error):
                raise
            raise ShapeError(
                f"{self.who}: forward must return the output and the function that "
                "takes its gradient back, got something else."
            ) from error
        self._check_made("forward", "an output", output, self.output_type, x)
        return output

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients; see :meth:`Layer.backward`."""
        grad_x = super().backward(grad_out)
        self._check_made("backward", "a gradient", grad_x, self.input_type, grad_out)
        return grad_x

    def _check_made(
        self, by: str, what: str, array: Any, kind: InputType, like: FloatArray
    ) -> None:
        axes = ", ".join("time" if n is None else str(n) for n in kind.shape)
        shape, dtype = getattr(array, "shape", None), getattr(array, "dtype", None)
        if shape is None or len(array) != len(like) or not fits(kind.shape, array):
            raise ShapeError(
                f"{self.who}: {by} must return {what} of shape (batch, {axes}), got "
                f"{type(array).__name__ if shape is None else shape}."
            )
        if dtype != like.dtype:
            raise ShapeError(
                f"{self.who}: {by} must return {what} of dtype {like.dtype}, got "
                f"{dtype}."
            )
