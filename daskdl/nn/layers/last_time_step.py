"""The wrapper that keeps the last step of what a recurrent layer computes."""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import FeedForward, InputType, Recurrent, describe
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.layers.input_kinds import series_in
from daskdl.nn.layers.wrapper import WrapperConf, through
from daskdl.nn.masks import at_steps, check_step_mask, last_steps
from daskdl.nn.run import LayerPass, Run


class LastTimeStep(WrapperConf, LayerConf):
    """Keep the last time step of a recurrent layer, or the last one of the mask.

    Parameters
    ----------
    layer : layer
        A recurrent layer, or a wrapper around one.
    """

    masks_inside: ClassVar[bool] = True

    # In a graph "last_time_step" is the vertex.
    can_be_cut: ClassVar[bool] = True

    type: Literal["last_time_step_layer"] = "last_time_step_layer"

    def output_type(self, input_type: InputType) -> FeedForward:
        """Return rows of the wrapped layer's outputs."""
        series_in(self, input_type)
        series = self.wrapped_output(input_type)
        if not isinstance(series, Recurrent):
            raise PathError(
                f"must give time series, got one that gives {describe(series)}.",
                "layer",
            )
        return FeedForward(size=series.size)

    def forward(self, run: Run, x: FloatArray) -> LayerPass:
        """Compute the last outputs, (batch, n_out), of series (batch, time, n_in).

        Those are the last steps that the mask keeps, if there is one.
        """
        series, back = through(run, x)
        mask = super().step_mask(run, run.mask)
        check_step_mask(mask, series, run.who)
        steps = None if mask is None else last_steps(mask)
        output = run.buffer("output", series[:, -1].shape, x.dtype)
        output[...] = series[at_steps(x, steps)]

        def backward(grad_out: FloatArray) -> FloatArray | None:
            grad = run.buffer("grad_series", series.shape, grad_out.dtype)
            grad.fill(0)
            grad[at_steps(grad_out, steps)] = grad_out
            return back(grad)

        return output, backward

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> None:
        """Return None: there is no time left to mask."""
        return
