"""A writer of LLVM IR: loops, addresses, loads, stores and arithmetic on vectors.

Addresses are 64-bit integers and every stride is a constant, so that an address in a
tile is one register and a displacement. What a loop changes is carried from one
iteration to the next as values (phi nodes): sums never leave the registers, and no
optimizer has to run.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir

from daskdl.kernels.tiles.machine import VectorUnit
from daskdl.kernels.tiles.nest import FUNCTION, Argument, Axis, Program

_INT = ir.IntType(64)
_LANE = ir.IntType(32)
_FLOAT, _DOUBLE = ir.FloatType(), ir.DoubleType()
_FIRST_LANE = ir.Constant(_LANE, 0)

Iteration = Callable[[Any, Sequence[Any]], Sequence[Any]]


class Writer:
    """Writes the function of one program; the builder moves on with each instruction.

    Parameters
    ----------
    program : Program
        Its type and number of arguments.
    unit : VectorUnit
        The registers to use.
    """

    def __init__(self, program: Program, unit: VectorUnit) -> None:
        self.unit = unit
        self.lanes = unit.lanes(program.dtype)
        self.dtype = np.dtype(program.dtype)
        self.itemsize = self.dtype.itemsize
        self._number = _FLOAT if self.itemsize == 4 else _DOUBLE
        self._module = ir.Module()
        types = [_INT] * (program.n_arguments + 1)
        self._function = ir.Function(
            self._module, ir.FunctionType(ir.VoidType(), types), FUNCTION
        )
        self.builder = ir.IRBuilder(self._function.append_basic_block())

    def finish(self, example: Callable[[Any], None]) -> str:
        """Write the loop over the examples and return the module.

        Parameters
        ----------
        example : function of the number of an example
            Writes what is done for it.
        """
        builder = self.builder
        *_, n_examples = self._function.args
        some = self._function.append_basic_block()
        done = self._function.append_basic_block()
        is_some = builder.icmp_signed(">", n_examples, integer(0))
        builder.cbranch(is_some, some, done)
        builder.position_at_end(some)

        def iteration(index: Any, carried: Sequence[Any]) -> Sequence[Any]:
            example(index)
            return carried

        self.loop(n_examples, (), iteration)
        builder.branch(done)
        builder.position_at_end(done)
        builder.ret_void()
        return str(self._module)

    def loop(
        self, count: Any, carried: Sequence[Any], iteration: Iteration
    ) -> Sequence[Any]:
        """Write a loop that carries values; a count that is no int is at least 1."""
        if isinstance(count, int):
            if count == 0:
                return carried
            if count == 1:
                return iteration(integer(0), carried)
            count = integer(count)
        builder = self.builder
        before, body = builder.block, self._function.append_basic_block()
        builder.branch(body)
        builder.position_at_end(body)
        index = builder.phi(_INT)
        index.add_incoming(integer(0), before)
        entering = []
        for value in carried:
            phi = builder.phi(value.type)
            phi.add_incoming(value, before)
            entering.append(phi)
        leaving = iteration(index, entering)
        next_index = builder.add(index, integer(1))
        index.add_incoming(next_index, builder.block)
        for phi, value in zip(entering, leaving, strict=True):
            phi.add_incoming(value, builder.block)
        behind = self._function.append_basic_block()
        again = builder.icmp_signed("<", next_index, count)
        builder.cbranch(again, body, behind)
        builder.position_at_end(behind)
        return leaving

    def nest_loops(
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

        def iteration(_: Any, carried: Sequence[Any]) -> Sequence[Any]:
            a, b, c = carried
            self.nest_loops(rest, (a, b, c), body)
            steps = zip(carried, (axis.a, axis.b, axis.c), strict=True)
            return [self.moved(address, step) for address, step in steps]

        self.loop(axis.size, list(addresses), iteration)

    def start(self, argument: Argument, example: Any) -> Any:
        """Return the address of an argument's first number for this example."""
        base = self.moved(self._function.args[argument.number], argument.offset)
        if argument.step == 0:
            return base
        step = integer(argument.step * self.itemsize)
        return self.builder.add(base, self.builder.mul(example, step))

    def moved(self, address: Any, elements: int) -> Any:
        """Return an address so many elements further on."""
        if elements == 0:
            return address
        return self.builder.add(address, integer(elements * self.itemsize))

    def load_number(self, address: Any, elements: int) -> Any:
        """Read one number."""
        pointer = self._pointer(address, elements, self._number)
        value = self.builder.load(pointer)
        value.align = self.itemsize
        return value

    def load(self, address: Any, elements: int, lanes: int) -> Any:
        """Read `lanes` numbers side by side into a register."""
        vector = self.vector(lanes)
        pointer = self._pointer(address, elements, vector)
        if lanes == vector.count:
            value = self.builder.load(pointer)
            value.align = self.itemsize
            return value
        return self._masked("load", lanes, vector, pointer, [self.number(0, lanes)])

    def store(self, value: Any, address: Any, elements: int, lanes: int) -> None:
        """Write the first `lanes` numbers of a register side by side."""
        pointer = self._pointer(address, elements, value.type)
        if lanes == value.type.count:
            self.builder.store(value, pointer).align = self.itemsize
            return
        self._masked("store", lanes, value.type, pointer, [], value)

    def number(self, value: float, lanes: int) -> Any:
        """Return a register of equal numbers."""
        vector = self.vector(lanes)
        return _equal_numbers(vector, float(self.dtype.type(value)).hex())

    def spread(self, number: Any, lanes: int) -> Any:
        """Return a register that holds one number in each lane."""
        vector = self.vector(lanes)
        unset = _unset(vector)
        first = self.builder.insert_element(unset, number, _FIRST_LANE)
        if vector.count == 1:
            return first
        everywhere = _first_lanes(vector.count)
        return self.builder.shuffle_vector(first, unset, everywhere)

    def interleaved(self, first: Any, second: Any) -> tuple[Any, Any]:
        """Return the lower and the upper lanes of two registers, alternately."""
        count = first.type.count
        both = [
            lane
            for pair in zip(range(count), range(count, 2 * count), strict=True)
            for lane in pair
        ]
        lanes = ir.VectorType(_LANE, count)
        lower, upper = (
            self.builder.shuffle_vector(first, second, ir.Constant(lanes, half))
            for half in (both[:count], both[count:])
        )
        return lower, upper

    def fused(self, left: Any, right: Any, total: Any) -> Any:
        """Return ``left * right + total``."""
        if not self.unit.fuses:
            return self.builder.fadd(self.builder.fmul(left, right), total)
        vector = total.type
        name = f"llvm.fma.{self._suffix(vector)}"
        function = self._declared(name, vector, [vector] * 3)
        return self.builder.call(function, [left, right, total])

    def rectified(self, value: Any, lanes: int) -> Any:
        """Return a register with 0 for what is below; NaN stays."""
        zero = self.number(0, lanes)
        is_below = self.builder.fcmp_ordered("<", value, zero)
        return self.builder.select(is_below, zero, value)

    def vector(self, lanes: int) -> Any:
        """Return the type of the register that holds so many live lanes."""
        return _vector(self._number, self.lanes if self.unit.masks else lanes)

    def _pointer(self, address: Any, elements: int, pointee: Any) -> Any:
        moved = self.moved(address, elements)
        return self.builder.inttoptr(moved, _pointer_to(pointee))

    def _masked(
        self,
        what: str,
        lanes: int,
        vector: Any,
        pointer: Any,
        behind: Sequence[Any],
        *in_front: Any,
    ) -> Any:
        """Call the masked load or store of a register's first lanes."""
        bits = [int(lane < lanes) for lane in range(vector.count)]
        mask = ir.Constant(ir.VectorType(ir.IntType(1), vector.count), bits)
        alignment = ir.Constant(_LANE, self.itemsize)
        arguments = [*in_front, pointer, alignment, mask, *behind]
        function = self._declared(
            f"llvm.masked.{what}.{self._suffix(vector)}.p0",
            vector if what == "load" else ir.VoidType(),
            [argument.type for argument in arguments],
        )
        return self.builder.call(function, arguments)

    def _suffix(self, vector: Any) -> str:
        return f"v{vector.count}f{8 * self.itemsize}"

    def _declared(self, name: str, result: Any, arguments: Sequence[Any]) -> Any:
        known = self._module.globals.get(name)
        if known is not None:
            return known
        return ir.Function(self._module, ir.FunctionType(result, arguments), name)


def integer(value: int) -> Any:
    """Return a 64-bit constant."""
    return ir.Constant(_INT, value)


# llvmlite spells a type or a constant out once, but each new one again: half of the
# time that it takes to write a program.
@cache
def _vector(number: Any, count: int) -> Any:
    return ir.VectorType(number, count)


@cache
def _pointer_to(pointee: Any) -> Any:
    return pointee.as_pointer()


@cache
def _unset(vector: Any) -> Any:
    return ir.Constant(vector, ir.Undefined)


@cache
def _first_lanes(count: int) -> Any:
    return ir.Constant(ir.VectorType(_LANE, count), None)


# By its digits, since 0 and -0 are equal.
@cache
def _equal_numbers(vector: Any, digits: str) -> Any:
    return ir.Constant(vector, [float.fromhex(digits)] * vector.count)
