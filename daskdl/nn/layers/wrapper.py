"""What all layers share that hold another layer and change what goes in or comes out.

The wrapped layer has the parameters, and says how they change. It lies in a stage of
its own, so that its dropout and preprocessor are where they are without a wrapper; a
dropout of the wrapper is one of what comes in.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import Field

from daskdl.arrays.namespace import FloatArray
from daskdl.arrays.workspace import Workspace
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.kinds import LAYER_KINDS, AnyOf
from daskdl.nn.conf.layer import LayerConf, TrainedLayerConf
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.layer import Layer
from daskdl.nn.layers.stage import Stage

# One annotation for all wrappers: a schema describes what they hold only once.
AnyWrapped = Annotated[LayerConf, AnyOf(LAYER_KINDS)]


class WrapperConf(LayerConf):
    """A layer that holds another one.

    Parameters
    ----------
    layer : layer
        The one that is wrapped. Its name and inputs are those of the wrapper.
    """

    layer: AnyWrapped = Field(kw_only=False)

    def inner_type(self, input_type: InputType) -> InputType:
        """Return the wrapped layer's input type, in front of its preprocessor."""
        return inside_type(input_type)

    def wrapped_output(self, input_type: InputType) -> InputType:
        """Return the output type of the wrapped layer.

        Raises
        ------
        OptionError
            If it has inputs, has a loss, or cannot take what arrives.
        """
        if self.layer.inputs:
            raise PathError(
                f"must be left out: the wrapper's count, got {self.layer.inputs!r}.",
                *("layer", "inputs"),
            )
        if self.layer.is_output:
            kind = type(self.layer).__name__
            raise PathError(f"must be no output layer, got {kind}.", "layer")
        try:
            return self.layer.output_type(self._entering(input_type))
        except PathError as error:
            raise error.below("layer") from None

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return the parameters of the wrapped layer."""
        return self.layer.parameters(self._entering(input_type))

    def file_order(self, input_type: InputType) -> tuple[str, ...]:
        """Return the order of the wrapped layer."""
        return self.layer.file_order(self._entering(input_type))

    @property
    def table_order(self) -> tuple[str, ...]:
        """The order of the wrapped layer."""
        return self.layer.table_order

    @property
    def reads_whole_series(self) -> bool:
        """True if the wrapped layer does."""
        return self.layer.reads_whole_series

    @property
    def trained(self) -> TrainedLayerConf | None:
        """The wrapped layer, which says how the parameters change."""
        return self.layer.trained

    def filled(
        self, defaults: Mapping[str, Any], input_type: InputType, name: str
    ) -> LayerConf:
        """Return a copy whose wrapped layer has nothing left open."""
        self.check_dropout(input_type)
        layer = self.layer.filled(defaults, self._entering(input_type), name)
        return self.model_copy(update={"name": name, "layer": layer})

    @property
    def draws_random_numbers(self) -> bool:
        """True if the wrapper or the wrapped layer needs random numbers."""
        return super().draws_random_numbers or self.layer.draws_random_numbers

    def _entering(self, input_type: InputType) -> InputType:
        """Return what the wrapped layer gets, behind its preprocessor."""
        arriving = self.inner_type(input_type)
        if self.layer.preprocessor is None:
            return arriving
        return inside_type(self.layer.preprocessor.output_type(arriving))


W = TypeVar("W", bound=WrapperConf)


class WrapperLayer(Layer[W]):
    """A wrapper at work: everything is passed on, and a subclass changes what differs.

    Attributes
    ----------
    inner : Layer
        The wrapped layer.
    """

    def __init__(
        self, conf: W, input_type: InputType, name: str, workspace: Workspace
    ) -> None:
        super().__init__(conf, input_type, name, workspace)
        arriving = conf.inner_type(input_type)
        self._stage = Stage(conf.layer, arriving, f"{name}.layer", workspace)
        self.inner: Layer[Any] = self._stage.layer
        if "wrapped_layers_forget" in conf.quirks:
            is_nested = isinstance(self.inner, WrapperLayer)
            for layer in self.inner.walk():
                layer.forgets_between_segments |= is_nested or layer.forgets_in_wrappers
        self._mask_behind: FloatArray | None = None

    def walk(self) -> Iterator[Layer[Any]]:
        """Yield the wrapper, and the layers inside it."""
        yield self
        yield from self.inner.walk()

    def bind(
        self, params: dict[str, FloatArray], gradients: dict[str, FloatArray]
    ) -> None:
        """Hand the views on to the wrapped layer; see :meth:`Layer.bind`."""
        super().bind(params, gradients)
        self.inner.bind(params, gradients)

    def initialize(self, rng: np.random.Generator) -> None:
        """Let the wrapped layer draw its initial values."""
        self.inner.initialize(rng)

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output of the wrapped layer; see :meth:`Layer.forward`."""
        self._check_input(x)
        return self._inner_forward(x, training=training, mask=mask, rng=rng)

    def backward(self, grad_out: FloatArray) -> FloatArray | None:
        """Compute the gradients of the wrapped layer; see :meth:`Layer.backward`."""
        return self._inner_backward(grad_out)

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask behind the wrapped layer.

        See :meth:`Layer.feed_forward_mask`.
        """
        return self._mask_behind

    def use_mask(self) -> None:
        """Let the layers inside use a mask that they only pass on by themselves."""
        self.inner.use_mask()

    def step_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return that of the wrapped layer; see :meth:`Layer.step_mask`."""
        return self.inner.step_mask(mask)

    def _inner_forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None,
        rng: np.random.Generator | None,
    ) -> FloatArray:
        output, self._mask_behind = self._stage.forward(
            x, training=training, mask=mask, rng=rng, batch_size=len(x)
        )
        return output

    def _inner_backward(self, grad_out: FloatArray) -> FloatArray | None:
        self.inner.needs_grad_x = self.needs_grad_x
        self.inner.needs_gradients &= self.needs_gradients
        return self._stage.backward(grad_out)
