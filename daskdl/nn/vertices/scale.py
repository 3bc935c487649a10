"""The vertices that multiply by a number and add one."""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.nn.conf.values import Real
from daskdl.nn.conf.vertex import VertexConf
from daskdl.nn.run import Arrays, VertexPass, VertexRun


class ScaleVertex(VertexConf):
    """Multiply by `scale_factor`.

    Parameters
    ----------
    scale_factor : float
        The number.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["scale"] = "scale"
    scale_factor: Real

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Multiply an input of any shape."""

        def scaled(what: str, array: FloatArray) -> FloatArray:
            out = run.lent(what, array.shape, array.dtype)
            array_namespace(array).multiply(array, self.scale_factor, out=out)
            return out

        (x,) = inputs
        return scaled("output", x), lambda grad_out: [scaled("grad_x", grad_out)]


class ShiftVertex(VertexConf):
    """Add `shift_factor`.

    Parameters
    ----------
    shift_factor : float
        The number.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["shift"] = "shift"
    shift_factor: Real

    def forward(self, run: VertexRun, inputs: Arrays) -> VertexPass:
        """Add to an input of any shape."""
        (x,) = inputs
        output = run.lent("output", x.shape, x.dtype)
        array_namespace(x).add(x, self.shift_factor, out=output)
        return output, lambda grad_out: [grad_out]
