"""Loop nests as values: what is read, multiplied, summed up and written, in what order.

All strides and offsets count elements, not bytes. An argument is an array of the
function's; its `step` is how far it moves from one example to the next.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

# What compiled code calls the function of a program.
FUNCTION = "run"

Start: TypeAlias = Literal["zero", "bias", "sum"]


@dataclass(frozen=True)
class Axis:
    """One loop: how often it runs, and how far A, B and C move each time.

    Parameters
    ----------
    size : int
        At least 1.
    a, b, c : int
        Strides; may be negative. Of rows, `b` is 0; of sums, `c` is 0.
    """

    size: int
    a: int = 0
    b: int = 0
    c: int = 0


@dataclass(frozen=True)
class Argument:
    """An array: its number, where to begin in it, and its stride between examples."""

    number: int
    offset: int = 0
    step: int = 0


@dataclass(frozen=True)
class Contraction:
    """``C[row, column] = start + sum of A[row, k] * B[k, column]``, over loops.

    Parameters
    ----------
    a, b, c : Argument
        What is read, read and written. Columns lie side by side in B and in C.
    rows : (Axis, Axis)
        The rows of C; a tile spans a rectangle of them.
    columns : int
        Columns of B and C.
    sums : tuple of Axis
        What is summed up in registers, the fastest axis last.
    loops : tuple of Axis
        Around the tiles, inside the loop over blocks of columns. Where C does not move,
        what they add up lies in memory: they must start from the sum.
    start : {"zero", "bias", "sum"}
        What is added to: nothing, a row of numbers, or what C holds already. With
        ``"sum"`` rows of a tile may lie on each other.
    bias : Argument or None
        Where the row of numbers is.
    rectifies : bool
        Whether what is below 0 is written as 0. NaN stays.
    """

    a: Argument
    b: Argument
    c: Argument
    rows: tuple[Axis, Axis]
    columns: int
    sums: tuple[Axis, ...]
    loops: tuple[Axis, ...] = ()
    start: Start = "zero"
    bias: Argument | None = None
    rectifies: bool = False


@dataclass(frozen=True)
class Columnwise(Contraction):
    """``C[row, column] = start + sum of A[row, k, column] * B[k, column]``, over loops.

    A contraction whose columns lie side by side in A, too. The loops are around the
    blocks of columns. Rows of the second axis share what they read with each other if
    it is as far from one to the next as along the fastest sum.
    """


def column_sums(
    one: Argument,
    b: Argument,
    c: Argument,
    columns: int,
    sums: tuple[Axis, ...],
    loops: tuple[Axis, ...] = (),
) -> Contraction:
    """Return what adds the sums of B's columns to C, as products with a 1.

    Parameters
    ----------
    one : Argument
        Where a 1 is.
    b, c, columns, sums, loops
        As of :class:`Contraction`.
    """
    rows = (Axis(1), Axis(1))
    return Contraction(one, b, c, rows, columns, sums, loops, "sum")


@dataclass(frozen=True)
class Copy:
    """Runs of numbers copied from A to C, or zeros written to C.

    Parameters
    ----------
    c : Argument
        What is written.
    run : int
        How many numbers lie side by side.
    loops : tuple of Axis
        Around the runs.
    a : Argument or None
        What is read; None writes zeros.
    """

    c: Argument
    run: int
    loops: tuple[Axis, ...] = ()
    a: Argument | None = None


@dataclass(frozen=True)
class Transpose:
    """``C[column, row] = A[row, column]``: a matrix transposed.

    Parameters
    ----------
    a, c : Argument
        What is read and written.
    rows, columns : int
        Of A.
    a_stride, c_stride : int
        Between the rows of A, and between those of C.
    loops : tuple of Axis
        Around it.
    """

    a: Argument
    c: Argument
    rows: int
    columns: int
    a_stride: int
    c_stride: int
    loops: tuple[Axis, ...] = ()


@dataclass(frozen=True)
class Field:
    """An argument that is read or written run by run.

    Parameters
    ----------
    argument : Argument
        The array.
    strides : tuple of int
        Between runs, one for each loop around them.
    is_one : bool
        Whether one number is read for the whole of a run.
    """

    argument: Argument
    strides: tuple[int, ...]
    is_one: bool = False


@dataclass(frozen=True)
class Pointwise:
    """Numbers computed from numbers at the same position of other arrays.

    Parameters
    ----------
    function : str
        Where it is found, as ``"module:name"``: a function of the writer, the live
        lanes, the registers that are read and how many are written, which returns
        these. A name, so that nobody loads a compiler who finds the code compiled.
    reads, writes : tuple of Field
        Its arguments and results, in its order. What is written may be what was read.
    sizes : tuple of int
        Loops around the runs; a field has a stride for each.
    run : int
        How many numbers lie side by side.
    """

    function: str
    reads: tuple[Field, ...]
    writes: tuple[Field, ...]
    sizes: tuple[int, ...]
    run: int


Statement: TypeAlias = Columnwise | Contraction | Copy | Pointwise | Transpose


# Looked up in every step: by identity, since to compare nests costs more than to run
# a small one. Who makes a program keeps it.
@dataclass(frozen=True, eq=False)
class Program:
    """What is done for each example, one statement after the other.

    Parameters
    ----------
    dtype : str
        ``"float32"`` or ``"float64"``.
    n_arguments : int
        Arrays that the function takes, in front of the number of examples.
    statements : tuple of Statement
    """

    dtype: str
    n_arguments: int
    statements: tuple[Statement, ...]


def joined(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """Return the same loops with as few axes as possible, and none of size 1.

    An axis that goes on where the next one ends is one with it.
    """
    found: list[Axis] = []
    for axis in axes:
        if axis.size == 1:
            continue
        if found and _continues(found[-1], axis):
            outer = found.pop()
            axis = Axis(outer.size * axis.size, axis.a, axis.b, axis.c)
        found.append(axis)
    return tuple(found)


def _continues(outer: Axis, inner: Axis) -> bool:
    strides = ((outer.a, inner.a), (outer.b, inner.b), (outer.c, inner.c))
    return all(far == near * inner.size for far, near in strides)
