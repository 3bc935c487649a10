"""What all layers share that hold another layer and change what goes in or comes out.

The wrapped layer has the parameters, and says how they change. Its dropout and
preprocessor are where they are without a wrapper; a dropout of the wrapper is one of
what comes in.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType, inside_type
from daskdl.nn.conf.kinds import LAYER_KINDS, AnyOf
from daskdl.nn.conf.layer import Inside, LayerConf, LayerGroup
from daskdl.nn.conf.options import TrainingOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.run import InnerLayer, LayerPass, Run

# One annotation for all wrappers: a schema describes what they hold only once.
AnyWrapped = Annotated[LayerConf, AnyOf(LAYER_KINDS)]


class WrapperConf(LayerGroup):
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
    def trained(self) -> TrainingOptions | None:
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

    def layers_inside(self, input_type: InputType) -> tuple[Inside, ...]:
        """Return the layer inside."""
        return (Inside("layer", self.layer, self.inner_type(input_type)),)

    def forward(self, run: Run, x: FloatArray) -> LayerPass:
        """Compute the output of the wrapped layer, (batch, ...)."""
        return through(run, x)

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask (batch, time) or (batch, 1) behind the wrapped layer."""
        return run.inner[0].mask

    def step_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return that of the wrapped layer; see :meth:`LayerConf.step_mask`."""
        inner = run.inner[0]
        return inner.conf.step_mask(inner.run, mask)


ARRIVED: Any = object()


def through(
    run: Run,
    x: FloatArray,
    *,
    inner: InnerLayer | None = None,
    mask: FloatArray | None = ARRIVED,
    learns: bool = True,
) -> LayerPass:
    """Return what a layer inside a wrapper computes, and its way back.

    Parameters
    ----------
    run : Run
        Of the wrapper.
    x : ndarray of shape (batch, ...)
        What the layer gets.
    inner : InnerLayer, optional
        By default the first one.
    mask : ndarray of shape (batch, time), (batch, 1), or None
        By default that which arrived at the wrapper.
    learns : bool
        Whether it is trained where the wrapper is; if not, it is in inference mode and
        nobody reads the gradients of its parameters.

    Returns
    -------
    output : ndarray of shape (batch, ...)
    backward : function of a gradient like output
    """
    layer = run.inner[0] if inner is None else inner
    training = run.training and learns
    output = layer.forward(
        x,
        training=training,
        mask=run.mask if mask is ARRIVED else mask,
        rng=run.rng if training else None,
    )

    def backward(grad_out: FloatArray) -> FloatArray | None:
        layer.run.needs_grad_x = run.needs_grad_x
        layer.run.needs_gradients = run.needs_gradients and learns
        return layer.backward(grad_out)

    return output, backward
