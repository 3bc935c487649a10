"""The one decorator over numba: when it imports, where it keeps, what stands in."""

import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from daskdl.errors import MissingExtraError, OptionError
from daskdl.kernels import jit as jit_module
from daskdl.kernels import lanes
from daskdl.kernels.jit import jit, numba_is_used
from daskdl.kernels.machine_code import cache_directory


@jit
def inverse(values):
    """Replace by one over."""
    for i in range(values.size):
        values[i] = one() / values[i]


@jit
def one():
    return 1.0


@pytest.fixture
def fresh(monkeypatch):
    """Nothing of what the module remembers, before and after."""
    remembered = (cache_directory, jit_module._numba, jit_module._numba_works)
    for function in remembered:
        function.cache_clear()
    yield monkeypatch
    for function in remembered:
        function.cache_clear()


@pytest.fixture
def without_numba(fresh):
    fresh.setitem(sys.modules, "numba", None)


def test_importing_kernels_does_not_import_numba():
    code = (
        "import sys, daskdl.kernels.coding.cpu, daskdl.kernels.threshold.cpu\n"
        "print('numba' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout == "False\n"


def test_kernels_call_each_other_and_divide_by_zero_as_numpy():
    values = np.array([2.0, 0.0])
    inverse(values)
    assert values.tolist() == [0.5, np.inf]


def test_a_kernel_keeps_name_and_docstring():
    assert inverse.__name__ == "inverse"
    assert inverse.__doc__ == "Replace by one over."


def test_a_kernel_is_pickled_by_its_name():
    from daskdl.kernels.threshold import cpu

    assert pickle.loads(pickle.dumps(cpu.add_quanta)) is cpu.add_quanta


def test_compiling_leaves_the_cache_of_others_alone():
    import numba

    before = numba.config.CACHE_DIR
    jit(lambda x: x)(1)
    assert before == numba.config.CACHE_DIR


@pytest.mark.parametrize("variable", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
def test_the_cache_lies_where_the_environment_says(fresh, tmp_path, variable):
    fresh.delenv("NUMBA_CACHE_DIR", raising=False)
    fresh.setenv(variable, str(tmp_path))
    directory = cache_directory()
    assert directory.parent == tmp_path
    assert directory.name.startswith("daskdl-")


def test_the_cache_lies_below_home_by_default(fresh, tmp_path):
    fresh.delenv("NUMBA_CACHE_DIR", raising=False)
    fresh.delenv("XDG_CACHE_HOME", raising=False)
    fresh.setenv("HOME", str(tmp_path))
    assert cache_directory().parent == tmp_path / ".cache"


def test_a_private_folder_stands_in_for_a_cache_that_cannot_be_written(fresh, tmp_path):
    (tmp_path / "file").touch()
    for variable in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        fresh.setenv(variable, str(tmp_path / "file"))
    fresh.setattr(tempfile, "tempdir", str(tmp_path))
    directory = cache_directory()
    assert directory.parent == tmp_path
    assert directory.stat().st_mode & 0o077 == 0


def test_no_writable_folder_at_all_is_one_warning(fresh, tmp_path):
    (tmp_path / "file").touch()
    for variable in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        fresh.setenv(variable, str(tmp_path / "file"))
    fresh.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="no folder is writable"):
        assert cache_directory() is None
    assert cache_directory() is None
    assert jit(lambda x: x + 1)(1) == 2


def test_a_user_without_a_home_gets_another_folder(fresh, tmp_path):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    for variable in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        fresh.delenv(variable, raising=False)
    fresh.setattr(Path, "home", no_home)
    fresh.setattr(tempfile, "tempdir", str(tmp_path))
    assert cache_directory().parent == tmp_path


def test_numpy_is_used_when_asked_for(monkeypatch):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", "numpy")
    assert not numba_is_used()


def test_an_unknown_backend_is_refused(monkeypatch):
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", "nunba")
    with pytest.raises(OptionError, match=r"must be one of .* Did you mean 'numba'"):
        numba_is_used()


def test_numpy_is_used_with_a_warning_without_numba(without_numba):
    with pytest.warns(RuntimeWarning, match="numba cannot be imported"):
        assert not numba_is_used()


def test_compiling_without_numba_is_refused(without_numba):
    with (
        pytest.warns(RuntimeWarning, match="numba cannot be imported"),
        pytest.raises(MissingExtraError, match="numba must be importable"),
    ):
        jit(lambda x: x)(1)


def test_who_looks_at_a_lane_operation_sees_its_code():
    """What numba asks of the global of a kernel is answered from the code's module."""
    from numba.core.types import Function

    assert isinstance(lanes.count_bits._numba_type_, Function)
