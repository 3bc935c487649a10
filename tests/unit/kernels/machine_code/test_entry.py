"""Kernels that are kept on disk: they run without numba, alike in every process."""

import errno
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from daskdl.kernels import jit as jit_module
from daskdl.kernels import machine_code
from daskdl.kernels.jit import jit
from daskdl.kernels.kinds import kinds_of

FLOAT32 = np.ones(3, np.float32)

SCRIPT = """
import json, sys
import numpy as np
from daskdl.kernels.activation.cpu import divide_by_sum
x = np.arange(1, 37, dtype=np.float32).reshape(4, 9)
divide_by_sum(x)
print(json.dumps(["numba" in sys.modules, x.tobytes().hex()]))
"""


@jit
def scaled_sum(values, factor, is_negative, absent):
    """Return a sum, times a factor, maybe negative."""
    total = values.dtype.type(0)
    for i in range(values.size):
        total += values[i] * factor
    if absent is not None:
        return values.dtype.type(0)
    return -total if is_negative else total


@jit
def count(n, matrix):
    """Return a number and the size of a matrix."""
    return n + matrix.shape[0] * 10 + matrix.shape[1]


@jit
def is_positive(x):
    return x > 0


@jit
def copy_into(values, out):
    """Copy numbers that are not negative."""
    for i in range(values.size):
        if values[i] < 0:
            raise ValueError("negative")
        out[i] = values[i]


@jit
def fit_into(values, out):
    out[:] = values


@jit
def made(values):
    """Return how many numbers an array made here has."""
    return np.zeros(values.size).size


def start(folder, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdout=subprocess.PIPE,
        text=True,
        env={"NUMBA_CACHE_DIR": str(folder), "PATH": "", **environment},
    )


def answer(process):
    output, _ = process.communicate(timeout=120)
    return json.loads(output)


def codes(folder):
    return {path.name for path in folder.rglob("*.o")}


@pytest.fixture(scope="module")
def cold(tmp_path_factory):
    """A folder that two processes found empty, and what each of them answered."""
    folder = tmp_path_factory.mktemp("shared")
    processes = [start(folder), start(folder)]
    return folder, [answer(process) for process in processes]


def test_processes_that_share_an_empty_folder_agree(cold):
    _, (first, second) = cold
    assert first == second


def test_a_later_process_gets_the_same_bits_without_numba(cold):
    folder, ((_, bits), _) = cold
    assert answer(start(folder)) == [False, bits]


def test_damaged_code_is_compiled_again(cold):
    folder, ((_, bits), _) = cold
    for path in folder.rglob("*.o"):
        path.write_bytes(path.read_bytes()[:-1])
    assert answer(start(folder)) == [True, bits]


@pytest.mark.parametrize("call", ["write_bytes", "replace"])
def test_code_that_cannot_be_kept_leaves_nothing_half(call, tmp_path, monkeypatch):
    def fail(*arguments):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(Path, call, fail)
    machine_code.write_code(tmp_path / "kernel.o", b"code")
    assert list(tmp_path.iterdir()) == []


def test_another_cpu_has_files_of_its_own(cold):
    folder, _ = cold
    here = codes(folder)
    answer(start(folder, NUMBA_CPU_NAME="generic"))
    assert len(codes(folder) - here) == len(here)


@pytest.mark.parametrize("part", [0, 1, 2], ids=["LLVM", "CPU", "features"])
def test_names_depend_on_llvm_cpu_and_features(monkeypatch, part):
    here = jit_module._platform.__wrapped__()
    host = list(machine_code.host())
    host[part] = "other"
    monkeypatch.setattr(jit_module, "host", lambda: tuple(host))
    assert jit_module._platform.__wrapped__() != here


def test_another_cpu_has_an_index_of_its_own_in_numbas_cache(monkeypatch):
    """What cannot run outside of numba lies in its cache, which is keyed by CPU."""
    from numba.core.registry import cpu_target

    codegen = cpu_target.target_context.codegen()
    here = codegen.magic_tuple()
    monkeypatch.setattr(type(codegen), "_get_host_cpu_name", lambda self: "other")
    assert codegen.magic_tuple() != here


def test_numbers_go_in_and_come_out():
    assert scaled_sum(FLOAT32, np.float32(0.5), False, None) == 1.5
    assert scaled_sum(FLOAT32, np.float32(0.5), True, None) == -1.5
    assert scaled_sum(np.ones(3), 0.5, True, None) == -1.5
    assert scaled_sum(np.ones(3), np.float64(0.5), True, None) == -1.5


def test_shapes_are_those_of_the_call():
    assert count(3, np.zeros((4, 5))) == 48
    assert count(-5, np.zeros((0, 5))) == 0


def test_truth_comes_back():
    assert is_positive(1.0) is True
    assert is_positive(-1.0) is False


@pytest.mark.parametrize(
    "values",
    [
        np.ones(6, np.float32)[::2],
        np.frombuffer(b"\0" * 8, np.float32),
        np.ones(3, "f4").astype(np.dtype("f4", metadata={"a": 1})),
        np.ones(3, np.int8),
    ],
    ids=["strided", "readonly", "type with metadata", "bytes"],
)
def test_other_arrays_are_told_apart(values):
    scaled_sum(FLOAT32, np.float32(1), False, None)
    expected = values.sum()
    assert scaled_sum(values, values.dtype.type(1), False, None) == expected


def test_nothing_is_read_of_a_wrong_number_of_arguments():
    copy_into(FLOAT32, FLOAT32.copy())
    with pytest.raises(TypeError):
        copy_into(FLOAT32)


def test_a_number_beyond_64_bits_is_refused():
    count(1, np.zeros((1, 1)))
    with pytest.raises(OverflowError):
        count(2**70, np.zeros((1, 1)))


def test_a_kernel_that_fails_raises():
    copy_into(FLOAT32, FLOAT32.copy())
    with pytest.raises(RuntimeError, match="kernel: must work on what it got"):
        copy_into(-FLOAT32, FLOAT32.copy())


def test_a_kernel_whose_error_tells_values_runs_inside_numba():
    with pytest.raises(ValueError, match="cannot assign slice of shape"):
        fit_into(FLOAT32, np.zeros(5, np.float32))


def test_a_kernel_that_makes_arrays_runs_inside_numba():
    assert made(FLOAT32) == 3
    assert made._native is made._compiled


def test_references_are_neither_lost_nor_kept():
    values, out = FLOAT32.copy(), FLOAT32.copy()
    copy_into(values, out)
    assert type(copy_into._native) is type(len)
    before = sys.getrefcount(values), sys.getrefcount(None)
    for _ in range(1000):
        copy_into(values, out)
    after = sys.getrefcount(values), sys.getrefcount(None)
    assert abs(after[1] - before[1]) < 100
    assert after[0] == before[0]


def test_kinds_are_those_of_types_and_layouts():
    matrix = np.ones((2, 3))
    kinds = kinds_of((matrix, matrix.T, 1, None))
    assert kinds[0] != kinds[1]
    assert kinds[2:] == (int, type(None))


def test_elements_of_a_message_run_without_numba(monkeypatch):
    """Unpickling makes a type of elements that is equal, and another object."""
    sent = pickle.loads(pickle.dumps(np.dtype(np.float32)))
    values, out = np.ones(3, sent), np.zeros(3, np.float32)
    fit_into(np.zeros(3, np.float32), out)
    monkeypatch.setattr(type(fit_into), "_inside", None)
    fit_into(values, out)
    assert values.dtype is not out.dtype
    assert out.tolist() == [1, 1, 1]
