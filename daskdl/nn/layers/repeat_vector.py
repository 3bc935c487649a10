"""The layer that makes a time series of one row."""

from typing import ClassVar, Literal

from pydantic import Field

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.input_type import InputType, Recurrent, SeriesFormat
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import DropoutOptions
from daskdl.nn.conf.values import Count
from daskdl.nn.layers.input_kinds import rows_in
from daskdl.nn.run import Backward, Run


class RepeatVector(DropoutOptions, LayerConf):
    """Repeat each row at every time step.

    Parameters
    ----------
    n : int
        Number of time steps.
    data_format : {"NCW", "NWC"}
        Of what comes out, should it leave the network.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["repeat_vector"] = "repeat_vector"
    n: Count = Field(default=1, kw_only=False)
    data_format: SeriesFormat = "NCW"

    def output_type(self, input_type: InputType) -> Recurrent:
        """Return time series of `n` steps; refuse all but rows."""
        rows = rows_in(self, input_type)
        return Recurrent(
            size=rows.n_features, time_steps=self.n, data_format=self.data_format
        )

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Repeat rows `x` of shape (batch, features)."""

        def backward(grad_out: FloatArray) -> FloatArray:
            grad_x = run.lent("grad_x", x.shape, grad_out.dtype)
            array_namespace(grad_out).sum(grad_out, axis=1, out=grad_x)
            return grad_x

        output = run.lent("output", (len(x), self.n, x.shape[1]), x.dtype)
        output[...] = x[:, None, :]
        return output, backward

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return no mask: that of the rows is none of the steps."""
        return None
