"""Sigmoid and tanh of the numbers in a register."""

import math
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from daskdl.kernels.tiles.writer import Writer


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
    return builder.select(is_nan(writer, x), x, result)


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


def is_nan(writer: Writer, x: Any) -> Any:
    """Return in which lanes there is no number."""
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
