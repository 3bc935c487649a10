"""The programs of the three products, and which one costs less.

Their arguments are those of :class:`~.statements.Where`, in its order.
"""

import functools
import math

from daskdl.kernels.tiles.blocking import contraction_cost
from daskdl.kernels.tiles.machine import vector_unit
from daskdl.kernels.tiles.nest import Program, Statement
from daskdl.kernels.window_products import remainder, statements
from daskdl.kernels.window_products.geometry import Geometry
from daskdl.kernels.window_products.statements import Where

N_ARGUMENTS = 7
WHERE = Where()


@functools.lru_cache(maxsize=1024)
def windows_to_outputs(
    geometry: Geometry, columns: int, *, has_bias: bool, rectifies: bool
) -> Program:
    """Return the program of :func:`outputs_of_windows`, or of some of its columns."""
    if columns == geometry.n_out:
        parts = outputs_of_windows(
            geometry, WHERE, has_bias=has_bias, rectifies=rectifies
        )
        return Program(geometry.dtype, N_ARGUMENTS, parts)
    some = statements.windows_to_outputs(
        geometry, WHERE, columns, has_bias=has_bias, rectifies=rectifies
    )
    return Program(geometry.dtype, N_ARGUMENTS, some)


def outputs_of_windows(
    geometry: Geometry, where: Where, *, has_bias: bool, rectifies: bool = False
) -> tuple[Statement, ...]:
    """Return the statements of all outputs; the last channels apart if it is faster."""
    whole = statements.windows_to_outputs(
        geometry, where, geometry.n_out, has_bias=has_bias, rectifies=rectifies
    )
    rest = remaining_channels(geometry)
    if not rest:
        return whole
    there = remainder.outputs(
        geometry, where, rest, has_bias=has_bias, rectifies=rectifies
    )
    return (*remainder.without(whole, rest), *there)


@functools.lru_cache(maxsize=1024)
def remaining_channels(geometry: Geometry) -> int:
    """Return how many channels of the output are left to :mod:`.remainder`."""
    rest = remainder.leftover(geometry)
    if not rest or any(axis.stride != 1 for axis in geometry.window.axes):
        return 0
    whole = statements.windows_to_outputs(
        geometry, WHERE, geometry.n_out, has_bias=False
    )
    there = remainder.outputs(geometry, WHERE, rest, has_bias=False, rectifies=False)
    parts = (*remainder.without(whole, rest), *there)
    return rest if remainder.costs_less(geometry.dtype, parts, whole) else 0


@functools.lru_cache(maxsize=1024)
def windows_by_outputs(geometry: Geometry, columns: int) -> Program:
    """Return the program of :func:`weights_of_windows`, or of some of its columns."""
    if columns == geometry.n_out:
        parts = weights_of_windows(geometry, WHERE)
        return Program(geometry.dtype, N_ARGUMENTS, parts)
    some = statements.windows_by_outputs(geometry, WHERE, columns)
    return Program(geometry.dtype, N_ARGUMENTS, some)


def weights_of_windows(geometry: Geometry, where: Where) -> tuple[Statement, ...]:
    """Return the statements of all weights; the last columns apart if it is faster."""
    whole = statements.windows_by_outputs(geometry, where, geometry.n_out)
    rest = remaining_columns(geometry)
    if not rest:
        return whole
    return (*remainder.without(whole, rest), remainder.weights(geometry, where, rest))


@functools.lru_cache(maxsize=1024)
def remaining_columns(geometry: Geometry) -> int:
    """Return how many columns of the weights are left to :mod:`.remainder`."""
    rest = remainder.leftover(geometry)
    if not rest:
        return 0
    whole = statements.windows_by_outputs(geometry, WHERE, geometry.n_out)
    parts = (*remainder.without(whole, rest), remainder.weights(geometry, WHERE, rest))
    return rest if remainder.costs_less(geometry.dtype, parts, whole) else 0


@functools.lru_cache(maxsize=1024)
def outputs_to_windows(geometry: Geometry) -> Program:
    """Return the program of :func:`.statements.outputs_to_windows`."""
    parts = statements.outputs_to_windows(geometry, WHERE)
    return Program(geometry.dtype, N_ARGUMENTS, parts)


@functools.lru_cache(maxsize=1024)
def flipped_to_windows(geometry: Geometry, columns: int) -> Program:
    """Return the program of :func:`.statements.flipped_to_windows`."""
    parts = statements.flipped_to_windows(geometry, WHERE, columns)
    return Program(geometry.dtype, N_ARGUMENTS, parts)


@functools.lru_cache(maxsize=1024)
def flips_kernel(geometry: Geometry) -> bool:
    """Return whether :func:`flipped_to_windows` costs less than adding to windows."""
    if not _can_flip(geometry):
        return False
    unit = vector_unit()
    lanes = unit.lanes(geometry.dtype)
    image, out, kernel = (
        geometry.window.sizes,
        geometry.window.out,
        geometry.window.kernel,
    )
    of_image = (math.prod(image[:-1]), image[-1])
    flipped = contraction_cost(
        unit, lanes, of_image, geometry.n_in, math.prod(kernel) * geometry.n_out
    )
    of_output = (math.prod(out[:-1]), out[-1])
    added = math.prod(kernel[:-1]) * contraction_cost(
        unit, lanes, of_output, kernel[-1] * geometry.n_in, geometry.n_out
    )
    return flipped < added


def flipped_scratch_size(geometry: Geometry) -> int:
    """Return the numbers of scratch that a flipped kernel slides over."""
    return math.prod(statements.flipped_sizes(geometry)) * geometry.n_out


def _can_flip(geometry: Geometry) -> bool:
    return all(
        axis.stride == 1 and axis.before <= (axis.kernel - 1) * axis.dilation
        for axis in geometry.window.axes
    )
