"""The rectifier layer whose slopes below 0 are learned."""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.prelu import prelu_backward, prelu_forward
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import TrainingOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import Count, repeated
from daskdl.nn.conf.weight_inits import AnyWeightInit
from daskdl.nn.run import Backward, Run

_Counts = Annotated[tuple[Count, ...], BeforeValidator(repeated(1))]


class PReLU(TrainingOptions, LayerConf):
    """``x`` where it is at least 0, else ``W * x``.

    Parameters
    ----------
    input_shape : tuple of int, optional
        Of an example in the data format; inferred. Shared axes may be 1.
    shared_axes : tuple of int
        Axes of the data format along which all numbers share a slope; 1 is the first
        behind the batch: ``(2, 3)`` gives each channel of NCHW images one slope.
    weight_init : str or weight init, optional
        How the slopes are drawn. None makes them 0, whatever the network says.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["prelu"] = "prelu"
    input_shape: _Counts | None = None
    shared_axes: _Counts | None = None
    weight_init: AnyWeightInit | None = "zero"

    def output_type(self, input_type: InputType) -> InputType:
        """Return the type of the input; refuse sizes and axes that contradict it."""
        self._slope_shape(input_type)
        return input_type

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W, of an example's shape with 1 at the shared axes."""
        shape = self._slope_shape(input_type)
        if not input_type.is_channels_first:
            return (Parameter("W", shape),)
        last = len(shape) - 1
        return (Parameter("W", (*shape[1:], shape[0]), axes=(last, *range(last))),)

    def _slope_shape(self, input_type: InputType) -> tuple[int, ...]:
        """Return the shape of the slopes in the data format."""
        arriving = input_type.border_shape
        shared = frozenset(self.shared_axes or ())
        if not shared <= set(range(1, len(arriving) + 1)):
            raise PathError(
                f"must be from 1 to {len(arriving)} for {input_type}, got "
                f"{self.shared_axes}.",
                "shared_axes",
            )
        given = self.input_shape or arriving
        shape = []
        for axis, size in enumerate(arriving, 1):
            told = given[axis - 1] if axis <= len(given) else None
            if axis in shared:
                shape.append(1)
                continue
            if told is None and len(given) == len(arriving):
                raise PathError(
                    f"must say the size of axis {axis}, which {input_type} leaves "
                    f"open, got {given}. Share axes whose sizes are not known.",
                    "input_shape",
                )
            if told is None or len(given) != len(arriving) or size not in (None, told):
                raise PathError(
                    f"must be {arriving}, what the layer gets ({input_type}), got "
                    f"{given}.",
                    "input_shape",
                )
            shape.append(told)
        return tuple(shape)

    def fans(self, parameter: Parameter) -> tuple[float, float]:
        """Return the number of slopes, twice."""
        size = math.prod(parameter.shape)
        return float(size), size

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Rectify `x`, of shape (batch, ...)."""
        slopes = run.params["W"]

        def backward(grad_out: FloatArray) -> FloatArray | None:
            grad_x = prelu_backward(
                grad_out,
                x,
                slopes,
                run.workspace,
                grad_slope=run.gradients["W"],
                grad_x=run.lent("grad_x", grad_out.shape, grad_out.dtype),
            )
            return grad_x if run.needs_grad_x else None

        out = run.lent("output", x.shape, x.dtype)
        return prelu_forward(x, slopes, run.workspace, out=out), backward
