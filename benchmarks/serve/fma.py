"""Fused multiply-adds in registers: the most that a core can compute.

A product of matrices would do if BLAS knew each CPU; it takes some for older ones. Here
LLVM, which comes with numba, writes a loop of nothing but multiply-adds for the CPU it
runs on, in its widest vectors.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import binding, ir

# A sum is ready after 4 cycles, in each of which 2 are begun; AVX2 has 16 registers.
_N_SUMS = 12
_N_TURNS = 100_000
# Bytes of a register, by the name of the feature.
_WIDTHS = {"avx512f": 64, "avx2": 32, "neon": 16}
_NARROWEST = 16
_NAME = "multiply_adds"
_INT = ir.IntType(64)


@dataclass(frozen=True)
class MultiplyAdds:
    """A loop to call, and how many additions and multiplications it does."""

    call: Callable[[], object]
    flops: int


def multiply_adds() -> MultiplyAdds:
    """Return the loop, compiled for this CPU, in float32."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    features = binding.get_host_cpu_features()
    widths = [width for name, width in _WIDTHS.items() if features.get(name)]
    lanes = max([*widths, _NARROWEST]) // 4
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=features.flatten(), opt=2
    )
    module = binding.parse_assembly(_source(lanes))
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    loop = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(
        engine.get_function_address(_NAME)
    )
    # What each sum begins with, and the factor; none may be known to be another's.
    numbers = np.linspace(0.1, 0.9, (_N_SUMS + 1) * lanes, dtype=np.float32)

    def call() -> None:
        # The engine owns the code: it must live as long as this.
        _ = engine
        loop(numbers.ctypes.data, _N_TURNS)

    return MultiplyAdds(call, 2 * lanes * _N_SUMS * _N_TURNS)


def _source(lanes: int) -> str:
    """Return a function of an address and a count, in LLVM's language.

    It has ``sum = sum * factor + factor`` a turn for each sum, and stores the sums.
    """
    vector = ir.VectorType(ir.FloatType(), lanes)
    module = ir.Module()
    kind = ir.FunctionType(ir.VoidType(), [_INT, _INT])
    function = ir.Function(module, kind, _NAME)
    kind = ir.FunctionType(vector, [vector] * 3)
    fma = ir.Function(module, kind, f"llvm.fma.v{lanes}f32")
    address, n_turns = function.args
    entry, turn, end = (function.append_basic_block() for _ in range(3))
    builder = ir.IRBuilder(entry)
    places = [_place(builder, address, vector, i) for i in range(_N_SUMS + 1)]
    *begins, factor = [builder.load(place, align=4) for place in places]
    builder.branch(turn)

    builder.position_at_end(turn)
    number = builder.phi(_INT)
    sums = [builder.phi(vector) for _ in begins]
    later = [builder.call(fma, [total, factor, factor]) for total in sums]
    after = builder.add(number, ir.Constant(_INT, 1))
    for total, begin, next_ in zip(
        [number, *sums], [ir.Constant(_INT, 0), *begins], [after, *later], strict=True
    ):
        total.add_incoming(begin, entry)
        total.add_incoming(next_, turn)
    builder.cbranch(builder.icmp_signed("<", after, n_turns), turn, end)

    builder.position_at_end(end)
    for total, place in zip(later, places, strict=False):
        builder.store(total, place, align=4)
    builder.ret_void()
    return str(module)


def _place(builder: Any, address: Any, vector: Any, number: int) -> Any:
    n_bytes = 4 * vector.count * number
    moved = builder.add(address, ir.Constant(_INT, n_bytes))
    return builder.inttoptr(moved, vector.as_pointer())
