"""From a program to LLVM IR."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from daskdl.kernels.tiles.blocking import column_vectors
from daskdl.kernels.tiles.columnwise import write_columnwise
from daskdl.kernels.tiles.contraction import write_contraction
from daskdl.kernels.tiles.machine import VectorUnit
from daskdl.kernels.tiles.nest import (
    Columnwise,
    Contraction,
    Copy,
    Pointwise,
    Program,
    Transpose,
)
from daskdl.kernels.tiles.transpose import write_transpose
from daskdl.kernels.tiles.writer import Writer


def emit(program: Program, unit: VectorUnit) -> str:
    """Return the IR of a module with one function.

    It is called :data:`~daskdl.kernels.tiles.nest.FUNCTION`, takes the addresses of
    the program's arguments and the number of examples, all as 64-bit integers, and
    returns nothing.
    """
    writer = Writer(program, unit)

    def example(index: Any) -> None:
        for statement in program.statements:
            if isinstance(statement, Columnwise):
                write_columnwise(writer, statement, index)
            elif isinstance(statement, Contraction):
                write_contraction(writer, statement, index)
            elif isinstance(statement, Copy):
                _write_copy(writer, statement, index)
            elif isinstance(statement, Transpose):
                write_transpose(writer, statement, index)
            else:
                _write_pointwise(writer, statement, index)

    return writer.finish(example)


def _write_copy(writer: Writer, copy: Copy, example: Any) -> None:
    c = writer.start(copy.c, example)
    a = c if copy.a is None else writer.start(copy.a, example)

    def run(a: Any, _: Any, c: Any) -> None:
        def some(addresses: Sequence[Any], lanes: int) -> None:
            a, c = addresses
            if copy.a is None:
                value = writer.number(0, lanes)
            else:
                value = writer.load(a, 0, lanes)
            writer.store(value, c, 0, lanes)

        _along(writer, copy.run, [a, c], some)

    writer.nest_loops(copy.loops, (a, c, c), run)


def _write_pointwise(writer: Writer, statement: Pointwise, example: Any) -> None:
    module, name = statement.function.split(":")
    function = getattr(import_module(module), name)
    n_read, n_written = len(statement.reads), len(statement.writes)
    fields = (*statement.reads, *statement.writes)

    def run(addresses: Sequence[Any]) -> None:
        ones = {
            index: writer.load_number(addresses[index], 0)
            for index, field in enumerate(fields)
            if field.is_one
        }
        moving = [index for index in range(len(fields)) if index not in ones]

        def some(at: Sequence[Any], lanes: int) -> None:
            where = dict(zip(moving, at, strict=True))
            read = [
                writer.spread(ones[index], lanes)
                if index in ones
                else writer.load(where[index], 0, lanes)
                for index in range(n_read)
            ]
            written = function(writer, lanes, read, n_written)
            for value, index in zip(written, range(n_read, len(fields)), strict=True):
                writer.store(value, where[index], 0, lanes)

        _along(writer, statement.run, [addresses[index] for index in moving], some)

    def loops(addresses: Sequence[Any], depth: int) -> None:
        if depth == len(statement.sizes):
            run(addresses)
            return

        def iteration(_: Any, carried: Sequence[Any]) -> Sequence[Any]:
            loops(carried, depth + 1)
            return [
                writer.moved(address, field.strides[depth])
                for address, field in zip(carried, fields, strict=True)
            ]

        writer.loop(statement.sizes[depth], addresses, iteration)

    loops([writer.start(field.argument, example) for field in fields], 0)


def _along(writer: Writer, size: int, addresses: Sequence[Any], some: Any) -> None:
    """Write a loop over the registers of a run; `some` writes what is done for one.

    Parameters
    ----------
    size : int
        Numbers of the run.
    addresses : sequence of addresses
        Where it begins in each array.
    some : function of addresses and a number of lanes
    """
    vectors = column_vectors(writer.unit, writer.lanes, size)
    n_whole = size // writer.lanes

    def iteration(_: Any, carried: Sequence[Any]) -> Sequence[Any]:
        some(carried, writer.lanes)
        return [writer.moved(address, writer.lanes) for address in carried]

    writer.loop(n_whole, list(addresses), iteration)
    for vector in vectors[n_whole:]:
        some([writer.moved(each, vector.start) for each in addresses], vector.lanes)
