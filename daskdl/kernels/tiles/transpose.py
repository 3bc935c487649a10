"""A matrix transposed in registers, a square of vectors at a time."""

from collections.abc import Sequence
from typing import Any

from daskdl.kernels.tiles.nest import Axis, Transpose
from daskdl.kernels.tiles.writer import Writer


def write_transpose(writer: Writer, transpose: Transpose, example: Any) -> None:
    """Write the loops over the squares of a matrix, and over what is left of it."""
    lanes = writer.lanes
    n_down, n_across = transpose.rows // lanes, transpose.columns // lanes
    rows, columns = n_down * lanes, n_across * lanes

    def matrix(a: Any, _: Any, c: Any) -> None:
        squares = (
            Axis(n_down, a=lanes * transpose.a_stride, c=lanes),
            Axis(n_across, a=lanes, c=lanes * transpose.c_stride),
        )
        writer.nest_loops(
            squares, (a, c, c), lambda a, _, c: _write_square(writer, transpose, a, c)
        )
        right = (0, transpose.rows, columns, transpose.columns - columns)
        below = (rows, transpose.rows - rows, 0, columns)
        for first_row, n_rows, first_column, n_columns in (right, below):
            start_a = first_row * transpose.a_stride + first_column
            start_c = first_row + first_column * transpose.c_stride
            a_there, c_there = writer.moved(a, start_a), writer.moved(c, start_c)
            numbers = (
                Axis(n_rows, a=transpose.a_stride, c=1),
                Axis(n_columns, a=1, c=transpose.c_stride),
            )
            writer.nest_loops(
                numbers,
                (a_there, c_there, c_there),
                lambda a, _, c: writer.store(writer.load(a, 0, 1), c, 0, 1),
            )

    a, c = writer.start(transpose.a, example), writer.start(transpose.c, example)
    writer.nest_loops(transpose.loops, (a, c, c), matrix)


def _write_square(writer: Writer, transpose: Transpose, a: Any, c: Any) -> None:
    """Write the transposition of as many rows as a register has lanes.

    The number of a row and that of a lane are so many bits each. To interleave the
    first half of the rows with the second moves the highest bit of the row to the end
    of the lane, and that of the lane to the end of the row: done once for each bit, the
    two numbers have changed places.
    """
    lanes = writer.lanes
    rows: Sequence[Any] = [
        writer.load(a, row * transpose.a_stride, lanes) for row in range(lanes)
    ]
    for _ in range(lanes.bit_length() - 1):
        pairs = zip(rows[: lanes // 2], rows[lanes // 2 :], strict=True)
        rows = [half for pair in pairs for half in writer.interleaved(*pair)]
    for column, row in enumerate(rows):
        writer.store(row, c, column * transpose.c_stride, lanes)
