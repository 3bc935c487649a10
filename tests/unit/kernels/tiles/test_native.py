"""Compiled code is kept, found again, and never trusted when it is damaged."""

import dataclasses
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from llvmlite import binding

from daskdl.kernels import machine_code
from daskdl.kernels.tiles import native as native_module
from daskdl.kernels.tiles.machine import PLAIN_UNIT, VECTOR_UNITS, vector_unit
from daskdl.kernels.tiles.native import native
from daskdl.kernels.tiles.nest import Argument, Copy, Pointwise, Program

PROGRAM = Program("float32", 2, (Copy(Argument(1, step=3), 3, (), Argument(0, 0, 3)),))


@pytest.fixture
def compiled(monkeypatch):
    """Return the programs that were compiled, from here on."""
    compile_, programs = native_module._compiled, []

    def counted(program, unit):
        programs.append(program)
        return compile_(program, unit)

    monkeypatch.setattr(native_module, "_compiled", counted)
    return programs


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty folder that code is kept in."""
    return keep_in(monkeypatch, tmp_path)


def keep_in(monkeypatch, folder):
    monkeypatch.setattr(machine_code, "cache_directory", lambda: folder)
    start_again(monkeypatch)
    return folder


def start_again(monkeypatch):
    """Forget what this process has loaded, as the next process will have."""
    monkeypatch.setattr(native_module, "_loaded", {})


def works(program=PROGRAM):
    """Return whether two examples of three numbers are copied."""
    source, target = np.arange(6, dtype=program.dtype), np.zeros(6, program.dtype)
    native(program)(source.ctypes.data, target.ctypes.data, 2)
    return target.tolist() == source.tolist()


def test_a_program_is_compiled_once_in_a_process(folder, compiled):
    assert native(PROGRAM) is native(PROGRAM)
    assert compiled == [PROGRAM]


def test_the_next_process_finds_the_code(folder, compiled, monkeypatch):
    works()
    start_again(monkeypatch)
    assert works()
    assert compiled == [PROGRAM]


def test_one_file_is_kept_and_nothing_else(folder):
    works()
    assert [path.suffix for path in folder.iterdir()] == [".o"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:20],
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: bytes([content[0] ^ 1]) + content[1:],
        lambda content: bytes(len(content)),
    ],
    ids=["empty", "digest cut", "cut", "longer", "last bit", "first bit", "zeros"],
)
def test_a_damaged_file_is_compiled_anew(folder, compiled, monkeypatch, damage):
    works()
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    start_again(monkeypatch)
    assert works()
    assert compiled == [PROGRAM, PROGRAM]
    assert path.read_bytes() == whole


def test_a_folder_in_the_place_of_a_file_is_compiled_anew(
    folder, compiled, monkeypatch
):
    works()
    (path,) = folder.iterdir()
    path.unlink()
    path.mkdir()
    start_again(monkeypatch)
    assert works()
    assert compiled == [PROGRAM, PROGRAM]


def test_no_folder_at_all_works(monkeypatch, compiled):
    keep_in(monkeypatch, None)
    assert works()
    assert compiled == [PROGRAM]


def test_a_folder_that_has_gone_works(monkeypatch, tmp_path):
    keep_in(monkeypatch, tmp_path / "gone")
    assert works()


def test_a_folder_that_is_a_file_works(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    keep_in(monkeypatch, tmp_path / "file")
    assert works()


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_full_disk_works_and_keeps_nothing(folder, monkeypatch, step):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, step, full)
    assert works()
    assert list(folder.iterdir()) == []


def test_threads_that_ask_at_once_compile_once(folder, compiled):
    n_threads = 4
    barrier = threading.Barrier(n_threads)

    def ask(_):
        barrier.wait()
        return native(PROGRAM)

    with ThreadPoolExecutor(n_threads) as threads:
        first, *others = threads.map(ask, range(n_threads))
    assert all(function is first for function in others)
    assert compiled == [PROGRAM]


def test_threads_may_ask_for_different_programs(folder):
    programs = [dataclasses.replace(PROGRAM, n_arguments=n) for n in range(2, 6)]
    source = np.arange(6, dtype="f4")
    targets = np.zeros((4, 6), "f4")

    def run(program, target):
        rest = [0] * (program.n_arguments - 2)
        native(program)(source.ctypes.data, target.ctypes.data, *rest, 2)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(run, programs, targets))
    np.testing.assert_array_equal(targets, [source] * 4)


def test_processes_share_a_folder(tmp_path):
    code = (
        "import numpy as np\n"
        "from daskdl.kernels.tiles.native import native\n"
        "from daskdl.kernels.tiles.nest import *\n"
        f"program = {PROGRAM!r}\n"
        "a, c = np.arange(6, dtype='f4'), np.zeros(6, 'f4')\n"
        "native(program)(a.ctypes.data, c.ctypes.data, 2)\n"
        "print(c.tolist())\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    outputs = [process.communicate()[0] for process in processes]
    assert outputs == ["[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]\n"] * 2
    assert len(list(tmp_path.glob("*/*"))) == 1


def test_programs_and_units_have_files_of_their_own():
    programs = [
        PROGRAM,
        dataclasses.replace(PROGRAM, dtype="float64"),
        dataclasses.replace(PROGRAM, n_arguments=3),
        dataclasses.replace(PROGRAM, statements=PROGRAM.statements * 2),
    ]
    units = [*VECTOR_UNITS.values(), PLAIN_UNIT]
    names = {native_module._name(p, unit) for p in programs for unit in units}
    assert len(names) == len(programs) * len(units)


class Features:
    def flatten(self):
        return "+other"


def other_generator(monkeypatch, tmp_path):
    (tmp_path / "emit.py").write_text("")
    monkeypatch.setattr(native_module, "__file__", str(tmp_path / "native.py"))


@pytest.mark.parametrize(
    "change",
    [
        lambda patch, _: patch.setattr(binding, "get_host_cpu_name", lambda: "other"),
        lambda patch, _: patch.setattr(binding, "get_host_cpu_features", Features),
        lambda patch, _: patch.setattr(machine_code, "binding_version", lambda: "0"),
        other_generator,
    ],
    ids=["CPU", "features", "LLVM", "generator"],
)
def test_another_machine_has_files_of_its_own(monkeypatch, tmp_path, change):
    here = native_module._platform()
    change(monkeypatch, tmp_path)
    assert native_module._platform.__wrapped__() != here


def test_the_file_is_named_after_the_machine(monkeypatch):
    here = native_module._name(PROGRAM, PLAIN_UNIT)
    monkeypatch.setattr(native_module, "_platform", lambda: "elsewhere")
    assert native_module._name(PROGRAM, PLAIN_UNIT) != here


def test_the_file_is_named_after_the_text_of_functions(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / "some_functions.py"
    program = Program("float32", 1, (Pointwise("some_functions:f", (), (), (), 1),))
    names = set()
    for text in ("f = 1", "f = 2"):
        source.write_text(text)
        native_module._source.cache_clear()
        names.add(native_module._name(program, PLAIN_UNIT))
    assert len(names) == 2


@pytest.mark.parametrize(
    ("features", "name"),
    [
        ({"avx512f": True, "avx2": True, "fma": True}, "AVX-512"),
        ({"avx2": True, "fma": True}, "AVX2"),
        ({"avx512f": False, "avx2": True, "fma": False}, "plain"),
        ({"neon": True}, "NEON"),
        ({}, "plain"),
    ],
)
def test_the_widest_unit_that_the_cpu_has_is_taken(monkeypatch, features, name):
    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: features)
    assert vector_unit.__wrapped__().name == name
