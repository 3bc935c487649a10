"""The layer that drops numbers and does nothing else."""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.options import DropoutOptions
from daskdl.nn.layers.mask_layer import masked
from daskdl.nn.masks import column_mask
from daskdl.nn.run import Backward, Run


class Dropout(DropoutOptions, LayerConf):
    """Drop numbers of the input in training and do nothing else.

    `keep_probability` or `dropout` say how, and if neither is given, the network does.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["dropout"] = "dropout"

    def output_type(self, input_type: InputType) -> InputType:
        """Return `input_type`: nothing changes its shape."""
        return input_type

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Return `x`, masked rows as 0: each layer drops its input."""
        if run.mask is None or x.ndim != 2:
            return x, lambda grad_out: grad_out
        return masked(run, x, column_mask(run.mask, len(x), run.who))
