"""The three products as statements of a program.

In (batch, *axes, channels) the numbers under one line of a kernel lie side by side, so
that nothing is gathered: a line of the kernel is one long sum. For images::

    windows to outputs             windows by outputs            outputs to windows
    for each image                 for each image                for each image
      for each output (y, x):        for each kernel line (i):     for each (y, i, x):
        tile of outputs                tile of (j, c) x o            tile of x x (j, c)
        sum over i, (j, c)             sum over outputs (y, x)       sum over o

The third adds what overlaps in memory. Where windows move by 1 it can also be the first
one with a flipped kernel, on an image with wide borders: what costs less is taken.

An image with padding is copied into scratch with zeros around it, one image at a time,
so that it is read from a near cache.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from daskdl.kernels.tiles.machine import vector_unit
from daskdl.kernels.tiles.nest import Argument, Axis, Contraction, Copy, joined
from daskdl.kernels.window_products.geometry import Geometry, strides

# As much of the output as stays near while all tiles of the weights go by.
_NEAR_BYTES = 64 * 1024


@dataclass(frozen=True)
class Where:
    """The numbers of the arguments that hold the arrays of a product.

    Parameters
    ----------
    image, matrix, output, bias, padded : int
        Images, weights, outputs, bias, and scratch for one image with its borders.
    planes, remainder : int
        Scratch for the last channels; see :mod:`.remainder`.
    passing : bool
        Whether the output of one image only is there at a time.
    """

    image: int = 0
    matrix: int = 1
    output: int = 2
    bias: int = 3
    padded: int = 4
    planes: int = 5
    remainder: int = 6
    passing: bool = False

    def output_of(self, geometry: Geometry) -> Argument:
        """Return the output of an example."""
        step = 0 if self.passing else geometry.output_size
        return Argument(self.output, step=step)

    def image_of(self, geometry: Geometry) -> Argument:
        """Return an image."""
        return Argument(self.image, step=geometry.image_size)

    def input_of(self, geometry: Geometry) -> Argument:
        """Return what the windows slide over."""
        if geometry.window.is_padded:
            return Argument(self.padded)
        return self.image_of(geometry)


def windows_to_outputs(
    geometry: Geometry,
    where: Where,
    columns: int,
    *,
    has_bias: bool,
    rectifies: bool = False,
) -> tuple[Copy | Contraction, ...]:
    """Multiply every window by some columns of the weights, and rectify if asked.

    Reads images, weights (window.n_cells * n_in, columns) and, if `has_bias`, the
    bias; writes `columns` of the output.
    """
    axes, image = geometry.window.axes, geometry.input_strides
    rows, loops = _rows_of(
        [
            Axis(axis.out, a=stride * axis.stride, c=output)
            for axis, stride, output in zip(
                axes, image, geometry.output_strides, strict=True
            )
        ]
    )
    cells = strides(geometry.window.kernel, geometry.n_in * columns)
    sums = [
        Axis(axis.kernel, a=stride * axis.dilation, b=cell)
        for axis, stride, cell in zip(axes, image, cells, strict=True)
    ]
    product = Contraction(
        where.input_of(geometry),
        Argument(where.matrix),
        where.output_of(geometry),
        rows,
        columns,
        _joined_or_one(*sums, Axis(geometry.n_in, a=1, b=columns)),
        loops,
        "bias" if has_bias else "zero",
        Argument(where.bias) if has_bias else None,
        rectifies,
    )
    return (*_filled(geometry, where), product)


def windows_by_outputs(
    geometry: Geometry, where: Where, columns: int
) -> tuple[Copy | Contraction, ...]:
    """Add windows by outputs to `columns` of the weights' gradient.

    Reads images and outputs.
    """
    axes, image = geometry.window.axes, geometry.input_strides
    cells = strides(geometry.window.kernel, geometry.n_in * geometry.n_out)
    *lines, last = (
        Axis(axis.kernel, a=stride * axis.dilation, c=cell)
        for axis, stride, cell in zip(axes, image, cells, strict=True)
    )
    channels = Axis(geometry.n_in, a=1, c=geometry.n_out)
    rows, loops = _rows_of([*lines, *_joined_or_one(last, channels)])
    sums = [
        Axis(axis.out, a=stride * axis.stride, b=output)
        for axis, stride, output in zip(
            axes, image, geometry.output_strides, strict=True
        )
    ]
    product = Contraction(
        where.input_of(geometry),
        where.output_of(geometry),
        Argument(where.matrix),
        rows,
        columns,
        _joined_or_one(*sums),
        loops,
        "sum",
    )
    stretches = _in_stretches(product, geometry.dtype)
    return (*_filled(geometry, where), *stretches)


def outputs_to_windows(
    geometry: Geometry, where: Where
) -> tuple[Copy | Contraction, ...]:
    """Add up what every output sends to its window.

    Reads outputs and weights (kernel lines, n_out, cells of a line x n_in), a line
    being a cell where the last axis is dilated; writes images.
    """
    axes, image = geometry.window.axes, geometry.input_strides
    is_dilated = axes[-1].dilation != 1
    lines = geometry.window.kernel if is_dilated else geometry.window.kernel[:-1]
    columns = geometry.n_in * (1 if is_dilated else geometry.window.kernel[-1])
    steps = strides(lines, geometry.n_out * columns)
    kernel_loops = [
        Axis(size, b=step, c=stride * axis.dilation)
        for size, step, stride, axis in zip(lines, steps, image, axes, strict=False)
    ]
    rows, loops = _rows_of(
        [
            Axis(axis.out, a=output, c=stride * axis.stride)
            for axis, stride, output in zip(
                axes, image, geometry.output_strides, strict=True
            )
        ]
    )
    # The rows of a tile lie below each other: what neighbours in a line send overlaps,
    # and a register that was stored in part is slow to load again.
    down, across = rows
    target = where.input_of(geometry)
    zeros = Copy(target, math.prod(geometry.padded) * geometry.n_in)
    product = Contraction(
        where.output_of(geometry),
        Argument(where.matrix),
        target,
        (across, down),
        columns,
        (Axis(geometry.n_out, a=1, b=columns),),
        (*loops, *joined(tuple(kernel_loops))),
        "sum",
    )
    if not geometry.window.is_padded:
        return (zeros, product)
    outside = Copy(where.image_of(geometry), geometry.image_size)
    return (zeros, product, outside, _emptied(geometry, where))


def flipped_to_windows(
    geometry: Geometry, where: Where, columns: int
) -> tuple[Copy | Contraction, ...]:
    """Slide the flipped kernel over outputs with borders.

    Reads outputs and weights (flipped kernel cells, n_out, columns); writes `columns`
    channels of the images.
    """
    axes = geometry.window.axes
    sizes = flipped_sizes(geometry)
    padded = strides(sizes, geometry.n_out)
    borders = [(axis.kernel - 1) * axis.dilation - axis.before for axis in axes]
    counts = [
        min(axis.out, size - border)
        for axis, size, border in zip(axes, sizes, borders, strict=True)
    ]
    into = sum(border * step for border, step in zip(borders, padded, strict=True))
    fill = Copy(
        Argument(where.padded, into),
        counts[-1] * geometry.n_out,
        tuple(
            Axis(count, a=output, c=step)
            for count, output, step in zip(
                counts[:-1], geometry.output_strides, padded, strict=False
            )
        ),
        where.output_of(geometry),
    )
    rows, loops = _rows_of(
        [
            Axis(axis.size, a=step, c=stride)
            for axis, step, stride in zip(
                axes,
                padded,
                strides(geometry.window.sizes, geometry.n_in),
                strict=True,
            )
        ]
    )
    cells = strides(geometry.window.kernel, geometry.n_out * columns)
    sums = [
        Axis(axis.kernel, a=step * axis.dilation, b=cell)
        for axis, step, cell in zip(axes, padded, cells, strict=True)
    ]
    product = Contraction(
        Argument(where.padded),
        Argument(where.matrix),
        where.image_of(geometry),
        rows,
        columns,
        _joined_or_one(*sums, Axis(geometry.n_out, a=1, b=columns)),
        loops,
    )
    return (fill, product)


def flipped_sizes(geometry: Geometry) -> tuple[int, ...]:
    """Return the sizes of an output with the borders that a flipped kernel needs."""
    return tuple(
        axis.size + (axis.kernel - 1) * axis.dilation for axis in geometry.window.axes
    )


def _in_stretches(product: Contraction, dtype: str) -> tuple[Contraction, ...]:
    """Cut the slowest sum so that rows of B stay near while all tiles of C go by."""
    slowest, *rest = product.sums
    width = min(product.columns * np.dtype(dtype).itemsize, 2 * vector_unit().width)
    others = math.prod(axis.size for axis in rest)
    size = min(slowest.size, max(1, _NEAR_BYTES // (others * width)))
    n, left = divmod(slowest.size, size)
    stretch = Axis(n, a=slowest.a * size, b=slowest.b * size)
    whole = replace(
        product,
        sums=_joined_or_one(replace(slowest, size=size), *rest),
        loops=(stretch, *product.loops),
    )
    if not left:
        return (whole,)
    last = replace(
        product,
        a=_shifted(product.a, n * stretch.a),
        b=_shifted(product.b, n * stretch.b),
        sums=_joined_or_one(replace(slowest, size=left), *rest),
    )
    return (whole, last)


def _shifted(argument: Argument, by: int) -> Argument:
    return replace(argument, offset=argument.offset + by)


def _rows_of(axes: list[Axis]) -> tuple[tuple[Axis, Axis], tuple[Axis, ...]]:
    """Return the last two axes as rows, and the others as loops."""
    *loops, down, across = (Axis(1), Axis(1), *axes)
    return (down, across), tuple(axis for axis in loops if axis.size > 1)


def _joined_or_one(*axes: Axis) -> tuple[Axis, ...]:
    return joined(axes) or (Axis(1),)


def _filled(geometry: Geometry, where: Where) -> tuple[Copy, ...]:
    """Return the copy of an image into scratch with zeros around it, if needed."""
    if not geometry.window.is_padded:
        return ()
    loops, run, into = _interior(geometry)
    image = where.image_of(geometry)
    return (Copy(Argument(where.padded, into), run, loops, image),)


def _emptied(geometry: Geometry, where: Where) -> Copy:
    """Return the copy of the padded image's interior to an image."""
    loops, run, into = _interior(geometry)
    back = tuple(Axis(axis.size, a=axis.c, c=axis.a) for axis in loops)
    return Copy(where.image_of(geometry), run, back, Argument(where.padded, into))


def _interior(geometry: Geometry) -> tuple[tuple[Axis, ...], int, int]:
    """Return loops over the lines of the image, their length, and where it begins."""
    axes, padded = geometry.window.axes, geometry.input_strides
    image = strides(geometry.window.sizes, geometry.n_in)
    into = sum(axis.before * step for axis, step in zip(axes, padded, strict=True))
    loops = tuple(
        Axis(axis.kept, a=near, c=far)
        for axis, near, far in zip(axes[:-1], image, padded, strict=False)
    )
    return loops, axes[-1].kept * geometry.n_in, into
