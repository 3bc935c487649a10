"""The layer that pools over all time steps, pixels or voxels."""

import math
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.global_pooling import (
    global_max_backward,
    global_max_forward,
    global_sum_backward,
    global_sum_forward,
)
from daskdl.nn.conf.axes import is_channels_first, with_shape
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import (
    Convolutional,
    Convolutional3D,
    FeedForward,
    InputType,
    Recurrent,
)
from daskdl.nn.conf.layer import DroppedLayerConf, refuse_input
from daskdl.nn.conf.names import PoolingName
from daskdl.nn.conf.values import Count
from daskdl.nn.layers.entering import Sized
from daskdl.nn.layers.layer import Layer
from daskdl.nn.masks import check_pixels, check_step_mask


class GlobalPooling(DroppedLayerConf):
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
        The axes that are pooled, as they count at the border: (2, 3) of images in
        NCHW. They can only be all, and None says the same.
    """

    type: Literal["global_pooling"] = "global_pooling"
    takes_network_dropout: ClassVar[bool] = False

    pooling_type: PoolingName = Field(default="max", kw_only=False)
    pnorm: Count = 2
    collapse_dimensions: bool = True
    pooling_dimensions: tuple[Count, ...] | None = None

    def output_type(self, input_type: InputType) -> InputType:
        """Return rows of one number per feature or channel, or what has one cell."""
        if not isinstance(input_type, Recurrent | Convolutional | Convolutional3D):
            raise refuse_input(self, "time series, images or volumes", input_type)
        self._check_dimensions(input_type)
        *collapsed, channels = input_type.shape
        if self.collapse_dimensions:
            return FeedForward(size=channels)
        return with_shape(input_type, (*(1 for _ in collapsed), channels))

    def _check_dimensions(self, input_type: Sized) -> None:
        first = 2 if is_channels_first(input_type) else 1
        every = tuple(range(first, first + len(input_type.shape) - 1))
        came = self.pooling_dimensions
        if came is not None and tuple(sorted(came)) != every:
            raise PathError(
                f"must name all axes that have no channels, {every} of "
                f"{input_type.data_format}, got {came}. Leave it out.",
                "pooling_dimensions",
            )


class GlobalPoolingLayer(Layer[GlobalPooling]):
    """Maximum, average, sum or p-norm of each feature over time, or channel over space.

    What a mask drops does not count; where it drops everything, 0 comes out.
    """

    def forward(
        self,
        x: FloatArray,
        *,
        training: bool,
        mask: FloatArray | None = None,
        rng: np.random.Generator | None = None,
    ) -> FloatArray:
        """Compute the output; see :meth:`Layer.forward`.

        `mask` is (batch, time) of series. Of images it is (batch, height, width, 1), in
        which 1 may stand for height or width; masks of whole examples change nothing.
        """
        self._check_input(x)
        self._mask = self._cell_mask(x, mask)
        self._x = x
        shape = (x.shape[0], x.shape[-1])
        output: FloatArray = self._buffer("output", shape, x.dtype)
        self._output = output
        cells = self._cells(x)
        kind = self.conf.pooling_type
        if kind == "max":
            self._winner: NDArray[Any] = self._buffer("winner", shape, "intp")
            global_max_forward(
                cells, self._mask, self._workspace, out=output, winner=self._winner
            )
        else:
            global_sum_forward(
                cells,
                kind,
                self.conf.pnorm,
                self._mask,
                self._workspace,
                out=output,
            )
        if self.conf.collapse_dimensions:
            return output
        return output.reshape(x.shape[0], *(1,) * (x.ndim - 2), x.shape[-1])

    def backward(self, grad_out: FloatArray) -> FloatArray:
        """Compute the gradient; see :meth:`Layer.backward`."""
        grad_x: FloatArray = self._buffer("grad_x", self._x.shape, grad_out.dtype)
        grad_rows = grad_out.reshape(self._output.shape)
        cells = self._cells(grad_x)
        kind = self.conf.pooling_type
        if kind == "max":
            global_max_backward(grad_rows, self._winner, self._mask, grad_x=cells)
            return grad_x
        global_sum_backward(
            grad_rows,
            self._cells(self._x),
            self._output,
            kind,
            self.conf.pnorm,
            self._mask,
            self._workspace,
            grad_x=cells,
        )
        return grad_x

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return what is not used up: a mask (batch, 1) of whole images or volumes.

        None for masks of time steps, (batch, time), and of pixels, with 4 axes.
        """
        if isinstance(self.input_type, Recurrent):
            return None
        return None if mask is not None and mask.ndim == 4 else mask

    def _cell_mask(self, x: FloatArray, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask as (batch, cells), if it is one of cells."""
        if mask is None:
            return None
        if isinstance(self.input_type, Recurrent):
            check_step_mask(mask, x, self.who)
            return mask
        return self._pixel_mask(x, mask) if mask.ndim == 4 else None

    def _pixel_mask(self, x: FloatArray, mask: FloatArray) -> FloatArray:
        pixels = (*x.shape[:-1], 1)
        check_pixels(mask, pixels, f"{self.who}: the mask")
        whole: FloatArray = self._buffer("mask", pixels, mask.dtype)
        array_namespace(mask).copyto(whole, mask)
        return whole.reshape(x.shape[0], math.prod(x.shape[1:-1]))

    @staticmethod
    def _cells(x: FloatArray) -> FloatArray:
        return x.reshape(x.shape[0], math.prod(x.shape[1:-1]), x.shape[-1])
