"""The layer that pools over all time steps, pixels or voxels."""

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal, TypeAlias

from numpy.typing import NDArray
from pydantic import Field

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.global_pooling import (
    global_max_backward,
    global_max_forward,
    global_sum_backward,
    global_sum_forward,
)
from daskdl.nn.conf.axes import with_shape
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    FeedForward,
    InputType,
    Recurrent,
)
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.names import PoolingName
from daskdl.nn.conf.options import DropoutOptions
from daskdl.nn.conf.values import Count
from daskdl.nn.layers.input_kinds import Sized, refuse_input
from daskdl.nn.masks import check_pixels, check_step_mask
from daskdl.nn.run import Backward, Run

# Rows, and what adds the gradient in them, (batch, channels), to that of the cells.
_Pooled: TypeAlias = tuple[FloatArray, Callable[[FloatArray, FloatArray], None]]


class GlobalPooling(DropoutOptions, LayerConf):
    """Pool over all time steps, pixels or voxels; each feature or channel remains.

    Parameters
    ----------
    pooling_type : {"max", "avg", "sum", "pnorm"}
        How. What a mask drops does not count.
    pnorm : int
        Exponent of ``pnorm``: ``(sum |x|^p)^(1/p)``.
    collapse_dimensions : bool
        Whether rows come out; if not, series, images or volumes of one cell.
    pooling_dimensions : tuple of int, optional
        The axes that are pooled, counted in the data format: (2, 3) of images in
        NCHW. They can only be all, and None says the same.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["global_pooling"] = "global_pooling"
    takes_network_dropout: ClassVar[bool] = False

    pooling_type: PoolingName = Field(default="max", kw_only=False)
    pnorm: Count = 2
    collapse_dimensions: bool = True
    pooling_dimensions: tuple[Count, ...] | None = None

    def output_type(self, input_type: InputType) -> InputType:
        """Return rows of one number per feature or channel, or one cell."""
        if not isinstance(input_type, Recurrent | Convolutional | Convolutional3D):
            raise refuse_input(self, "time series, images or volumes", input_type)
        self._check_dimensions(input_type)
        *collapsed, channels = input_type.shape
        if self.collapse_dimensions:
            return FeedForward(size=channels)
        return with_shape(input_type, (*(1 for _ in collapsed), channels))

    def _check_dimensions(self, input_type: Sized) -> None:
        first = 2 if input_type.is_channels_first else 1
        every = tuple(range(first, first + len(input_type.shape) - 1))
        came = self.pooling_dimensions
        if came is not None and tuple(sorted(came)) != every:
            raise PathError(
                f"must name all axes that have no channels, {every} of "
                f"{input_type.data_format}, got {came}. Leave it out.",
                "pooling_dimensions",
            )

    @property
    def sum_to_rows(self) -> Literal["sum", "avg"] | None:
        """Which sum over all cells comes out as rows; None if it is another pooling."""
        kind = self.pooling_type
        return kind if self.collapse_dimensions and kind in ("sum", "avg") else None

    def forward(self, run: Run, x: FloatArray) -> tuple[FloatArray, Backward]:
        """Pool `x`, of shape (batch, ..., channels).

        What a mask drops does not count; where it drops everything, 0 comes out. The
        mask is (batch, time) of series. Of images it is (batch, height, width, 1), in
        which 1 may stand for height or width; masks of whole examples change nothing.
        """
        mask = _cell_mask(run, x)
        kind = self.pooling_type
        if kind == "max":
            rows, back = _pool_max(run, x, mask)
        else:
            rows, back = _pool_sum(run, x, mask, kind, self.pnorm)

        def backward(grad_out: FloatArray) -> FloatArray:
            grad_x = run.lent("grad_x", x.shape, grad_out.dtype)
            back(grad_out.reshape(rows.shape), _cells(grad_x))
            return grad_x

        if self.collapse_dimensions:
            return rows, backward
        return rows.reshape(len(x), *(1,) * (x.ndim - 2), x.shape[-1]), backward

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return a mask (batch, 1) of whole images or volumes; others are used up.

        None for masks of time steps, (batch, time), and of pixels, with 4 axes.
        """
        if isinstance(run.input_type, Recurrent):
            return None
        return None if mask is not None and mask.ndim == 4 else mask


def _pool_max(run: Run, x: FloatArray, mask: FloatArray | None) -> _Pooled:
    shape = (x.shape[0], x.shape[-1])
    winner: NDArray[Any] = run.buffer("winner", shape, "intp")
    rows = run.buffer("output", shape, x.dtype)
    global_max_forward(_cells(x), mask, run.workspace, out=rows, winner=winner)

    def back(grad_rows: FloatArray, grad_cells: FloatArray) -> None:
        global_max_backward(grad_rows, winner, mask, grad_x=grad_cells)

    return rows, back


def _pool_sum(
    run: Run,
    x: FloatArray,
    mask: FloatArray | None,
    kind: Literal["avg", "sum", "pnorm"],
    pnorm: int,
) -> _Pooled:
    how = kind, pnorm, mask, run.workspace
    rows = run.buffer("output", (x.shape[0], x.shape[-1]), x.dtype)
    global_sum_forward(_cells(x), *how, out=rows)

    def back(grad_rows: FloatArray, grad_cells: FloatArray) -> None:
        global_sum_backward(grad_rows, _cells(x), rows, *how, grad_x=grad_cells)

    return rows, back


def _cell_mask(run: Run, x: FloatArray) -> FloatArray | None:
    """Return the mask as (batch, cells), if it is one of cells."""
    mask = run.mask
    if mask is None:
        return None
    if isinstance(run.input_type, Recurrent):
        check_step_mask(mask, x, run.who)
        return mask
    if mask.ndim != 4:
        return None
    pixels = (*x.shape[:-1], 1)
    check_pixels(mask, pixels, f"{run.who}: the mask")
    whole = run.buffer("mask", pixels, mask.dtype)
    array_namespace(mask).copyto(whole, mask)
    return _cells(whole)[:, :, 0]


def _cells(x: FloatArray) -> FloatArray:
    return x.reshape(x.shape[0], math.prod(x.shape[1:-1]), x.shape[-1])
