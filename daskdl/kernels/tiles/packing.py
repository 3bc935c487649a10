"""Weights packed into panels: groups of columns that lie together in memory.

The rows of a wide matrix lie pages apart and, where its width is a power of two, in the
same few lines of a cache. A tile that runs down some columns of it waits for memory
then. In a panel these columns lie side by side without gaps::

    matrix (rows, columns)      panels
    a a a b b b c c             a a a | b b b | c c
    a a a b b b c c             a a a | b b b | c c
                                one after the other, the last one may be narrower
"""

from dataclasses import dataclass, replace

from numpy.typing import DTypeLike

from daskdl.kernels.tiles.machine import vector_unit
from daskdl.kernels.tiles.nest import Argument, Axis, Contraction, Copy, Transpose

# With 8 rows they are a tile of 24 sums: 11 loads for 24 products.
_VECTORS = 3


@dataclass(frozen=True)
class Panels:
    """How a matrix is packed.

    Parameters
    ----------
    rows, columns : int
        Of the matrix.
    width : int
        Columns of a panel; the last one has what is left over.
    """

    rows: int
    columns: int
    width: int

    @property
    def count(self) -> int:
        """How many panels have the full width."""
        return self.columns // self.width

    @property
    def packed(self) -> int:
        """Columns in panels of the full width."""
        return self.count * self.width

    @property
    def left(self) -> int:
        """Columns of the last, narrower panel; 0 if there is none."""
        return self.columns - self.packed


def panels_of(rows: int, columns: int, dtype: DTypeLike) -> Panels:
    """Return how this CPU likes a matrix of (rows, columns) to be packed."""
    return Panels(rows, columns, min(columns, _VECTORS * vector_unit().lanes(dtype)))


def packing(panels: Panels, source: Argument, target: Argument) -> tuple[Copy, ...]:
    """Return the copies of a C-contiguous matrix to its panels."""
    rows, columns, width = panels.rows, panels.columns, panels.width
    across = Axis(panels.count, a=width, c=rows * width)
    full = Copy(target, width, (across, Axis(rows, a=columns, c=width)), source)
    if not panels.left:
        return (full,)
    left = Copy(
        _further(target, panels.packed * rows),
        panels.left,
        (Axis(rows, a=columns, c=panels.left),),
        _further(source, panels.packed),
    )
    return (full, left)


def transposed_packing(
    panels: Panels, source: Argument, target: Argument
) -> tuple[Transpose, ...]:
    """Return the same for a matrix that lies transposed, as (columns, rows)."""
    rows, width = panels.rows, panels.width
    across = Axis(panels.count, a=width * rows, c=width * rows)
    full = Transpose(source, target, width, rows, rows, width, (across,))
    if not panels.left:
        return (full,)
    first, left = panels.packed * rows, panels.left
    last = Transpose(
        _further(source, first), _further(target, first), left, rows, rows, left
    )
    return (full, last)


def panel_products(product: Contraction, panels: Panels) -> tuple[Contraction, ...]:
    """Spread a product over panels.

    Parameters
    ----------
    product : Contraction
        With all columns, and B's strides those of the matrix before it was packed.
    panels : Panels
        How B is packed.

    Returns
    -------
    tuple of Contraction
        One for the full panels, another one for what is left.
    """
    width = panels.width
    across = Axis(panels.count, b=panels.rows * width, c=width)
    full = replace(
        product,
        columns=width,
        sums=_narrowed(product.sums, panels.columns, width),
        loops=(across, *product.loops),
    )
    if not panels.left:
        return (full,)
    first = panels.packed
    rest = replace(
        product,
        b=_further(product.b, first * panels.rows),
        c=_further(product.c, first),
        columns=panels.left,
        sums=_narrowed(product.sums, panels.columns, panels.left),
    )
    return (full, rest)


def _narrowed(sums: tuple[Axis, ...], columns: int, width: int) -> tuple[Axis, ...]:
    """Return the axes of a sum in a panel."""
    return tuple(replace(axis, b=axis.b // columns * width) for axis in sums)


def _further(argument: Argument, elements: int) -> Argument:
    return replace(argument, offset=argument.offset + elements)
