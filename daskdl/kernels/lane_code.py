"""The code of :mod:`~daskdl.kernels.lanes`, for numba.

A comparison of sixteen numbers that gives sixteen bits is one instruction on every CPU
of today, but nothing that numba compiles from a loop turns into it. The functions here
are LLVM vector code that kernels call like functions of their own; LLVM cuts the lanes
to the width of the CPU (one register of AVX-512, two of AVX2, four of NEON).

They stand for code only and cannot be called from Python. Arrays must be contiguous
and aligned; nothing checks that indices lie inside. This module imports numba, which
takes most of a second, so that it is imported when a kernel is compiled.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"

import functools
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from daskdl.kernels.lanes import BLOCK, LANES

_BIT = ir.IntType(1)
_BYTE = ir.IntType(8)
_HALF = ir.IntType(16)
_WORD = ir.IntType(32)
_LONG = ir.IntType(64)
_DOUBLE_LONG = ir.IntType(128)


@intrinsic
def add_and_find(_, values, changes, start, changes_start, tau):
    """Add 64 changes to 64 values; return which values reach tau, as 64 bits."""
    signature = types.uint64(values, changes, types.intp, types.intp, values.dtype)

    def generate(context, builder, signature, arguments):
        values, changes, start, changes_start, tau = arguments
        tau = _spread(builder, tau)
        reaches = []
        for k in range(0, BLOCK, LANES):
            here = _vector(context, builder, signature.args[0], values, start, k)
            there = _vector(
                context, builder, signature.args[1], changes, changes_start, k
            )
            sums = builder.fadd(_load(builder, here), _load(builder, there))
            _store(builder, sums, here)
            reaches.append(_reach(builder, builder.fcmp_ordered, sums, tau))
        return _as_bits(builder, reaches)

    return signature, generate


@intrinsic
def find_apart(_, values, others, start, tau):
    """Return which of 64 values lie tau or more from others, as 64 bits.

    Those are among them whose difference is NaN.
    """
    signature = types.uint64(values, others, types.intp, values.dtype)

    def generate(context, builder, signature, arguments):
        values, others, start, tau = arguments
        tau = _spread(builder, tau)
        reaches = []
        for k in range(0, BLOCK, LANES):
            here = _vector(context, builder, signature.args[0], values, start, k)
            there = _vector(context, builder, signature.args[1], others, start, k)
            apart = builder.fsub(_load(builder, here), _load(builder, there))
            reaches.append(_reach(builder, builder.fcmp_unordered, apart, tau))
        return _as_bits(builder, reaches)

    return signature, generate


@intrinsic
def take_codes(_, values, changes, start, changes_start, tau, half):
    """Add 16 changes to 16 values, take off what their bitmap codes carry; the codes.

    The low half of the word has a bit for each value that reaches tau, the high half
    one for each value of -half or less.
    """
    signature = types.uint32(
        values, changes, types.intp, types.intp, values.dtype, values.dtype
    )

    def generate(context, builder, signature, arguments):
        values, changes, start, changes_start, tau, half = arguments
        here = _vector(context, builder, signature.args[0], values, start, 0)
        there = _vector(context, builder, signature.args[1], changes, changes_start, 0)
        sums = builder.fadd(_load(builder, here), _load(builder, there))
        tau, half = _spread(builder, tau), _spread(builder, half)
        minus_tau, minus_half = builder.fneg(tau), builder.fneg(half)
        is_plus = builder.fcmp_ordered(">=", sums, tau)
        is_minus = builder.fcmp_ordered("<=", sums, minus_tau)
        is_signed = builder.fcmp_ordered("<=", sums, minus_half)
        steps = builder.select(is_plus, tau, sums.type([0.0] * LANES))
        steps = builder.select(is_signed, minus_half, steps)
        steps = builder.select(is_minus, minus_tau, steps)
        _store(builder, builder.fsub(sums, steps), here)
        magnitudes = builder.bitcast(builder.or_(is_plus, is_minus), _HALF)
        signs = builder.zext(builder.bitcast(is_signed, _HALF), _WORD)
        return builder.or_(
            builder.zext(magnitudes, _WORD), builder.shl(signs, _WORD(LANES))
        )

    return signature, generate


@intrinsic
def add_codes(_, values, start, codes, tau, half):
    """Add to 16 values what the codes of :func:`take_codes` carry."""
    signature = types.void(values, types.intp, types.uint32, values.dtype, values.dtype)

    def generate(context, builder, signature, arguments):
        values, start, codes, tau, half = arguments
        here = _vector(context, builder, signature.args[0], values, start, 0)
        before = _load(builder, here)
        tau, half = _spread(builder, tau), _spread(builder, half)
        lanes = ir.VectorType(_BIT, LANES)
        magnitudes = builder.bitcast(builder.trunc(codes, _HALF), lanes)
        high = builder.trunc(builder.lshr(codes, _WORD(LANES)), _HALF)
        signs = builder.bitcast(high, lanes)
        # Adding -0 changes no bit, adding 0 turns -0 into 0.
        nothing = before.type([-0.0] * LANES)
        positive = builder.select(magnitudes, tau, nothing)
        negative = builder.select(magnitudes, builder.fneg(tau), builder.fneg(half))
        steps = builder.select(signs, negative, positive)
        _store(builder, builder.fadd(before, steps), here)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def trailing_zeros(_, bits):
    """Return the position of the lowest bit that is set; one must be."""
    signature = types.intp(types.uint64)

    def generate(_, builder, signature, arguments):
        return builder.cttz(arguments[0], _BIT(1))

    return signature, generate


@intrinsic
def count_bits(_, bits):
    """Return how many bits are set."""
    signature = types.intp(types.uint64)

    def generate(_, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return signature, generate


@intrinsic
def leading_zeros(_, bits):
    """Return how many bits are above the highest that is set; one must be."""
    signature = types.intp(types.uint64)

    def generate(_, builder, signature, arguments):
        return builder.ctlz(arguments[0], _BIT(1))

    return signature, generate


@intrinsic
def high_product(_, first, second):
    """Return the upper 64 of the 128 bits of a product."""
    signature = types.uint64(types.uint64, types.uint64)

    def generate(_, builder, signature, arguments):
        first, second = (builder.zext(each, _DOUBLE_LONG) for each in arguments)
        product = builder.mul(first, second)
        return builder.trunc(builder.lshr(product, _DOUBLE_LONG(64)), _LONG)

    return signature, generate


@intrinsic
def float_of_bits(_, bits):
    """Return the float64 that is stored as these bits."""
    signature = types.float64(types.uint64)

    def generate(_, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return signature, generate


@intrinsic
def byte_at(_, address):
    """Return the byte at an address."""
    signature = types.intp(types.intp)

    def generate(_, builder, signature, arguments):
        return builder.zext(_at(builder, arguments[0], _BYTE), _LONG)

    return signature, generate


@intrinsic
def word_at(_, address):
    """Return the eight bytes at an address, which need not be a multiple of eight."""
    signature = types.uint64(types.intp)

    def generate(_, builder, signature, arguments):
        return _at(builder, arguments[0], _LONG)

    return signature, generate


def type_of(name: str) -> Any:
    """Return numba's type of the function of this name."""
    context = cpu_target.typing_context
    # It learns only now of functions that were defined since it was last asked.
    context.refresh()
    return context.resolve_value_type(globals()[name])


def _at(builder, address, kind):
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=1)


def _reach(builder, compare, values, tau):
    """Return which of 16 values are tau or more in size, as a comparison sees them."""
    return builder.or_(
        compare(">=", values, tau), compare("<=", values, builder.fneg(tau))
    )


def _as_bits(builder, masks):
    """Return four masks of 16 lanes as 64 bits."""
    # Where masks are vectors, to see that there is none is cheaper than the bits.
    found = cgutils.alloca_once_value(builder, _LONG(0))
    any_is_set = _any(builder, functools.reduce(builder.or_, masks))
    with builder.if_then(any_is_set, likely=False):
        bits = [builder.zext(builder.bitcast(each, _HALF), _LONG) for each in masks]
        shifted = [builder.shl(b, _LONG(LANES * k)) for k, b in enumerate(bits)]
        builder.store(functools.reduce(builder.or_, shifted), found)
    return builder.load(found)


def _any(builder, mask):
    reduction = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(_BIT, [mask.type]),
        "llvm.vector.reduce.or.v16i1",
    )
    return builder.call(reduction, [mask])


def _vector(context, builder, array_type, array, start, offset):
    """Return a pointer to lanes of an array, and the alignment of its numbers."""
    data = context.make_array(array_type)(context, builder, array).data
    index = builder.add(start, start.type(offset))
    number = context.get_data_type(array_type.dtype)
    pointer = builder.bitcast(
        builder.gep(data, [index]), ir.VectorType(number, LANES).as_pointer()
    )
    return pointer, array_type.dtype.bitwidth // 8


def _load(builder, place):
    pointer, alignment = place
    return builder.load(pointer, align=alignment)


def _store(builder, vector, place):
    pointer, alignment = place
    builder.store(vector, pointer, align=alignment)


def _spread(builder, number):
    """Return a vector with the number in each lane."""
    nothing = ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined)
    first = builder.insert_element(nothing, number, _WORD(0))
    everywhere = ir.VectorType(_WORD, LANES)([0] * LANES)
    return builder.shuffle_vector(first, nothing, everywhere)
