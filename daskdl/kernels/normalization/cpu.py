"""Batch normalization compiled for the CPU.

A row of few channels is too short for a loop of vectors. So several rows are taken as
one long row, a strip, and what belongs to a channel is repeated to that length. Mean
and variance come from one read of the memory::

    for block of _STRIPS strips:                      # fits the first-level cache
        for strip, for i over the strip: sum          # from memory
        for strip, for i over the strip: squares about the block's mean    # cached
        for i over the strip: join with the blocks before, in float64
    join the repeats of each channel

References
----------
T. Chan, G. Golub, R. LeVeque, "Algorithms for computing the sample variance", The
American Statistician 37, 1983, equation 1.5: how sums and squares of groups join.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from daskdl.arrays.namespace import FloatArray
from daskdl.kernels.jit import jit

# Gives what all threads have brought that have rows of a batch, in one order for all.
Exchange: TypeAlias = Callable[[tuple[Any, ...]], list[tuple[Any, ...]]]

# Numbers: entering a loop costs little beside 16 vectors of 16 floats.
_STRIP = 256
# Of 256 floats they are 16 KiB, half of a small first-level cache; and so few numbers
# lose nothing to speak of when they are added in float32.
_STRIPS = 16


def moments(x: FloatArray, mean: FloatArray, variance: FloatArray) -> None:
    """Write mean and biased variance of the columns of `x`, (rows, features)."""
    width = _width(*x.shape)
    sums, squares = np.zeros((2, width))
    part, middle, about = np.empty((3, width), x.dtype)
    _read_strips(x.reshape(-1), sums, squares, part, middle, about)
    _join_strips(x.reshape(-1), sums, squares, mean, variance)


@jit
def _read_strips(flat, sums, squares, part, middle, about):
    """Sum the strips of a matrix, and their squares about the means."""
    width = sums.size
    zero = part.dtype.type(0)
    all_strips = flat.size // width
    for first in range(0, all_strips, _STRIPS):
        strips = min(_STRIPS, all_strips - first)
        for i in range(width):
            part[i] = zero
            about[i] = zero
        for s in range(first, first + strips):
            strip = flat[s * width : s * width + width]
            for i in range(width):
                part[i] += strip[i]
        divisor = part.dtype.type(strips)
        for i in range(width):
            middle[i] = part[i] / divisor
        for s in range(first, first + strips):
            strip = flat[s * width : s * width + width]
            for i in range(width):
                deviation = strip[i] - middle[i]
                about[i] += deviation * deviation
        before, count = float(first), float(strips)
        for i in range(width):
            squares[i] += about[i] + _between(sums[i], before, part[i], count)
            sums[i] += part[i]


@jit
def _join_strips(flat, sums, squares, mean, variance):
    """Write the statistics of the columns from those of the strips."""
    width, n = sums.size, mean.size
    # The rows that are too few for a strip.
    strips = flat.size // width
    rest = flat[strips * width :]
    for i in range(rest.size):
        value = rest[i]
        # Its own square about itself is 0, or NaN.
        squares[i] += value - value
        squares[i] += _between(sums[i], float(strips), value, 1.0)
        sums[i] += value
    # The repeats of a feature.
    some = float(strips + (rest.size > 0))
    for start in range(n, width, n):
        others = float(strips + (rest.size > start))
        for i in range(n):
            squares[i] += squares[start + i]
            squares[i] += _between(sums[i], some, sums[start + i], others)
            sums[i] += sums[start + i]
        some += others
    rows = flat.size // n
    for i in range(n):
        mean[i] = sums[i] / rows
        variance[i] = squares[i] / rows


@jit
def _between(sum_of_some, some, sum_of_others, others):
    """Return the excess of the squares about one joint mean over those about two."""
    difference = sum_of_some * (1 / max(some, 1.0)) - sum_of_others / others
    return difference * difference * (some * others / (some + others))


def normalize(
    x: FloatArray,
    gamma: FloatArray | float,
    beta: FloatArray | float,
    eps: float,
    mean: FloatArray,
    variance: FloatArray,
    out: FloatArray,
    rectifies: bool,
) -> None:
    """Write ``gamma * (x - mean) / sqrt(variance + eps) + beta``, rectified if asked.

    Arrays as in :func:`daskdl.kernels.normalization.batch_norm_inference`.
    """
    scale = gamma / np.sqrt(variance + eps)
    least = x.dtype.type(0 if rectifies else -np.inf)
    shift_and_scale(x, mean, scale, np.full_like(mean, beta), least, out)


def batch_norm_backward(
    grad_out: FloatArray,
    x: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    grad_gamma: FloatArray,
    grad_beta: FloatArray,
    grad_x: FloatArray,
    gamma: FloatArray | float,
    eps: float,
    rectified_beta: FloatArray | float | None,
    exchange: Exchange | None = None,
) -> None:
    """Write the gradients of a batch normalization, through the statistics too.

    Arrays as in :func:`daskdl.kernels.normalization.batch_norm_backward`.
    """
    deviation = np.sqrt(variance + eps)
    slope = gamma / deviation
    shift = None if rectified_beta is None else np.full_like(mean, rectified_beta)
    gradient_sums(grad_out, x, mean, slope, shift, grad_gamma, grad_beta)
    grad_gamma /= deviation
    rows, along, total = joined(exchange, len(x), grad_gamma, grad_beta)
    share = slope / -rows
    of_x, constant = along * share / deviation, total * share
    combine(grad_out, x, mean, slope, of_x, constant, shift, grad_x)


def joined(exchange: Exchange | None, rows: int, *sums: FloatArray) -> tuple[Any, ...]:
    """Return the number of rows and the sums over them, of all threads together.

    `sums` are of shape (features,), and are themselves what is returned where there is
    no `exchange`.
    """
    if exchange is None:
        return rows, *sums
    found = exchange((rows, *(each.copy() for each in sums)))
    return tuple(sum(column) for column in zip(*found, strict=True))


def batch_norm_inference_backward(
    grad_out: FloatArray,
    x: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    grad_gamma: FloatArray,
    grad_beta: FloatArray,
    grad_x: FloatArray,
    gamma: FloatArray | float,
    eps: float,
) -> None:
    """Write the gradients of a normalization with given statistics.

    Arrays as in :func:`daskdl.kernels.normalization.batch_norm_backward`.
    """
    deviation = np.sqrt(variance + eps)
    slope, nothing = gamma / deviation, np.zeros_like(mean)
    gradient_sums(grad_out, x, mean, slope, None, grad_gamma, grad_beta)
    grad_gamma /= deviation
    least = x.dtype.type(-np.inf)
    shift_and_scale(grad_out, nothing, slope, nothing, least, grad_x)


def shift_and_scale(
    x: FloatArray,
    mean: FloatArray,
    scale: FloatArray,
    shift: FloatArray,
    least: Any,
    out: FloatArray,
) -> None:
    """Write ``(x - mean) * scale + shift`` of each column, or `least` if it is more.

    `x` and `out` are of shape (rows, features), all others (features,).
    """
    _shift_and_scale(
        x.reshape(-1), *_tiled(x, mean, scale, shift), least, out.reshape(-1)
    )


@jit
def _shift_and_scale(values, means, scales, shifts, least, results):
    width = means.size
    for start in range(0, values.size, width):
        value, result = values[start : start + width], results[start : start + width]
        for i in range(value.size):
            moved = (value[i] - means[i]) * scales[i] + shifts[i]
            # Not max(): a NaN stays.
            result[i] = least if moved < least else moved


def gradient_sums(
    grad_out: FloatArray,
    x: FloatArray,
    mean: FloatArray,
    scale: FloatArray,
    shift: FloatArray | None,
    along: FloatArray,
    total: FloatArray,
) -> None:
    """Write the sums of ``grad_out * (x - mean)`` and of `grad_out` in each column.

    `grad_out` and `x` are of shape (rows, features), all others (features,). `along` is
    overwritten with the first sums, `total` with the second ones.

    With a `shift` the gradient is that behind a rectifier, see :func:`combine`; with
    None there is none.
    """
    width = _width(*x.shape)
    some, some_along = np.zeros((2, width), x.dtype)
    everything, all_along = np.zeros((2, width))
    vectors = _tiled(x, mean, scale, shift)
    flat = (grad_out.reshape(-1), x.reshape(-1))
    _gradient_sums(*flat, *vectors, some, some_along, everything, all_along)
    total[...] = everything.reshape(-1, total.size).sum(axis=0)
    along[...] = all_along.reshape(-1, along.size).sum(axis=0)


@jit
def _gradient_sums(
    grads, values, means, scales, shifts, some, some_along, everything, all_along
):
    width = means.size
    zero, one = some.dtype.type(0), some.dtype.type(1)
    for block in range(0, values.size, width * _STRIPS):
        for start in range(block, min(block + width * _STRIPS, values.size), width):
            value, grad = values[start : start + width], grads[start : start + width]
            for i in range(value.size):
                share, centred = grad[i], value[i] - means[i]
                if shifts is not None:
                    moved = centred * scales[i] + shifts[i]
                    share *= one if moved > zero else zero
                some[i] += share
                some_along[i] += share * centred
        for i in range(width):
            everything[i] += some[i]
            all_along[i] += some_along[i]
            some[i] = zero
            some_along[i] = zero


def combine(
    grad_out: FloatArray,
    x: FloatArray,
    mean: FloatArray,
    of_grad: FloatArray,
    of_x: FloatArray,
    constant: FloatArray,
    shift: FloatArray | None,
    out: FloatArray,
) -> None:
    """Write ``grad_out * of_grad + (x - mean) * of_x + constant`` of each column.

    `grad_out`, `x` and `out` are of shape (rows, features), all others (features,).

    With a `shift` the gradient is that behind a rectifier, and counts only where
    ``(x - mean) * of_grad + shift`` was above 0. To compute that again, as
    :func:`shift_and_scale` did to the last bit, costs less than to read it.
    """
    vectors = _tiled(x, mean, of_grad, of_x, constant, shift)
    _combine(grad_out.reshape(-1), x.reshape(-1), *vectors, out.reshape(-1))


@jit
def _combine(grads, values, means, grad_factors, factors, constants, shifts, results):
    width = means.size
    zero, one = means.dtype.type(0), means.dtype.type(1)
    for start in range(0, values.size, width):
        value, grad = values[start : start + width], grads[start : start + width]
        result = results[start : start + width]
        for i in range(value.size):
            share, centred = grad[i], value[i] - means[i]
            if shifts is not None:
                moved = centred * grad_factors[i] + shifts[i]
                share *= one if moved > zero else zero
            along = centred * factors[i]
            result[i] = share * grad_factors[i] + along + constants[i]


def _width(rows: int, n: int) -> int:
    """Return the numbers in a strip: of one row or several, not more than there are."""
    return n * max(1, min(rows, -(-_STRIP // max(1, n))))


def _tiled(x: FloatArray, *vectors: FloatArray | None) -> list[FloatArray | None]:
    """Return vectors of a number a feature, repeated to the width of a strip."""
    rows, n = x.shape
    there = [vector for vector in vectors if vector is not None]
    tiled = np.empty((len(there), _width(rows, n) // n, n), x.dtype)
    for vector, repeated in zip(there, tiled, strict=True):
        repeated[...] = vector
    found = iter(tiled.reshape(len(there), -1))
    return [None if vector is None else next(found) for vector in vectors]
