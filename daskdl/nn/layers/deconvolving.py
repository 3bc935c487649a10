"""What deconvolutions share: each cell of the input is sent to a window of the output.

The output is as large as a convolution's input would have to be whose output is the
input here.
"""

from typing import TypeVar

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.deconv import deconvolution_backward, deconvolution_forward
from daskdl.kernels.window import Window, WindowAxis
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.names import ConvolutionModeName
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.layers.convolving import ConvolvingConf, ConvolvingLayer, KernelPair
from daskdl.nn.layers.windows import reach


class DeconvolvingConf(ConvolvingConf):
    """A layer that sends cells to windows; see its kinds for the options."""

    convolution_mode: ConvolutionModeName = "truncate"

    def sizes_after(self, sizes: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """Return the sizes that come out; what is unknown stays unknown.

        Raises
        ------
        OptionError
            If the padding leaves nothing of what is known.
        """
        return tuple(
            None if size is None else self._size_after(axis, size)
            for axis, size in enumerate(sizes)
        )

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W ``(*kernel, n_out, n_in)`` and b (n_out,)."""
        n = self.n_axes
        shape = (*self.kernel_size, self.n_out, self.inferred_n_in(input_type))
        axes = (n + 1, n, *range(n))
        weight = Parameter("W", shape, axes=axes, order="c")
        return (weight, *self.bias_parameters())

    def window(self, sizes: tuple[int, ...]) -> Window:
        """Return where the window lies on the output of an input of these sizes."""
        return Window(*(self._axis(axis, size) for axis, size in enumerate(sizes)))

    def _size_after(self, axis: int, size: int) -> int:
        stride = self.stride[axis]
        if self.convolution_mode == "same":
            return stride * size
        spans = reach(self.kernel_size[axis], self.dilation[axis])
        uncut = stride * (size - 1) + spans
        after = uncut - 2 * self.padding[axis]
        if after < 1:
            raise PathError(
                f"must leave something of {uncut} cells, got {self.padding}.", "padding"
            )
        return after

    def _axis(self, axis: int, size: int) -> WindowAxis:
        kernel, stride = self.kernel_size[axis], self.stride[axis]
        dilation, before = self.dilation[axis], self.padding[axis]
        after = self._size_after(axis, size)
        if self.convolution_mode == "same":
            total = (size - 1) * stride + reach(kernel, dilation) - after
            before = max(0, total) // 2
        return WindowAxis(after, kernel, stride, dilation, before, size)


D = TypeVar("D", bound=DeconvolvingConf)


class DeconvolvingLayer(ConvolvingLayer[D]):
    """``activation(sum of what x times W sends to each cell, plus b)``."""

    _kernels: KernelPair = (deconvolution_forward, deconvolution_backward)

    def feed_forward_mask(self, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask of the cells that a kept one is sent to, if it is of cells.

        Masks of cells are of shape (batch, *axes) or (batch, *axes, 1), those of
        examples, (batch, 1), go on as they are. Reduced as for a convolution, it would
        have a size that fits nothing.
        """
        if mask is None or mask.ndim < self.conf.n_axes + 1:
            return mask
        xp = array_namespace(mask)
        cells = mask if mask.ndim > self.conf.n_axes + 1 else mask[..., None]
        window = self.conf.window(cells.shape[1:-1])
        sizes = window.sizes
        shape = (cells.shape[0], *sizes, cells.shape[-1])
        sent: FloatArray = self._buffer("mask", shape, mask.dtype)
        sent.fill(0)
        for inside, windows in window.positions():
            xp.maximum(sent[inside], cells[windows], out=sent[inside])
        return sent if cells is mask else sent[..., 0]

    def _window_on(self, sizes: tuple[int, ...]) -> Window:
        return self.conf.window(sizes)

    def _out_sizes(self) -> tuple[int, ...]:
        return self._window.sizes
