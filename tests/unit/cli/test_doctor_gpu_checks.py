"""What ``daskdl doctor --gpu`` says, tried without a GPU."""

import json
import sys
from types import SimpleNamespace

import pytest

from daskdl.cli import doctor_checks, doctor_gpu_checks
from daskdl.cli.doctor_gpu_checks import check_gpu
from daskdl.cli.main import main
from tests.pretend_cupy import Namespace


@pytest.fixture
def cupy(monkeypatch):
    """A copy of the stand-in, to be changed by the test."""
    copy = type("cupy", (Namespace,), {})
    monkeypatch.setitem(sys.modules, "cupy", copy)
    return copy


def failures(findings):
    return [finding.what for finding in findings if finding.is_failure]


def test_a_device_that_computes_is_described(cupy):
    names, computes = check_gpu()[2:]
    assert "0: NVIDIA Pretence, 80 GiB, compute capability 9.0" in names.found
    assert "a dense layer differs by 0.0e+00" in computes.found
    assert failures(check_gpu()) == []


def test_without_cupy_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    (finding,) = check_gpu()
    assert finding.is_failure
    assert "daskdl[gpu-cu13]" in finding.to_do


def test_an_old_cupy_is_a_failure(cupy):
    cupy.__version__ = "13.6.0"
    assert failures(check_gpu()) == ["CuPy"]


def test_two_of_cupy_are_a_failure(cupy, monkeypatch):
    monkeypatch.setattr(doctor_gpu_checks, "version_of", lambda name: "14.2.0")
    first = check_gpu()[0]
    assert first.is_failure
    assert first.to_do.startswith("pip uninstall cupy-cuda13x cupy-cuda12x cupy, then")


def test_dask_cuda_is_told_and_one_process_does_without(cupy, monkeypatch):
    stand_in = SimpleNamespace(__version__="26.10.00")
    monkeypatch.setitem(sys.modules, "dask_cuda", stand_in)
    assert check_gpu()[1].found == "26.10.00"
    monkeypatch.setitem(sys.modules, "dask_cuda", None)
    finding = check_gpu()[1]
    assert finding.level == "warning"
    assert "daskdl[gpu-cu13]" in finding.to_do


def test_no_device_ends_the_checks(cupy, monkeypatch):
    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 0)
    assert failures(check_gpu()) == ["CUDA devices"]
    assert len(check_gpu()) == 3


def test_a_library_that_does_not_load_is_a_failure(cupy):
    def matmul(*args, **options):
        raise ImportError("libcublas.so.13: cannot open shared object file")

    cupy.matmul = staticmethod(matmul)
    last = check_gpu()[-1]
    assert last.is_failure
    assert "libcublas" in last.found


def test_wrong_numbers_are_a_failure(cupy):
    cupy.matmul = staticmethod(lambda x, weight, out: out.fill(0))
    assert failures(check_gpu()) == ["GPU arithmetic"]


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--gpu"], 1), ([], 0)], ids=["asked", "not asked"]
)
def test_only_who_asks_for_a_gpu_needs_one(runner, monkeypatch, arguments, code):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr(doctor_checks, "check_here", list)
    result = runner.invoke(main, ["doctor", "--json", *arguments])
    assert result.exit_code == code
    assert json.loads(result.stdout)["healthy"] == (code == 0)
