"""The programs of the three products, and which one costs less.

Their arguments are those of :class:`~.statements.Where`, in its order.
"""

import functools
import math

from daskdl.kernels.tiles.blocking import contraction_cost
from daskdl.kernels.tiles.machine import vector_unit
from daskdl.kernels.tiles.nest import Program, Statement
from daskdl.kernels.window_products import apart, statements
from daskdl.kernels.window_products.geometry import Geometry
from daskdl.kernels.window_products.statements import Where

N_ARGUMENTS = 7
WHERE = Where()


@functools.lru_cache(maxsize=1024)
def windows_to_places(
    geometry: Geometry, columns: int, *, has_bias: bool, rectifies: bool
) -> Program:
    """Return the program of :func:`places_of_windows`, or of some of its columns."""
    if columns == geometry.n_place:
        parts = places_of_windows(
            geometry, WHERE, has_bias=has_bias, rectifies=rectifies
        )
        return Program(geometry.dtype, N_ARGUMENTS, parts)
    some = statements.windows_to_places(
        geometry, WHERE, columns, has_bias=has_bias, rectifies=rectifies
    )
    return Program(geometry.dtype, N_ARGUMENTS, some)


def places_of_windows(
    geometry: Geometry, where: Where, *, has_bias: bool, rectifies: bool = False
) -> tuple[Statement, ...]:
    """Return the statements of all places, some channels apart if that is faster."""
    whole = statements.windows_to_places(
        geometry, where, geometry.n_place, has_bias=has_bias, rectifies=rectifies
    )
    rest = channels_apart(geometry)
    if not rest:
        return whole
    there = apart.places(geometry, where, rest, has_bias=has_bias, rectifies=rectifies)
    return (*apart.without(whole, rest), *there)


@functools.lru_cache(maxsize=1024)
def channels_apart(geometry: Geometry) -> int:
    """Return how many channels of the places :func:`places_of_windows` makes apart."""
    rest = apart.leftover(geometry)
    if not rest or any(axis.stride != 1 for axis in geometry.window.axes):
        return 0
    whole = statements.windows_to_places(
        geometry, WHERE, geometry.n_place, has_bias=False
    )
    there = apart.places(geometry, WHERE, rest, has_bias=False, rectifies=False)
    parts = (*apart.without(whole, rest), *there)
    return rest if apart.costs_less(geometry.dtype, parts, whole) else 0


@functools.lru_cache(maxsize=1024)
def windows_by_places(geometry: Geometry, columns: int) -> Program:
    """Return the program of :func:`weights_of_windows`, or of some of its columns."""
    if columns == geometry.n_place:
        parts = weights_of_windows(geometry, WHERE)
        return Program(geometry.dtype, N_ARGUMENTS, parts)
    some = statements.windows_by_places(geometry, WHERE, columns)
    return Program(geometry.dtype, N_ARGUMENTS, some)


def weights_of_windows(geometry: Geometry, where: Where) -> tuple[Statement, ...]:
    """Return the statements of all weights, some columns apart if that is faster."""
    whole = statements.windows_by_places(geometry, where, geometry.n_place)
    rest = columns_apart(geometry)
    if not rest:
        return whole
    return (*apart.without(whole, rest), apart.weights(geometry, where, rest))


@functools.lru_cache(maxsize=1024)
def columns_apart(geometry: Geometry) -> int:
    """Return how many columns of the weights :func:`weights_of_windows` makes apart."""
    rest = apart.leftover(geometry)
    if not rest:
        return 0
    whole = statements.windows_by_places(geometry, WHERE, geometry.n_place)
    parts = (*apart.without(whole, rest), apart.weights(geometry, WHERE, rest))
    return rest if apart.costs_less(geometry.dtype, parts, whole) else 0


@functools.lru_cache(maxsize=1024)
def places_to_windows(geometry: Geometry) -> Program:
    """Return the program of :func:`.statements.places_to_windows`."""
    parts = statements.places_to_windows(geometry, WHERE)
    return Program(geometry.dtype, N_ARGUMENTS, parts)


@functools.lru_cache(maxsize=1024)
def turned_to_windows(geometry: Geometry, columns: int) -> Program:
    """Return the program of :func:`.statements.turned_to_windows`."""
    parts = statements.turned_to_windows(geometry, WHERE, columns)
    return Program(geometry.dtype, N_ARGUMENTS, parts)


@functools.lru_cache(maxsize=1024)
def turns_kernel(geometry: Geometry) -> bool:
    """Return whether :func:`turned_to_windows` costs less than adding to windows."""
    if not _can_turn(geometry):
        return False
    unit = vector_unit()
    lanes = unit.lanes(geometry.dtype)
    image, out, kernel = (
        geometry.window.sizes,
        geometry.window.out,
        geometry.window.kernel,
    )
    of_image = (math.prod(image[:-1]), image[-1])
    turned = contraction_cost(
        unit, lanes, of_image, geometry.n_under, math.prod(kernel) * geometry.n_place
    )
    of_places = (math.prod(out[:-1]), out[-1])
    added = math.prod(kernel[:-1]) * contraction_cost(
        unit, lanes, of_places, kernel[-1] * geometry.n_under, geometry.n_place
    )
    return turned < added


def turned_room(geometry: Geometry) -> int:
    """Return the numbers of scratch that a turned kernel slides over."""
    return math.prod(statements.turned_sizes(geometry)) * geometry.n_place


def _can_turn(geometry: Geometry) -> bool:
    return all(
        axis.stride == 1 and axis.before <= (axis.kernel - 1) * axis.dilation
        for axis in geometry.window.axes
    )
