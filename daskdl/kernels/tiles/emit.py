"""From a loop nest to LLVM IR.

Addresses are 64-bit integers and every stride is a constant, so that an address in a
tile is one register and a displacement. Sums are carried from turn to turn of a loop as
values (phi nodes): they never leave the registers, and no optimizer has to run.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from llvmlite import ir

from daskdl.kernels.tiles.blocking import Stripe, Vector, column_vectors, stripes
from daskdl.kernels.tiles.machine import VectorUnit
from daskdl.kernels.tiles.nest import Argument, Axis, Contraction, Copy, Program

FUNCTION = "run"
_INT = ir.IntType(64)
_LANE = ir.IntType(32)
# Sums this short are written out in full; longer ones this many at a time.
_UNROLLED = 8
_AT_A_TIME = 4

Body = Callable[[Any, Sequence[Any]], Sequence[Any]]


def emit(program: Program, unit: VectorUnit) -> str:
    """Return the IR of a module with one function, :data:`FUNCTION`.

    It takes the addresses of the program's arguments and the number of examples, all
    as 64-bit integers, and returns nothing.
    """
    return _Emitter(program, unit).module()


class _Emitter:
    """Writes one program; holds the builder, which moves on with every instruction."""

    def __init__(self, program: Program, unit: VectorUnit) -> None:
        self._program = program
        self._unit = unit
        self._lanes = unit.lanes(program.dtype)
        self._itemsize = np.dtype(program.dtype).itemsize
        self._number = ir.FloatType() if self._itemsize == 4 else ir.DoubleType()
        self._module = ir.Module()
        types = [_INT] * (program.n_arguments + 1)
        self._function = ir.Function(
            self._module, ir.FunctionType(ir.VoidType(), types), FUNCTION
        )
        self._builder = ir.IRBuilder(self._function.append_basic_block())

    def module(self) -> str:
        builder = self._builder
        *_, n_examples = self._function.args
        done = self._function.append_basic_block()
        some = self._function.append_basic_block()
        is_some = builder.icmp_signed(">", n_examples, _constant(0))
        builder.cbranch(is_some, some, done)
        builder.position_at_end(some)
        self._loop(n_examples, (), self._example)
        builder.branch(done)
        builder.position_at_end(done)
        builder.ret_void()
        return str(self._module)

    def _example(self, example: Any, carried: Sequence[Any]) -> Sequence[Any]:
        for statement in self._program.statements:
            if isinstance(statement, Copy):
                self._copy(statement, example)
            else:
                self._contract(statement, example)
        return ()

    def _contract(self, nest: Contraction, example: Any) -> None:
        a, b, c = (self._start(item, example) for item in (nest.a, nest.b, nest.c))
        bias = [] if nest.bias is None else [self._start(nest.bias, example)]
        products = int(np.prod([axis.size for axis in nest.sums]))
        sizes = (nest.rows[0].size, nest.rows[1].size)
        for stripe in stripes(self._unit, self._lanes, sizes, nest.columns, products):
            first, width = stripe.vectors[0].start, _columns_of(stripe)

            def block(
                _: Any, carried: Sequence[Any], stripe: Stripe = stripe, by: int = width
            ) -> Sequence[Any]:
                b, c, *bias = carried
                self._nest_loops(
                    nest.loops,
                    (a, b, c),
                    lambda a, b, c: self._tiles(nest, stripe, a, b, c, *bias),
                )
                return [self._moved(address, by) for address in carried]

            moving = [self._moved(address, first) for address in (b, c, *bias)]
            self._loop(stripe.count, moving, block)

    def _tiles(
        self, nest: Contraction, stripe: Stripe, a: Any, b: Any, c: Any, *bias: Any
    ) -> None:
        """Write the loops over the rectangles of rows of a stripe."""
        down, across = nest.rows
        for height, n_down, first_down in _runs(stripe.heights):
            for width, n_across, first_across in _runs(stripe.widths):
                a_first = first_down * down.a + first_across * across.a
                c_first = first_down * down.c + first_across * across.c
                loops = (
                    Axis(n_down, height * down.a, 0, height * down.c),
                    Axis(n_across, width * across.a, 0, width * across.c),
                )

                def tile(
                    a: Any, b: Any, c: Any, shape: tuple[int, int] = (height, width)
                ) -> None:
                    self._tile(nest, stripe.vectors, shape, a, b, c, *bias)

                first = (self._moved(a, a_first), b, self._moved(c, c_first))
                self._nest_loops(loops, first, tile)

    def _tile(
        self,
        nest: Contraction,
        vectors: Sequence[Vector],
        shape: tuple[int, int],
        a: Any,
        b: Any,
        c: Any,
        *bias: Any,
    ) -> None:
        """Write one tile: start, sum up, write."""
        down, across = nest.rows
        places = [(y, x) for y in range(shape[0]) for x in range(shape[1])]
        a_rows = [y * down.a + x * across.a for y, x in places]
        c_rows = [y * down.c + x * across.c for y, x in places]
        first = vectors[0].start
        columns = [Vector(vector.start - first, vector.lanes) for vector in vectors]
        if nest.start == "bias":
            row = [
                self._load(bias[0], column.start, column.lanes) for column in columns
            ]
        else:
            row = [ir.Constant(self._vector(column.lanes), None) for column in columns]
        sums = self._summed(nest.sums, a, b, list(row) * len(places), a_rows, columns)
        for index, place in enumerate(c_rows):
            for column, total in zip(
                columns, sums[index * len(columns) :], strict=False
            ):
                if nest.start == "sum":
                    before = self._load(c, place + column.start, column.lanes)
                    total = self._builder.fadd(before, total)
                self._store(total, c, place + column.start, column.lanes)

    def _summed(
        self,
        axes: Sequence[Axis],
        a: Any,
        b: Any,
        sums: Sequence[Any],
        a_rows: Sequence[int],
        columns: Sequence[Vector],
    ) -> Sequence[Any]:
        """Write the loops of a sum and return what the registers hold behind them."""
        if not axes:
            return self._products(a, b, sums, a_rows, columns)
        axis, *rest = axes
        at_a_time = 1 if rest else _AT_A_TIME
        if axis.size <= (1 if rest else _UNROLLED):
            at_a_time = axis.size

        def turn(_: Any, carried: Sequence[Any]) -> Sequence[Any]:
            a, b, *sums = carried
            for k in range(at_a_time):
                of_k = self._moved(a, k * axis.a), self._moved(b, k * axis.b)
                sums = list(self._summed(rest, *of_k, sums, a_rows, columns))
            steps = (at_a_time * axis.a, at_a_time * axis.b)
            return [self._moved(a, steps[0]), self._moved(b, steps[1]), *sums]

        turns, left = divmod(axis.size, at_a_time)
        a, b, *sums = self._loop(turns, [a, b, *sums], turn)
        for k in range(left):
            of_k = self._moved(a, k * axis.a), self._moved(b, k * axis.b)
            sums = list(self._summed(rest, *of_k, sums, a_rows, columns))
        return sums

    def _products(
        self,
        a: Any,
        b: Any,
        sums: Sequence[Any],
        a_rows: Sequence[int],
        columns: Sequence[Vector],
    ) -> Sequence[Any]:
        """Write the products of one number of each row and one row of B."""
        row_of_b = [self._load(b, column.start, column.lanes) for column in columns]
        found = []
        for index, place in enumerate(a_rows):
            number = self._builder.load(self._pointer(a, place, self._number))
            number.align = self._itemsize
            for v, column in enumerate(columns):
                spread = self._spread(number, self._width(column.lanes))
                found.append(
                    self._fused(spread, row_of_b[v], sums[index * len(columns) + v])
                )
        return found

    def _copy(self, copy: Copy, example: Any) -> None:
        c = self._start(copy.c, example)
        a = c if copy.a is None else self._start(copy.a, example)

        def run(a: Any, b: Any, c: Any) -> None:
            vectors = column_vectors(self._unit, self._lanes, copy.run)
            whole = [vector for vector in vectors if vector.lanes == self._lanes]

            def turn(_: Any, carried: Sequence[Any]) -> Sequence[Any]:
                a, c = carried
                self._copy_vector(copy, a, c, Vector(0, self._lanes))
                return [self._moved(a, self._lanes), self._moved(c, self._lanes)]

            self._loop(len(whole), [a, c], turn)
            for vector in vectors[len(whole) :]:
                self._copy_vector(copy, a, c, vector)

        self._nest_loops(copy.loops, (a, c, c), run)

    def _copy_vector(self, copy: Copy, a: Any, c: Any, vector: Vector) -> None:
        if copy.a is None:
            value = ir.Constant(self._vector(vector.lanes), None)
        else:
            value = self._load(a, vector.start, vector.lanes)
        self._store(value, c, vector.start, vector.lanes)

    def _nest_loops(
        self,
        axes: Sequence[Axis],
        addresses: tuple[Any, Any, Any],
        body: Callable[[Any, Any, Any], None],
    ) -> None:
        """Write loops that move the addresses of A, B and C."""
        if not axes:
            body(*addresses)
            return
        axis, *rest = axes

        def turn(_: Any, carried: Sequence[Any]) -> Sequence[Any]:
            a, b, c = carried
            self._nest_loops(rest, (a, b, c), body)
            steps = zip(carried, (axis.a, axis.b, axis.c), strict=True)
            return [self._moved(address, step) for address, step in steps]

        self._loop(axis.size, list(addresses), turn)

    def _loop(self, count: Any, carried: Sequence[Any], turn: Body) -> Sequence[Any]:
        """Write a loop that carries values; a count that is no int is at least 1."""
        if isinstance(count, int):
            if count == 0:
                return carried
            if count == 1:
                return turn(_constant(0), carried)
            count = _constant(count)
        builder = self._builder
        before, body = builder.block, self._function.append_basic_block()
        builder.branch(body)
        builder.position_at_end(body)
        index = builder.phi(_INT)
        index.add_incoming(_constant(0), before)
        entering = []
        for value in carried:
            phi = builder.phi(value.type)
            phi.add_incoming(value, before)
            entering.append(phi)
        leaving = turn(index, entering)
        next_index = builder.add(index, _constant(1))
        index.add_incoming(next_index, builder.block)
        for phi, value in zip(entering, leaving, strict=True):
            phi.add_incoming(value, builder.block)
        behind = self._function.append_basic_block()
        again = builder.icmp_signed("<", next_index, count)
        builder.cbranch(again, body, behind)
        builder.position_at_end(behind)
        return leaving

    def _start(self, argument: Argument, example: Any) -> Any:
        """Return the address of an argument's first number for this example."""
        base = self._moved(self._function.args[argument.number], argument.offset)
        if argument.step == 0:
            return base
        step = _constant(argument.step * self._itemsize)
        return self._builder.add(base, self._builder.mul(example, step))

    def _moved(self, address: Any, elements: int) -> Any:
        if elements == 0:
            return address
        return self._builder.add(address, _constant(elements * self._itemsize))

    def _pointer(self, address: Any, elements: int, pointee: Any) -> Any:
        moved = self._moved(address, elements)
        return self._builder.inttoptr(moved, pointee.as_pointer())

    def _width(self, lanes: int) -> int:
        """Return the lanes of the register that holds so many live ones."""
        return self._lanes if self._unit.masks else lanes

    def _vector(self, lanes: int) -> Any:
        return ir.VectorType(self._number, self._width(lanes))

    def _load(self, address: Any, elements: int, lanes: int) -> Any:
        vector = self._vector(lanes)
        pointer = self._pointer(address, elements, vector)
        if lanes == self._width(lanes):
            value = self._builder.load(pointer)
            value.align = self._itemsize
            return value
        zeros = ir.Constant(vector, None)
        mask = self._mask(lanes)
        function = self._intrinsic(
            "masked.load", vector, [pointer.type, _LANE, mask.type, vector], memory=True
        )
        alignment = ir.Constant(_LANE, self._itemsize)
        return self._builder.call(function, [pointer, alignment, mask, zeros])

    def _store(self, value: Any, address: Any, elements: int, lanes: int) -> None:
        pointer = self._pointer(address, elements, value.type)
        if lanes == self._width(lanes):
            self._builder.store(value, pointer).align = self._itemsize
            return
        mask = self._mask(lanes)
        function = self._intrinsic(
            "masked.store",
            ir.VoidType(),
            [value.type, pointer.type, _LANE, mask.type],
            memory=True,
        )
        alignment = ir.Constant(_LANE, self._itemsize)
        self._builder.call(function, [value, pointer, alignment, mask])

    def _mask(self, lanes: int) -> Any:
        bits = [int(lane < lanes) for lane in range(self._lanes)]
        return ir.Constant(ir.VectorType(ir.IntType(1), self._lanes), bits)

    def _spread(self, number: Any, width: int) -> Any:
        if width == 1:
            zero = ir.Constant(ir.VectorType(self._number, 1), ir.Undefined)
            return self._builder.insert_element(zero, number, ir.Constant(_LANE, 0))
        unset = ir.Constant(ir.VectorType(self._number, width), ir.Undefined)
        first = self._builder.insert_element(unset, number, ir.Constant(_LANE, 0))
        everywhere = ir.Constant(ir.VectorType(_LANE, width), [0] * width)
        return self._builder.shuffle_vector(first, unset, everywhere)

    def _fused(self, left: Any, right: Any, total: Any) -> Any:
        if not self._unit.fuses:
            return self._builder.fadd(self._builder.fmul(left, right), total)
        vector = total.type
        function = self._intrinsic("fma", vector, [vector] * 3)
        return self._builder.call(function, [left, right, total])

    def _intrinsic(
        self, name: str, result: Any, arguments: Sequence[Any], *, memory: bool = False
    ) -> Any:
        """Return the declaration of an intrinsic function on vectors."""
        vector = next(item for item in arguments if isinstance(item, ir.VectorType))
        if name == "masked.load":
            vector = result
        kind = "f32" if self._itemsize == 4 else "f64"
        suffix = f"v{vector.count}{kind}"
        full = f"llvm.{name}.{suffix}" + (".p0" if memory else "")
        known = self._module.globals.get(full)
        if known is not None:
            return known
        return ir.Function(self._module, ir.FunctionType(result, arguments), full)


def _constant(value: int) -> Any:
    return ir.Constant(_INT, value)


def _columns_of(stripe: Stripe) -> int:
    return sum(vector.lanes for vector in stripe.vectors)


def _runs(parts: Iterable[int]) -> list[tuple[int, int, int]]:
    """Return size, number and first row of each run of equal parts."""
    found, first = [], 0
    for size, group in groupby(parts):
        n = len(list(group))
        found.append((size, n, first))
        first += n * size
    return found
