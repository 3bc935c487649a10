"""Object code that is put in memory without LLVM."""

import ctypes
import platform
import struct
import sys

import pytest
from llvmlite import binding, ir

from daskdl.kernels import machine_code, object_file
from daskdl.kernels.machine_code import addresses_of, target_machine
from daskdl.kernels.object_file import placed

NUMBER = ctypes.c_int64

linux_on_x86 = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="other systems leave object code to LLVM",
)


def module_of(called):
    """Return a module as text, as the LLVM that is installed writes pointers."""
    module = ir.Module()
    number, real = ir.IntType(64), ir.DoubleType()
    count, nothing = (
        ir.GlobalVariable(module, number, name) for name in ("count", "nothing")
    )
    count.initializer, nothing.initializer = number(40), number(0)
    table = ir.GlobalVariable(module, ir.ArrayType(number, 2), "table")
    table.initializer = table.value_type([number(3), number(5)])
    table.global_constant = True
    entry = ir.Function(module, ir.FunctionType(number, []), "next")
    build = ir.IRBuilder(entry.append_basic_block())
    more = build.load(build.gep(table, [number(0), number(1)]))
    new = build.add(build.add(build.load(count), more), build.load(nothing))
    build.store(new, count)
    build.ret(new)
    kind = ir.FunctionType(real, [real])
    function = ir.Function(module, kind, called)
    entry = ir.Function(module, kind, "root_of_half")
    build = ir.IRBuilder(entry.append_basic_block())
    build.ret(build.call(function, [build.fmul(entry.args[0], real(0.5))]))
    return str(module)


def compiled(called="sqrt"):
    module = binding.parse_assembly(module_of(called))
    module.verify()
    return target_machine().emit_object(module)


def check(addresses):
    """Call both functions, one of which writes to memory of its own."""
    after, root = addresses
    count = ctypes.CFUNCTYPE(NUMBER)(after)
    assert [count(), count()] == [45, 50]
    real = ctypes.c_double
    assert ctypes.CFUNCTYPE(real, real)(root)(18.0) == 3.0


NAMES = ("next", "root_of_half")


@linux_on_x86
def test_code_constants_and_memory_are_where_they_are_said_to_be(monkeypatch):
    # Nobody asks LLVM.
    monkeypatch.setattr(binding, "create_mcjit_compiler", None)
    check(addresses_of(NAMES, compiled()))


@linux_on_x86
def test_files_have_memory_of_their_own():
    code = compiled()
    check(placed(NAMES, code))
    check(placed(NAMES, code))


@linux_on_x86
def test_code_cannot_be_written_to():
    (address,) = placed(["next"], compiled())
    with open("/proc/self/maps") as maps:
        ranges = [line.split()[:2] for line in maps]
    (rights,) = (
        rights
        for span, rights in ranges
        if int(span.split("-")[0], 16) <= address < int(span.split("-")[1], 16)
    )
    assert rights == "r-xp"


def test_llvm_loads_what_is_left_to_it(monkeypatch):
    monkeypatch.setattr(machine_code, "placed", lambda names, code: None)
    check(addresses_of(NAMES, compiled()))


def other_machine(code):
    # e_machine: AArch64.
    return code[:18] + struct.pack("<H", 183) + code[20:]


def other_relocation(code):
    # R_X86_64_PC32 in place of a whole address, everywhere.
    content = bytearray(code)
    for section in object_file._sections(code):
        if section.type == object_file._RELOCATIONS:
            for start in range(section.offset, section.offset + section.size, 24):
                struct.pack_into("<I", content, start + 8, 2)
    return bytes(content)


@pytest.mark.parametrize(
    "change",
    [other_machine, other_relocation, lambda code: b"", lambda code: code[:40]],
    ids=["machine", "relocation", "empty", "cut"],
)
def test_files_of_another_kind_are_left_to_llvm(change):
    assert placed(NAMES, change(compiled())) is None


def test_what_calls_an_unknown_function_is_left_to_llvm():
    assert placed(["root_of_half"], compiled("no_such")) is None


@linux_on_x86
def test_where_memory_may_not_be_run_llvm_is_asked(monkeypatch):
    def refuse(start, size):
        raise PermissionError

    monkeypatch.setattr(object_file, "_protect", refuse)
    assert placed(NAMES, compiled()) is None
