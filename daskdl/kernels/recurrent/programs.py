"""The steps of an LSTM as loop nests: an "example" of a program is a time step.

::

    forward, from the first step on        backward, from the last step on
      z[t]  = x[t] @ W                       dh[t] += dz[t+1] @ R^T
      z[t] += h[t-1] @ R                     dz[t], gradient of the cell
      gates, cell, output                    dx[t] = dz[t] @ W^T

    sums, for each stretch of steps
      dW += x^T @ dz,  dR += (h one step before)^T @ dz,  db += 1 @ dz

In the first two the rows of a tile are examples of the minibatch. W and R, packed, stay
in a level-2 cache from step to step; the sums of a tile, the gates and the cells never
leave the core. In the third they are rows of W and R, and what is summed up over is as
many steps as make a sum long enough to pay for reading and writing the gradient.
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
    Start,
    column_sums,
)
from daskdl.kernels.tiles.packing import (
    Panels,
    packing,
    panel_products,
    panels_of,
    transposed_packing,
)


@dataclass(frozen=True)
class LstmSizes:
    """Examples and widths of an LSTM, the type of its numbers, whether it has a mask.

    `sends_back` says whether the gradient of the input is wanted.
    """

    batch: int
    n_in: int
    n_out: int
    dtype: str
    is_masked: bool = False
    sends_back: bool = False

    @property
    def forwards(self) -> tuple[Panels, Panels]:
        """Panels of W (n_in, 4 n) and R (n, 4 n)."""
        return self.panels(self.n_in), self.panels(self.n_out)

    @property
    def backwards(self) -> tuple[Panels, Panels]:
        """Panels of W^T (4 n, n_in) and R^T (4 n, n)."""
        wide = 4 * self.n_out
        to_input = panels_of(wide, self.n_in, self.dtype)
        return to_input, panels_of(wide, self.n_out, self.dtype)

    def panels(self, rows: int) -> Panels:
        """Return the panels of so many rows of gates."""
        return panels_of(rows, 4 * self.n_out, self.dtype)


@functools.lru_cache(maxsize=256)
def packed_weights(panels: Panels, dtype: str) -> Program:
    """Return the program that packs a matrix, its first argument, into its second."""
    return Program(dtype, 2, packing(panels, Argument(0), Argument(1)))


@functools.lru_cache(maxsize=256)
def transposed_weights(panels: Panels, dtype: str) -> Program:
    """Return the program that packs the transposed of its first argument."""
    return Program(dtype, 2, transposed_packing(panels, Argument(0), Argument(1)))


@functools.lru_cache(maxsize=256)
def lstm_forward(sizes: LstmSizes) -> Program:
    """Return the program of time steps.

    Its arguments, at the first step: packed recurrent weights (n, 4 n), bias (4 n),
    hidden before, cell before, gates, cell, its tanh, hidden, mask (time, batch),
    packed weights (n_in, 4 n), input. From step to step each but weights and bias moves
    by one time step.
    """
    batch, n_in, n = sizes.batch, sizes.n_in, sizes.n_out
    wide, narrow = 4 * batch * n, batch * n
    cell_before = Argument(3, step=narrow)
    z = Argument(4, step=wide)
    of_input, of_hidden = sizes.forwards
    products = (
        *_rows_by_weights(Argument(10, step=batch * n_in), 9, z, batch, of_input),
        *_rows_by_weights(Argument(2, step=narrow), 0, z, batch, of_hidden, "sum"),
    )
    gates = tuple(Field(Argument(4, k * n, wide), (4 * n,)) for k in range(4))
    biases = tuple(Field(Argument(1, k * n), (0,)) for k in range(4))
    written = tuple(Field(Argument(number, step=narrow), (n,)) for number in (5, 6, 7))
    mask = Field(Argument(8, step=batch), (1,), is_one=True)
    masks = (mask,) if sizes.is_masked else ()
    step = Pointwise(
        "daskdl.kernels.recurrent.gates:forward",
        (*gates, *biases, Field(cell_before, (n,)), *masks),
        (*gates, *written),
        (batch,),
        n,
    )
    return Program(sizes.dtype, 11, (*products, step))


@functools.lru_cache(maxsize=256)
def lstm_backward(sizes: LstmSizes) -> Program:
    """Return the program of time steps, from the last one back.

    Its arguments, at the last step: packed R^T (4 n, n), gradient of the output, which
    is added to, gates, tanh of the cell, cell before, gradient in the sums of the step
    behind, that of this step, the gradient in the cell (one step, kept up to date), the
    cell that a mask left, packed W^T (4 n, n_in), gradient of the input.
    """
    batch, n_in, n = sizes.batch, sizes.n_in, sizes.n_out
    wide, narrow = 4 * batch * n, batch * n
    grad_hidden = Argument(1, step=-narrow)
    to_input, to_hidden = sizes.backwards
    behind = Argument(5, step=-wide)
    product = _rows_by_weights(behind, 0, grad_hidden, batch, to_hidden, "sum")
    gates = tuple(Field(Argument(2, k * n, -wide), (4 * n,)) for k in range(4))
    active, cell_before = (Field(Argument(k, step=-narrow), (n,)) for k in (3, 4))
    sums = tuple(Field(Argument(6, k * n, -wide), (4 * n,)) for k in range(4))
    grad_cell = Field(Argument(7), (n,))
    cell = Field(Argument(8, step=-narrow), (n,))
    left = (cell,) if sizes.is_masked else ()
    step = Pointwise(
        "daskdl.kernels.recurrent.gates:backward",
        (*gates, active, cell_before, Field(grad_hidden, (n,)), grad_cell, *left),
        (*sums, grad_cell),
        (batch,),
        n,
    )
    if not sizes.sends_back:
        return Program(sizes.dtype, 11, (*product, step))
    grad_x = Argument(10, step=-batch * n_in)
    sent = _rows_by_weights(Argument(6, step=-wide), 9, grad_x, batch, to_input)
    return Program(sizes.dtype, 11, (*product, step, *sent))


@functools.lru_cache(maxsize=256)
def lstm_sums(sizes: LstmSizes, n_steps: int, *, has_before: bool) -> Program:
    """Return the program of stretches of so many time steps each.

    Its arguments: input, hidden one step before, gradient in the sums, gradients of W,
    R and the bias, which are added to, scratch for the packed gradient of a stretch,
    and the number 1. Where there is nothing before, the gradient of R is left alone.
    """
    rows, n = n_steps * sizes.batch, sizes.n_out
    panels = sizes.panels(rows)
    scratch = Argument(6)
    packed = packing(panels, Argument(2, step=rows * 4 * n), scratch)

    def added(number: int, width: int, target: int) -> tuple[Contraction, ...]:
        product = Contraction(
            Argument(number, step=rows * width),
            scratch,
            Argument(target),
            (Axis(1), Axis(width, a=1, c=4 * n)),
            4 * n,
            (Axis(rows, a=width, b=4 * n),),
            start="sum",
        )
        return panel_products(product, panels)

    ones = column_sums(Argument(7), scratch, Argument(5), 4 * n, (Axis(rows, b=4 * n),))
    products = (*added(0, sizes.n_in, 3), *panel_products(ones, panels))
    if has_before:
        products = (*products, *added(1, n, 4))
    return Program(sizes.dtype, 8, (*packed, *products))


def _rows_by_weights(
    rows: Argument,
    weights: int,
    target: Argument,
    n_rows: int,
    panels: Panels,
    start: Start = "zero",
) -> tuple[Contraction, ...]:
    """Return ``target = start + rows @ weights``."""
    k, columns = panels.rows, panels.columns
    product = Contraction(
        rows,
        Argument(weights),
        target,
        (Axis(1), Axis(n_rows, a=k, c=columns)),
        columns,
        (Axis(k, a=1, b=columns),),
        start=start,
    )
    return panel_products(product, panels)
