"""The deconvolution layers: each cell of the input is sent to a window of the output.

The output is as large as a convolution's input would have to be whose output is the
input here.
"""

from typing import ClassVar, Literal

from daskdl.arrays.namespace import FloatArray, array_namespace
from daskdl.kernels.deconv import deconvolution_backward, deconvolution_forward
from daskdl.kernels.window import Window, WindowAxis
from daskdl.nn.conf.errors import PathError
from daskdl.nn.conf.input_type import InputType
from daskdl.nn.conf.layer import LayerConf
from daskdl.nn.conf.names import ConvolutionModeName
from daskdl.nn.conf.options import TrainingOptions, WeightOptions
from daskdl.nn.conf.parameters import Parameter
from daskdl.nn.conf.values import CountPair, CountTriple, IndexPair, IndexTriple
from daskdl.nn.layers.convolution import ConvolvingConf, ConvolvingGroup, KernelPair
from daskdl.nn.layers.windows import reach
from daskdl.nn.run import Run


class DeconvolvingConf(ConvolvingGroup):
    """A layer that sends cells to windows; see its kinds for the options."""

    kernels: ClassVar[KernelPair] = (deconvolution_forward, deconvolution_backward)

    convolution_mode: ConvolutionModeName = "truncate"

    def sizes_after(self, sizes: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """Return the sizes of the output; unknown sizes stay unknown.

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

    def fans(self, parameter: Parameter) -> tuple[float, float]:
        """Return n_in * kernel cells, and n_out * kernel cells / stride cells."""
        *_, n_out, n_in = parameter.shape
        return self.fans_of(n_in, n_out)

    def window(self, sizes: tuple[int, ...]) -> Window:
        """Return where the window lies on the output of an input of these sizes."""
        return Window(*(self._axis(axis, size) for axis, size in enumerate(sizes)))

    def sizes_under(self, window: Window) -> tuple[int, ...]:
        """Return the sizes that come out where the window lies so."""
        return window.sizes

    def feed_forward_mask(self, run: Run, mask: FloatArray | None) -> FloatArray | None:
        """Return the mask of the cells that a kept one is sent to, if it is of cells.

        Masks of cells are of shape (batch, *axes) or (batch, *axes, 1), those of
        examples, (batch, 1), go on as they are. Reduced as for a convolution, it would
        have a size that fits nothing.
        """
        if mask is None or mask.ndim < self.n_axes + 1:
            return mask
        xp = array_namespace(mask)
        cells = mask if mask.ndim > self.n_axes + 1 else mask[..., None]
        window = self.window(cells.shape[1:-1])
        shape = (cells.shape[0], *window.sizes, cells.shape[-1])
        sent = run.buffer("mask", shape, mask.dtype)
        sent.fill(0)
        for inside, windows in window.positions():
            xp.maximum(sent[inside], cells[windows], out=sent[inside])
        return sent if cells is mask else sent[..., 0]

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


class Deconvolution2D(
    DeconvolvingConf, ConvolvingConf, WeightOptions, TrainingOptions, LayerConf
):
    """A two-dimensional deconvolution (transposed convolution).

    Parameters
    ----------
    kernel_size, stride, dilation : (int, int) or int
        Height and width; one number means both. Cells of the input lie `stride` apart
        in the output.
    padding : (int, int) or int
        Cells cut off the output on both sides; not used by mode ``same``.
    convolution_mode : {"truncate", "same", "strict"}
        ``same`` gives ``stride * size``, the others
        ``stride * (size - 1) + reach - 2 * padding`` for a dilated kernel of `reach`
        cells.
    has_bias : bool
        Whether a bias is added.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["deconvolution2d"] = "deconvolution2d"
    kernel_size: CountPair = (5, 5)
    stride: CountPair = (1, 1)
    padding: IndexPair = (0, 0)
    dilation: CountPair = (1, 1)


class Deconvolution3D(
    DeconvolvingConf, ConvolvingConf, WeightOptions, TrainingOptions, LayerConf
):
    """A three-dimensional deconvolution (transposed convolution).

    Parameters
    ----------
    kernel_size, stride, dilation : (int, int, int) or int
        Depth, height and width; one number means all.
    padding : (int, int, int) or int
        Cells cut off the output on both sides; not used by mode ``same``.
    convolution_mode, has_bias
        As for :class:`Deconvolution2D`.
    """

    can_be_cut: ClassVar[bool] = True

    type: Literal["deconvolution3d"] = "deconvolution3d"
    kernel_size: CountTriple = (2, 2, 2)
    stride: CountTriple = (1, 1, 1)
    padding: IndexTriple = (0, 0, 0)
    dilation: CountTriple = (1, 1, 1)

    def parameters(self, input_type: InputType) -> tuple[Parameter, ...]:
        """Return W ``(*kernel, n_out, n_in)``, outputs first, and b (n_out,)."""
        shape = (*self.kernel_size, self.n_out, self.inferred_n_in(input_type))
        return (Parameter("W", shape, order="c"), *self.bias_parameters())
