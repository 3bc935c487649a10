"""Waiting awake for a number that another thread will write.

A thread that sleeps is woken by the system, which takes up to a tenth of a millisecond
where a virtual machine has to start a processor for it: as long as a small layer. What
comes soon is waited for awake, and without the GIL, which the other thread needs.
"""

import ctypes
import functools
from pathlib import Path

from daskdl.arrays.team import Spin
from daskdl.kernels.jit import numba_is_used
from daskdl.kernels.machine_code import (
    addresses_of,
    digest_of,
    digest_of_sources,
    host,
    kept_code,
    target_machine,
)

_FUNCTION = "daskdl_spin"


def spinning() -> Spin | None:
    """Return what waits awake; None where no compiled code is to run."""
    return _spin() if numba_is_used() else None


@functools.cache
def _spin() -> Spin:
    name = digest_of(_FUNCTION, digest_of_sources([Path(__file__)]), host())
    (address,) = addresses_of([_FUNCTION], kept_code(name, _compiled))
    number = ctypes.c_int64
    spin: Spin = ctypes.CFUNCTYPE(number, number, number, number)(address)
    return spin


def _compiled() -> bytes:
    from llvmlite import binding

    module = binding.parse_assembly(_written())
    module.verify()
    code: bytes = target_machine().emit_object(module)
    return code


def _written() -> str:
    """Return the loop: read the number at an address until it is large enough."""
    from llvmlite import ir

    number = ir.IntType(64)
    module = ir.Module()
    kind = ir.FunctionType(number, [number, number, number])
    function = ir.Function(module, kind, _FUNCTION)
    address, least, most = function.args
    names = ("entry", "look", "again", "done")
    entry, look, again, done = map(function.append_basic_block, names)
    build = ir.IRBuilder(entry)
    pointer = build.inttoptr(address, number.as_pointer())
    build.branch(look)
    build.position_at_end(look)
    looks = build.phi(number)
    found = build.load_atomic(pointer, "acquire", 8)
    build.cbranch(build.icmp_signed(">=", found, least), done, again)
    build.position_at_end(again)
    more = build.add(looks, number(1))
    build.cbranch(build.icmp_signed("<", more, most), look, done)
    looks.add_incoming(number(0), entry)
    looks.add_incoming(more, again)
    build.position_at_end(done)
    build.ret(found)
    return str(module)
