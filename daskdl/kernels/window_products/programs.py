"""The programs of the three products, and which one costs less.

Their arguments are those of :class:`~.statements.Where`, in its order.
"""

import functools
import math

from daskdl.kernels.tiles.blocking import contraction_cost
from daskdl.kernels.tiles.machine import vector_unit
from daskdl.kernels.tiles.nest import Program
from daskdl.kernels.window_products import statements
from daskdl.kernels.window_products.geometry import Geometry
from daskdl.kernels.window_products.statements import Where

N_ARGUMENTS = 5
WHERE = Where()


@functools.lru_cache(maxsize=1024)
def windows_to_places(
    geometry: Geometry, columns: int, *, has_bias: bool, rectifies: bool
) -> Program:
    """Return the program of :func:`.statements.windows_to_places`."""
    parts = statements.windows_to_places(
        geometry, WHERE, columns, has_bias=has_bias, rectifies=rectifies
    )
    return Program(geometry.dtype, N_ARGUMENTS, parts)


@functools.lru_cache(maxsize=1024)
def windows_by_places(geometry: Geometry, columns: int) -> Program:
    """Return the program of :func:`.statements.windows_by_places`."""
    parts = statements.windows_by_places(geometry, WHERE, columns)
    return Program(geometry.dtype, N_ARGUMENTS, parts)


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
    image, out, kernel = geometry.image, geometry.window.out, geometry.kernel
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
