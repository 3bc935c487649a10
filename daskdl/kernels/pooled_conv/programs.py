"""A convolution and the maximum of its windows as one program.

::

    forward, for each image                  backward, for each image
      x -> output of the image                 gradient to the winners -> output
      output -> maxima, winners                output -> bias, weights, x

Output is that of the convolution. That of one image stays in a near cache; that of a
whole minibatch, the largest array of many networks, never exists.
"""

import functools
from dataclasses import dataclass

from daskdl.kernels.tiles.nest import (
    Argument,
    Axis,
    Contraction,
    Field,
    Pointwise,
    Program,
    column_sums,
)
from daskdl.kernels.window_products import statements
from daskdl.kernels.window_products.geometry import Geometry, strides
from daskdl.kernels.window_products.programs import (
    flips_kernel,
    outputs_of_windows,
    weights_of_windows,
)
from daskdl.kernels.window_products.statements import Where

# The order of the arguments. The first five are those of the products.
IMAGE, MATRIX, OUTPUT, BIAS, PADDED, MAXIMA, WINNER, GRAD, ONE = range(9)
PACKED, GRAD_IMAGE, GRAD_PADDED, PLANES, REMAINDER = range(9, 14)
N_ARGUMENTS = 14
# The module of what is computed in registers.
_MAXIMA = "daskdl.kernels.pooled_conv.maxima:"
_WHERE = Where(planes=PLANES, remainder=REMAINDER, passing=True)


@dataclass(frozen=True)
class Pooled:
    """A convolution with a pooling behind it whose windows do not overlap.

    Parameters
    ----------
    geometry : Geometry
        The convolution.
    cells : (int, int)
        Height and width of a pooling window, and its stride.
    rectifies : bool
        Whether a rectifier is between the two.
    """

    geometry: Geometry
    cells: tuple[int, int]
    rectifies: bool

    @property
    def out(self) -> tuple[int, int]:
        """Windows along both axes; what is left over at the end is dropped."""
        height, width = self.geometry.window.out
        return height // self.cells[0], width // self.cells[1]

    @property
    def out_size(self) -> int:
        """Numbers of an image behind the pooling."""
        return self.out[0] * self.out[1] * self.geometry.n_out


@functools.lru_cache(maxsize=256)
def forward(pooled: Pooled, *, has_bias: bool) -> Program:
    """Return the program that reads IMAGE, MATRIX, BIAS and writes MAXIMA, WINNER."""
    geometry = pooled.geometry
    product = outputs_of_windows(geometry, _WHERE, has_bias=has_bias)
    pool = Pointwise(
        _MAXIMA + ("rectified_maximum" if pooled.rectifies else "maximum"),
        _cells(pooled),
        (_pooled_field(pooled, MAXIMA), _pooled_field(pooled, WINNER)),
        pooled.out,
        geometry.n_out,
    )
    return Program(geometry.dtype, N_ARGUMENTS, (*product, pool))


@functools.lru_cache(maxsize=256)
def backward(pooled: Pooled, *, has_bias: bool, needs_grad_x: bool) -> Program:
    """Return the program that reads GRAD, WINNER, IMAGE, PACKED and, rectified, MAXIMA.

    It adds to MATRIX and BIAS and writes GRAD_IMAGE.
    """
    geometry = pooled.geometry
    read = (GRAD, WINNER, MAXIMA) if pooled.rectifies else (GRAD, WINNER)
    unpool = Pointwise(
        _MAXIMA + "to_winner",
        tuple(_pooled_field(pooled, number) for number in read),
        _cells(pooled),
        pooled.out,
        geometry.n_out,
    )
    sums = (_sum_of_outputs(geometry),) if has_bias else ()
    weights = weights_of_windows(geometry, _WHERE)
    grad_where = Where(GRAD_IMAGE, PACKED, OUTPUT, BIAS, GRAD_PADDED, passing=True)
    grads = statements.outputs_to_windows(geometry, grad_where)
    if flips_kernel(geometry):
        grads = statements.flipped_to_windows(geometry, grad_where, geometry.n_in)
    inputs = grads if needs_grad_x else ()
    return Program(geometry.dtype, N_ARGUMENTS, (unpool, *sums, *weights, *inputs))


def _cells(pooled: Pooled) -> tuple[Field, ...]:
    """Return the outputs under each cell of the pooling windows, row by row."""
    down, across = strides(pooled.geometry.window.out, pooled.geometry.n_out)
    height, width = pooled.cells
    return tuple(
        Field(Argument(OUTPUT, y * down + x * across), (height * down, width * across))
        for y in range(height)
        for x in range(width)
    )


def _pooled_field(pooled: Pooled, number: int) -> Field:
    return Field(
        Argument(number, step=pooled.out_size),
        strides(pooled.out, pooled.geometry.n_out),
    )


def _sum_of_outputs(geometry: Geometry) -> Contraction:
    """Return the sum over all outputs, as a product with 1."""
    n = geometry.n_out
    sums = (Axis(geometry.output_size // n, b=n),)
    return column_sums(Argument(ONE), Argument(OUTPUT), Argument(BIAS), n, sums)
