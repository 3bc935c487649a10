"""The convolution layers for images, time series and volumes."""

from typing import ClassVar, Literal, NoReturn

from pydantic import Field

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.errors import ShapeError
from daskdl.kernels.conv import convolution_forward
from daskdl.kernels.pooled_conv import (
    pooled_convolution_backward,
    pooled_convolution_forward,
)
from daskdl.kernels.pooled_conv.windows import PooledWindows
from daskdl.nn.activations.identity import IDENTITY
from daskdl.nn.activations.rectifiers import RELU
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.names import ConvolutionModeName, SeriesConvolutionModeName
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import (
    CountPair,
    CountSingle,
    CountTriple,
    IndexPair,
    IndexSingle,
    IndexTriple,
)
from daskdl.nn.layers.convolving import ConvolvingConf
from daskdl.nn.layers.scaling import Scaling
from daskdl.nn.layers.window_masks import window_mask
from daskdl.nn.masks import check_step_mask
from daskdl.nn.run import Backward, Run, Work


class Convolution2D(ConvolvingConf):
    """A two-dimensional convolution (cross-correlation, as everywhere).

    Parameters
    ----------
    kernel_size, stride, dilation : (int, int) or int
        Height and width; one number means both.
    padding : (int, int) or int
        Zeros on both sides; not used by mode ``same``.
    convolution_mode : {"truncate", "same", "strict"}
        What happens where kernel and stride do not fit: cut off the rest, pad so
        that the output has ``ceil(size / stride)``, or refuse.
    has_bias : bool
        Whether a bias is added.
    """

    type: Literal["convolution2d"] = "convolution2d"
    kernel_size: CountPair = Field(default=(5, 5), kw_only=False)
    stride: CountPair = (1, 1)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)
    convolution_mode: ConvolutionModeName = "truncate"

    kernel_rectifies: ClassVar[bool] = True

    def can_take_over(self, work: Work) -> bool:
        """Return whether at most a rectifier is in front of a pooling, or nothing."""
        return self.function is IDENTITY or (
            work == "pooling" and self.function is RELU
        )

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Convolve images `x`, of shape (batch, height, width, n_in).

        It can take over the maximum pooling behind it, and in inference a
        normalization, see :mod:`daskdl.nn.fusion`.
        """
        if run.fused.scaling_of is not None and not run.training:
            return self._scaled(run, x, run.fused.scaling_of()), _refuse
        if run.fused.pool_on is None:
            return super().forward(run, x)
        weight, window = run.params["W"], self.window(x.shape[1:-1])
        pool = run.fused.pool_on(window.out)
        windows = PooledWindows(window, pool, self.function is RELU)
        shape = (x.shape[0], *pool.out, self.n_out)
        output = run.buffer("output", shape, x.dtype)
        winner = run.buffer("winner", shape, x.dtype)

        def backward(grad_out: FloatArray) -> FloatArray | None:
            return pooled_convolution_backward(
                grad_out,
                x,
                weight,
                windows,
                run.workspace,
                output=output,
                winner=winner,
                grad_weight=run.gradients["W"],
                grad_bias=run.gradients.get("b"),
                grad_x=run.buffer("grad_x", x.shape, x.dtype)
                if run.needs_grad_x
                else None,
            )

        bias = run.params.get("b")
        pooled_convolution_forward(
            x, weight, bias, windows, run.workspace, out=output, winner=winner
        )
        return output, backward

    def _scaled(self, run: Run, x: FloatArray, scaling: Scaling) -> FloatArray:
        """Return the normalized output: the weights take the factors."""
        window, given = self.window(x.shape[1:-1]), run.params["W"]
        weight = run.buffer("scaled", given.shape, given.dtype)
        array_namespace(x).multiply(given, scaling.scale, out=weight)
        shift = scaling.shift
        if "b" in run.params:
            shift = shift + run.params["b"] * scaling.scale
        return convolution_forward(
            x,
            weight,
            shift,
            window,
            run.workspace,
            rectifies=scaling.rectifies,
            out=run.buffer("preout", (x.shape[0], *window.out, self.n_out), x.dtype),
        )


class Convolution1D(ConvolvingConf):
    """A convolution over time steps (cross-correlation, as everywhere).

    Parameters
    ----------
    kernel_size, stride, dilation : int
        Time steps.
    padding : int
        Steps of zeros on both sides; not used by modes ``same`` and ``causal``.
    convolution_mode : {"truncate", "same", "strict", "causal"}
        As for :class:`Convolution2D`; ``causal`` pads in front only, so that no output
        sees a later step.
    has_bias : bool
        Whether a bias is added.

    Notes
    -----
    What a mask drops counts as 0, and windows that a series does not have come out as 0
    and send no gradient.
    """

    ignores_weight_noise: ClassVar[bool] = True

    type: Literal["convolution1d"] = "convolution1d"
    kernel_size: CountSingle
    stride: CountSingle = (1,)
    padding: IndexSingle = (0,)
    dilation: CountSingle = (1,)
    convolution_mode: SeriesConvolutionModeName = "truncate"

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W (kernel, n_in, n_out) and b (n_out,)."""
        (kernel,), n_in = self.kernel_size, self.inferred_n_in(input_type)
        # DL4J reads the numbers of its (n_out, n_in, kernel, 1) as if they lay in the
        # order of (kernel, n_in, n_out): it reshapes where it should swap axes.
        shape = (self.n_out, n_in, kernel, 1)
        weight = Parameter("W", (kernel, n_in, self.n_out), file_shape=shape, order="c")
        return (weight, *self.bias_parameters())

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Convolve series `x`, of shape (batch, time, n_in).

        Where masks are ignored, they are reduced to the windows and pass by. Inside a
        wrapper that asks for it, windows without a kept step come out as 0 even there,
        and send a gradient all the same.
        """
        output, backward = super().forward(run, x)
        mask = run.mask
        if mask is None or not run.uses_mask or self.drops_masked_steps:
            return output, backward
        check_step_mask(mask, x, run.who)
        # The gradient does not know of the mask, so it keeps the output.
        masked = run.buffer("masked", output.shape, output.dtype)
        of_windows = window_mask(mask, self, run)[:, :, None]
        array_namespace(output).multiply(output, of_windows, out=masked)
        return masked, backward


class Convolution3D(ConvolvingConf):
    """A three-dimensional convolution (cross-correlation, as everywhere).

    Parameters
    ----------
    kernel_size, stride, dilation : (int, int, int) or int
        Depth, height and width; one number means all.
    padding : (int, int, int) or int
        Zeros on both sides; not used by mode ``same``.
    convolution_mode, has_bias
        As for :class:`Convolution2D`.
    """

    type: Literal["convolution3d"] = "convolution3d"
    kernel_size: CountTriple = (2, 2, 2)
    stride: CountTriple = (1, 1, 1)
    padding: IndexTriple = (0, 0, 0)
    dilation: CountTriple = (1, 1, 1)
    convolution_mode: ConvolutionModeName = "truncate"


def _refuse(grad_out: FloatArray) -> NoReturn:
    raise ShapeError(
        "Convolution2D: backward must follow forward in training: the normalization "
        "behind it was done by its weights."
    )
