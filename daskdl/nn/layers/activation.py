"""The layer that applies an activation function and nothing else."""

from collections.abc import Callable
from typing import ClassVar, Literal

from pydantic import Field

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.activations.function import ActivationFunction
from daskdl.nn.activations.rectifiers import RELU
from daskdl.nn.activations.table import activation_function
from daskdl.nn.conf.activations import AnyActivation
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.run import Backward, Run


class Activation(LayerConf):
    """Apply an activation function and nothing else; None takes the network's.

    Parameters
    ----------
    activation : activation, optional
        The function, with or without options.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["activation"] = "activation"
    activation: AnyActivation | None = Field(default=None, kw_only=False)

    @property
    def is_relu(self) -> bool:
        """Whether this is a rectifier without options."""
        return self._function is RELU

    def output_type(self, input_type: InputType) -> InputType:
        """Return `input_type`: nothing changes its shape."""
        return input_type

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Return an array like `x`, of shape (batch, ...)."""
        function, output = self._function, run.lent_like("output", x)
        activate(run, function, x, output)
        # Most read the output alone: then nobody holds the input.
        preout = x if function.reads_preout else output
        return output, way_through(run, function, preout, output)

    @property
    def _function(self) -> ActivationFunction:
        return activation_function(self.activation, self.quirks)


def activate(
    run: Run, function: ActivationFunction, preout: FloatArray, output: FloatArray
) -> None:
    """Apply a function to an array whose last axis are features or channels.

    A softmax is over the channels, but with the quirk ``softmax_along_last_axis`` along
    the last axis of the data format: the width of images and volumes, or the time,
    where channels come first.

    Parameters
    ----------
    run : Run
        Says which axis is the last one of its data format.
    function : ActivationFunction
    preout : ndarray of shape (batch, ..., channels)
    output : ndarray like preout
        Overwritten; may be `preout` itself where the function allows it.
    """
    seen = _seen_by(function, run)
    function.forward(seen(preout), out=seen(output), rng=run.rng)


def way_through(
    run: Run, function: ActivationFunction, preout: FloatArray, output: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """Return the way back through :func:`activate`, which holds what it reads.

    Parameters
    ----------
    run, function, preout, output
        As of :func:`activate`.

    Returns
    -------
    function of the gradient in the output, (batch, ..., channels)
        Returns that in `preout`: an array of its own, or what it was given.
    """
    if function.name == "identity":
        return _as_it_is
    seen = _seen_by(function, run)

    def backward(grad_out: FloatArray) -> FloatArray:
        grad_preout = run.lent_like("grad_preout", grad_out)
        arrays = (grad_out, preout, output)
        function.backward(*map(seen, arrays), out=seen(grad_preout))
        return grad_preout

    return backward


def _as_it_is(grad_out: FloatArray) -> FloatArray:
    return grad_out


def _seen_by(
    function: ActivationFunction, run: Run
) -> Callable[[FloatArray], FloatArray]:
    """Return the function that makes a view with the activation's axis last."""
    if (
        "softmax_along_last_axis" in run.quirks
        and function.name == "softmax"
        and run.input_type.is_channels_first
    ):
        return lambda array: array.swapaxes(-1, -2)
    return lambda array: array
