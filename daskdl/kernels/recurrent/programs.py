"""The steps of an LSTM as loop nests: an "example" of a program is a time step.

::

    forward, from the first step on        backward, from the last step on
      z[t] += h[t-1] @ R                     dh[t] += dz[t+1] @ R^T
      gates, cell, output                    dz[t], gradient of the cell

In ``@`` the rows of a tile are examples of the minibatch. R stays in a level-2 cache
from step to step; the sums of a tile, the gates and the cells never leave the core.
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
)


@dataclass(frozen=True)
class LstmSizes:
    """Examples and width of an LSTM, the type of its numbers, whether it has a mask."""

    batch: int
    n_out: int
    dtype: str
    is_masked: bool


@functools.lru_cache(maxsize=256)
def lstm_forward(sizes: LstmSizes) -> Program:
    """Return the program of time steps.

    Its arguments, at the first step: recurrent weights (n, 4 n), bias (4 n), hidden
    before, cell before, gates (sums of the input in, activations out), cell, its tanh,
    hidden, mask (time, batch). From step to step each but the weights moves by one time
    step.
    """
    batch, n = sizes.batch, sizes.n_out
    wide, narrow = 4 * batch * n, batch * n
    weights, bias = Argument(0), 1
    hidden_before = Argument(2, step=narrow)
    cell_before = Argument(3, step=narrow)
    product = Contraction(
        hidden_before,
        weights,
        Argument(4, step=wide),
        (Axis(1), Axis(batch, a=n, c=4 * n)),
        4 * n,
        (Axis(n, a=1, b=4 * n),),
        start="sum",
    )
    gates = tuple(Field(Argument(4, k * n, wide), (4 * n,)) for k in range(4))
    biases = tuple(Field(Argument(bias, k * n), (0,)) for k in range(4))
    written = tuple(Field(Argument(number, step=narrow), (n,)) for number in (5, 6, 7))
    mask = Field(Argument(8, step=batch), (1,), is_one=True)
    masks = (mask,) if sizes.is_masked else ()
    step = Pointwise(
        "lstm_forward",
        (*gates, *biases, Field(cell_before, (n,)), *masks),
        (*gates, *written),
        (batch,),
        n,
    )
    return Program(sizes.dtype, 9, (product, step))


@functools.lru_cache(maxsize=256)
def lstm_backward(sizes: LstmSizes) -> Program:
    """Return the program of time steps, from the last one back.

    Its arguments, at the last step: transposed recurrent weights (4 n, n), gradient of
    the output, which is added to, gates, tanh of the cell, cell before, gradient in the
    sums of the step behind, that of this step, the gradient in the cell (one step, kept
    up to date), and the cell that a mask left.
    """
    batch, n = sizes.batch, sizes.n_out
    wide, narrow = 4 * batch * n, batch * n
    grad_hidden = Argument(1, step=-narrow)
    product = Contraction(
        Argument(5, step=-wide),
        Argument(0),
        grad_hidden,
        (Axis(1), Axis(batch, a=4 * n, c=n)),
        n,
        (Axis(4 * n, a=1, b=n),),
        start="sum",
    )
    gates = tuple(Field(Argument(2, k * n, -wide), (4 * n,)) for k in range(4))
    active, cell_before = (Field(Argument(k, step=-narrow), (n,)) for k in (3, 4))
    sums = tuple(Field(Argument(6, k * n, -wide), (4 * n,)) for k in range(4))
    grad_cell = Field(Argument(7), (n,))
    cell = Field(Argument(8, step=-narrow), (n,))
    left = (cell,) if sizes.is_masked else ()
    step = Pointwise(
        "lstm_backward",
        (*gates, active, cell_before, Field(grad_hidden, (n,)), grad_cell, *left),
        (*sums, grad_cell),
        (batch,),
        n,
    )
    return Program(sizes.dtype, 9, (product, step))
