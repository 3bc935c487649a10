"""Functions of numbers at one place, written for registers of them.

Each takes the writer, the live lanes, the registers it reads and the number of those it
writes, and returns these.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from daskdl.kernels.tiles.writer import Writer

Function = Callable[[Writer, int, Sequence[Any], int], Sequence[Any]]


def lstm_forward(
    writer: Writer, lanes: int, registers: Sequence[Any], n_written: int
) -> Sequence[Any]:
    """Open the gates of an LSTM and bring its cell one step forward.

    Reads the weighted sums of block input, forget, output and input gate, their biases
    in the same order, the cell before and, if there is one, the mask. Writes the
    activations of the four, the cell, its tanh and the output; the mask multiplies cell
    and output, not the tanh. See :func:`daskdl.kernels.recurrent.lstm_forward`.
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


def lstm_backward(
    writer: Writer, lanes: int, registers: Sequence[Any], n_written: int
) -> Sequence[Any]:
    """Compute the gradients of :func:`lstm_forward` and bring the cell's a step back.

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


def maximum(
    writer: Writer, lanes: int, registers: Sequence[Any], n_written: int
) -> Sequence[Any]:
    """Return the largest number, NaN if there is one, and which of them it is.

    Among equals the first one wins. With :func:`rectified_maximum` what is below 0
    becomes 0.
    """
    builder = writer.builder
    best, winner = registers[0], writer.number(0, lanes)
    for number, candidate in enumerate(registers[1:], start=1):
        better = builder.fcmp_ordered(">", candidate, best)
        best = builder.select(better, candidate, best)
        best = builder.select(_is_nan(writer, candidate), candidate, best)
        winner = builder.select(better, writer.number(number, lanes), winner)
    return best, winner


def rectified_maximum(
    writer: Writer, lanes: int, registers: Sequence[Any], n_written: int
) -> Sequence[Any]:
    """Return :func:`maximum` behind a rectifier."""
    best, winner = maximum(writer, lanes, registers, n_written)
    return writer.rectified(best, lanes), winner


def to_winner(
    writer: Writer, lanes: int, registers: Sequence[Any], n_written: int
) -> Sequence[Any]:
    """Return the gradient at the place of the winner, and 0 at the others.

    Reads the gradient, the winner's number and, behind a rectifier, its output: where
    that is not above 0 the gradient is 0.
    """
    builder = writer.builder
    grad, winner, *outputs = registers
    zero = writer.number(0, lanes)
    for output in outputs:
        is_open = builder.fcmp_ordered(">", output, zero)
        grad = builder.select(is_open, grad, zero)
    return [
        builder.select(
            builder.fcmp_ordered("==", winner, writer.number(number, lanes)), grad, zero
        )
        for number in range(n_written)
    ]


FUNCTIONS: dict[str, Function] = {
    "lstm_forward": lstm_forward,
    "lstm_backward": lstm_backward,
    "maximum": maximum,
    "rectified_maximum": rectified_maximum,
    "to_winner": to_winner,
}


def sigmoid(writer: Writer, lanes: int, x: Any) -> Any:
    """Return ``1 / (1 + exp(-x))``, exact far below 0 too."""
    builder = writer.builder
    one = writer.number(1, lanes)
    power = _exponential(writer, lanes, builder.fsub(writer.number(0, lanes), x))
    return builder.fdiv(one, builder.fadd(one, power))


def tanh(writer: Writer, lanes: int, x: Any) -> Any:
    """Return ``e / (e + 2)`` with ``e = exp(2 x) - 1``: exact around 0 too."""
    builder = writer.builder
    twice = _within(writer, lanes, builder.fadd(x, x), 40.0)
    less_one = _exponential(writer, lanes, twice, less_one=True)
    return builder.fdiv(less_one, builder.fadd(less_one, writer.number(2, lanes)))


def _exponential(writer: Writer, lanes: int, x: Any, *, less_one: bool = False) -> Any:
    """Return ``exp(x)``, or ``exp(x) - 1`` without loss around 0.

    ``exp(x) = 2^n exp(r)``, n being the integer nearest to ``x / ln 2``: a Taylor
    series of exp(r) has all digits after 7 terms in single precision, and after 13 in
    double. Beyond the largest power the result is that power, NaN stays NaN.
    """
    builder = writer.builder
    format = _FORMATS[writer.itemsize]
    x = _within(writer, lanes, x, format.largest)
    # Adding this rounds to an integer, which then stands in the lowest bits.
    magic = writer.number(1.5 * 2.0**format.mantissa, lanes)
    shifted = writer.fused(x, writer.number(1 / math.log(2), lanes), magic)
    n = builder.fsub(shifted, magic)
    rest = writer.fused(n, writer.number(-format.log_2_high, lanes), x)
    rest = writer.fused(n, writer.number(-format.log_2_low, lanes), rest)
    series = writer.number(1 / math.factorial(format.terms), lanes)
    for k in reversed(range(1, format.terms)):
        term = writer.number(1 / math.factorial(k), lanes)
        series = writer.fused(series, rest, term)
    series = builder.fmul(series, rest)
    power = _power_of_two(writer, lanes, shifted, format.mantissa)
    start = builder.fsub(power, writer.number(1, lanes)) if less_one else power
    result = writer.fused(power, series, start)
    return builder.select(_is_nan(writer, x), x, result)


def _power_of_two(writer: Writer, lanes: int, shifted: Any, mantissa: int) -> Any:
    """Return ``2^n`` for the integers in the lowest bits."""
    builder = writer.builder
    vector = writer.vector(lanes)
    bits = ir.VectorType(ir.IntType(8 * writer.itemsize), vector.count)
    exponent = builder.shl(
        builder.bitcast(shifted, bits), ir.Constant(bits, [mantissa] * vector.count)
    )
    one = builder.bitcast(writer.number(1, lanes), bits)
    return builder.bitcast(builder.add(exponent, one), vector)


def _within(writer: Writer, lanes: int, x: Any, most: float) -> Any:
    """Return `x`, held between -most and most; NaN stays NaN."""
    builder = writer.builder
    for limit, compare in ((most, ">"), (-most, "<")):
        bound = writer.number(limit, lanes)
        x = builder.select(builder.fcmp_ordered(compare, x, bound), bound, x)
    return x


def _is_nan(writer: Writer, x: Any) -> Any:
    return writer.builder.fcmp_unordered("uno", x, x)


@dataclass(frozen=True)
class _Format:
    """What the exponential needs to know of a floating-point type.

    ln 2 is in two parts: the first has so few digits that any n times it is exact.
    """

    mantissa: int
    largest: float
    terms: int
    log_2_high: float
    log_2_low: float


_FORMATS = {
    4: _Format(23, 87.0, 7, 0.693359375, -2.1219444005469057e-4),
    8: _Format(52, 708.0, 13, 0.6931471803691238, 1.9082149292705877e-10),
}
