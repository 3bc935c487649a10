"""The gates and the cell of an LSTM in registers, one step on or back.

See :func:`daskdl.kernels.recurrent.lstm_forward` for the formulas.
"""

from collections.abc import Sequence
from typing import Any

from daskdl.kernels.tiles.pointwise import sigmoid, tanh
from daskdl.kernels.tiles.writer import Writer


def forward(
    writer: Writer, lanes: int, registers: Sequence[Any], n_written: int
) -> Sequence[Any]:
    """Open the gates of an LSTM and bring its cell one step forward.

    Reads the weighted sums of block input, forget, output and input gate, their biases
    in the same order, the cell before and, if there is one, the mask. Writes the
    activations of the four, the cell, its tanh and the output; the mask multiplies cell
    and output, not the tanh.
    """
    builder = writer.builder
    sums, biases = registers[:4], registers[4:8]
    cell_before, *masks = registers[8:]
    block, forget, output, entry = (
        builder.fadd(total, bias) for total, bias in zip(sums, biases, strict=True)
    )
    block = tanh(writer, lanes, block)
    forget = sigmoid(writer, lanes, forget)
    output = sigmoid(writer, lanes, output)
    entry = sigmoid(writer, lanes, entry)
    cell = writer.fused(forget, cell_before, builder.fmul(entry, block))
    active = tanh(writer, lanes, cell)
    hidden = builder.fmul(output, active)
    for mask in masks:
        cell, hidden = builder.fmul(cell, mask), builder.fmul(hidden, mask)
    return block, forget, output, entry, cell, active, hidden


def backward(
    writer: Writer, lanes: int, registers: Sequence[Any], n_written: int
) -> Sequence[Any]:
    """Compute the gradients of :func:`forward` and bring the cell's a step back.

    Reads the activations of block input, forget, output and input gate, the tanh of the
    cell, the cell before, the gradients in the output and in the cell and, where there
    was a mask, the cell that it left. Writes the gradients in the four weighted sums
    and in the cell before.

    DL4J takes the slope at the cell that is left, and the gradient of the output gate
    from the cell before the mask.
    """
    builder = writer.builder
    block, forget, output, entry, active, cell_before, grad, grad_cell = registers[:8]
    one = writer.number(1, lanes)
    grad_output = builder.fmul(grad, active)
    through = builder.fmul(grad, output)
    for left in registers[8:]:
        active = tanh(writer, lanes, left)
    slope = builder.fsub(one, builder.fmul(active, active))
    grad_cell = writer.fused(through, slope, grad_cell)
    grad_block = builder.fmul(grad_cell, entry)
    grad_entry = builder.fmul(grad_cell, block)
    grad_forget = builder.fmul(grad_cell, cell_before)
    before = builder.fmul(grad_cell, forget)
    of_block = builder.fsub(one, builder.fmul(block, block))
    gates = [
        builder.fmul(grad, builder.fmul(gate, builder.fsub(one, gate)))
        for grad, gate in (
            (grad_forget, forget),
            (grad_output, output),
            (grad_entry, entry),
        )
    ]
    return builder.fmul(grad_block, of_block), *gates, before
