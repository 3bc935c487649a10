"""The maximum of the cells of a pooling window in registers, and its gradient."""

from collections.abc import Sequence
from typing import Any

from daskdl.kernels.tiles.pointwise import is_nan
from daskdl.kernels.tiles.writer import Writer


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
        best = builder.select(is_nan(writer, candidate), candidate, best)
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
    """Return the gradient where the winner is, and 0 at the others.

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
