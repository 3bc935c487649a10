"""The layers that pool over windows of series, images or volumes."""

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.pooling import (
    average_pool_backward,
    average_pool_forward,
    max_pool_backward,
    max_pool_forward,
    pnorm_pool_backward,
    pnorm_pool_forward,
    sum_pool_backward,
    sum_pool_forward,
)
from daskdl.kernels.window import Window
from daskdl.nn.conf.axes import with_shape
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.names import ConvolutionModeName, PoolingName, VolumePoolingName
from daskdl.nn.conf.options import DropoutOptions
from daskdl.nn.conf.values import (
    Conf,
    CountPair,
    CountSingle,
    CountTriple,
    Index,
    IndexPair,
    IndexSingle,
    IndexTriple,
    Positive,
)
from daskdl.nn.layers.input_kinds import Sized, sized_in
from daskdl.nn.layers.masked_series import MaskedSeries
from daskdl.nn.layers.windows import (
    Counts,
    Indices,
    window_mask,
    window_of,
    window_sizes,
)
from daskdl.nn.masks import check_step_mask
from daskdl.nn.run import Backward, Run


class PoolingConf(Conf):
    """A layer that pools over windows; see its kinds for the options."""

    kernel_size: Counts
    stride: Counts
    padding: Indices
    dilation: Counts
    convolution_mode: ConvolutionModeName = "truncate"
    pooling_type: PoolingName = "max"

    def output_type(self, input_type: InputType) -> Sized:
        """Return smaller series, images or volumes of the same channels."""
        entered = sized_in(self, input_type, len(self.kernel_size))
        *sizes, channels = entered.shape
        return with_shape(entered, (*window_sizes(self, tuple(sizes)), channels))

    def window(self, sizes: tuple[int, ...]) -> Window:
        """Return where the window lies on an input of these sizes."""
        return window_of(self, sizes)

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Pool `x`, of shape (batch, ..., channels). Masks only pass by."""
        return self._pool(run, x, self.window(x.shape[1:-1]), self.pooling_type)

    def _pool(
        self, run: Run, x: FloatArray, window: Window, kind: PoolingName
    ) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        """Return the pooled windows of `x`, and the function for their gradient."""
        shape, workspace = (x.shape[0], *window.out, x.shape[-1]), run.workspace
        output = run.lent("output", shape, x.dtype)
        seen: dict[str, Any] = {"window": window, "workspace": workspace}
        back: Callable[..., FloatArray] = sum_pool_backward
        # Layers that know a kind of pooling have the options that it reads.
        options: Any = self
        if kind == "max":
            index_dtype = "uint8" if window.n_cells <= 256 else "uint32"
            winner: Any = run.lent("winner", shape, index_dtype)
            seen["winner"] = winner
            max_pool_forward(x, window, workspace, out=output, winner=winner)
            back = max_pool_backward
        elif kind == "avg":
            padded = getattr(options, "include_padding", False)
            seen["include_padding"] = padded
            average_pool_forward(x, window, include_padding=padded, out=output)
            back = average_pool_backward
        elif kind == "pnorm":
            power, eps = options.pnorm, options.eps
            seen |= {"x": x, "output": output, "exponent": power, "eps": eps}
            pnorm_pool_forward(x, window, power, workspace, out=output)
            back = pnorm_pool_backward
        else:
            sum_pool_forward(x, window, out=output)

        entered = x.shape

        def backward(grad_out: FloatArray) -> FloatArray:
            grad_x = run.lent("grad_x", entered, grad_out.dtype)
            return back(grad_out, grad_x=grad_x, **seen)

        return output, backward


class SubsamplingConf(Conf):
    """The base of pooling layers of series and images."""

    takes_network_dropout: ClassVar[bool] = False

    pooling_type: PoolingName = Field(default="max", kw_only=False)
    pnorm: Index = 0
    eps: Positive = 1e-8
    include_padding: bool = False

    @model_validator(mode="after")
    def _check_exponent(self) -> "SubsamplingConf":
        if self.pooling_type == "pnorm" and self.pnorm == 0:
            raise PathError(
                "must be at least 1 for pooling_type 'pnorm', got 0.", "pnorm"
            )
        return self


class Subsampling(SubsamplingConf, PoolingConf, DropoutOptions, LayerConf):
    """Pooling over windows of an image.

    Parameters
    ----------
    pooling_type : {"max", "avg", "sum", "pnorm"}
        What a window becomes. ``max`` ignores padding.
    kernel_size, stride, dilation, padding, convolution_mode
        As for :class:`Convolution2D`.
    pnorm : int
        Exponent of ``pnorm``, ``(sum |x|^p)^(1/p)``; needed by it alone.
    eps : float
        Least norm that a gradient of ``pnorm`` is divided by.
    include_padding : bool
        Whether ``avg`` divides by the window's size also where it hangs over the
        border, instead of by the cells inside.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["subsampling"] = "subsampling"
    kernel_size: CountPair = (2, 2)
    stride: CountPair = (2, 2)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)

    @property
    def is_plain_maximum(self) -> bool:
        """Whether its windows cover whole places, each one once, and take the maximum.

        Some at the end may be left over.
        """
        is_side_by_side = self.kernel_size == self.stride
        is_within = self.padding == (0, 0) and self.convolution_mode != "same"
        is_plain = self.pooling_type == "max" and self.dilation == (1, 1)
        return is_plain and is_side_by_side and is_within

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask of the windows, if it is one of pixels.

        That is (batch, *axes, 1) and becomes (batch, *window.out, 1). A mask of whole
        images, (batch, 1), goes on as it is.
        """
        if mask is None or mask.ndim < 4:
            return mask
        return window_mask(mask, self, run)


class Subsampling1D(SubsamplingConf, PoolingConf, DropoutOptions, LayerConf):
    """Pooling over windows of time steps.

    Parameters
    ----------
    pooling_type : {"max", "avg", "sum", "pnorm"}
        What a window becomes. ``max`` ignores padding.
    kernel_size, stride, dilation, padding : int
        Time steps.
    convolution_mode, pnorm, eps, include_padding
        As for :class:`Subsampling`.

    Notes
    -----
    What a mask drops counts like padding, and windows that a series does not have come
    out as 0.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["subsampling1d"] = "subsampling1d"
    kernel_size: CountSingle = (2,)
    stride: CountSingle = (1,)
    padding: IndexSingle = (0,)
    dilation: CountSingle = (1,)

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Pool `x`, of shape (batch, time, n), as its mask (batch, time) keeps it.

        Where masks are ignored, they are reduced to the windows and pass by. Inside a
        wrapper that asks for it, windows without a kept step come out as 0 even there.
        """
        mask = run.mask
        if mask is None or not (self._counts_kept_steps or run.uses_mask):
            return super().forward(run, x)
        check_step_mask(mask, x, run.who)
        kept = self._window_mask(run, mask)[:, :, None]
        window, kind = self.window(x.shape[1:-1]), self.pooling_type
        series, counts = None, None
        if self._counts_kept_steps:
            series = MaskedSeries(self, run)
            if kind == "avg" and not self.include_padding:
                # An average is of the steps that are kept, which differ by series.
                counts, kind = series.counts(mask, window), "sum"
            lowest = -math.inf if kind == "max" else 0.0
            x, window = series.enter(x, mask, window, fill=lowest)
        output, back = self._pool(run, x, window, kind)
        if counts is not None:
            output /= counts
        xp = array_namespace(x)
        xp.copyto(output, 0, where=kept == 0)

        def backward(grad_out: FloatArray) -> FloatArray:
            masked = run.lent_like("masked", grad_out)
            xp.multiply(grad_out, kept, out=masked)
            if counts is not None:
                masked /= counts
            grad_x = back(masked)
            return grad_x if series is None else series.leave(grad_x)

        return output, backward

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask (batch, n_windows) of the windows of a series."""
        return None if mask is None else self._window_mask(run, mask)

    @property
    def _counts_kept_steps(self) -> bool:
        return "subsampling1d_ignores_masks" not in self.quirks

    def _window_mask(self, run: Run, mask: FloatArray) -> FloatArray:
        if not self._counts_kept_steps:
            return window_mask(mask, self, run)
        return MaskedSeries(self, run).window_mask(mask, self.window(mask.shape[1:]))


class Subsampling3D(PoolingConf, DropoutOptions, LayerConf):
    """Pooling over windows of a volume. Masks only pass by.

    Parameters
    ----------
    pooling_type : {"max", "avg"}
        What a window becomes. ``max`` ignores padding, ``avg`` divides by the cells
        inside the volume.
    kernel_size, stride, dilation, padding : (int, int, int) or int
        Depth, height and width; one number means all three.
    convolution_mode : {"same", "truncate", "strict"}
        As for :class:`Convolution2D`; volumes are padded unless it says otherwise.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["subsampling3d"] = "subsampling3d"
    pooling_type: VolumePoolingName = "max"
    kernel_size: CountTriple = (1, 1, 1)
    stride: CountTriple = (2, 2, 2)
    padding: IndexTriple = (0, 0, 0)
    dilation: CountTriple = (1, 1, 1)
    convolution_mode: ConvolutionModeName = "same"
