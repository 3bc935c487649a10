"""Object code that is put in memory without LLVM."""

import ctypes
import platform
import struct
import sys

import pytest
from llvmlite import binding

from daskdl.kernels import machine_code, object_file
from daskdl.kernels.machine_code import addresses_of, target_machine
from daskdl.kernels.object_file import placed

IR = """
@count = global i64 40
@nothing = global i64 0
@table = constant [2 x i64] [i64 3, i64 5]
declare double @sqrt(double)

define i64 @next() {
  %old = load i64, ptr @count
  %more = load i64, ptr getelementptr ([2 x i64], ptr @table, i64 0, i64 1)
  %empty = load i64, ptr @nothing
  %sum = add i64 %old, %more
  %new = add i64 %sum, %empty
  store i64 %new, ptr @count
  ret i64 %new
}

define double @root_of_half(double %x) {
  %half = fmul double %x, 0.5
  %root = call double @sqrt(double %half)
  ret double %root
}
"""
NUMBER = ctypes.c_int64

linux_on_x86 = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="other systems leave object code to LLVM",
)


def compiled(text=IR):
    module = binding.parse_assembly(text)
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
    assert placed(["root_of_half"], compiled(IR.replace("sqrt", "no_such"))) is None


@linux_on_x86
def test_where_memory_may_not_be_run_llvm_is_asked(monkeypatch):
    def refuse(start, size):
        raise PermissionError

    monkeypatch.setattr(object_file, "_protect", refuse)
    assert placed(NAMES, compiled()) is None
