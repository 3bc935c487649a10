import sys

import pytest

from daskdl.data import retries
from tests.cuda_on_host import KernelNamespace, has_compiler
from tests.devices import Device
from tests.pretend_cupy import Namespace


@pytest.fixture(autouse=True)
def impatience(monkeypatch):
    """What a store does not do is tried again at once."""
    monkeypatch.setattr(retries, "WAITS_S", (0.0, 0.0))


@pytest.fixture
def pretence(monkeypatch):
    """A device that is none: CuPy's strictness, NumPy's numbers."""
    monkeypatch.setitem(sys.modules, "cupy", Namespace)
    # Bit for bit only where both run NumPy's kernels.
    monkeypatch.setenv("DASKDL_BACKEND_PRIORITY_CPU", "numpy")
    return Device(Namespace, rtol={})


@pytest.fixture
def cuda_on_host(monkeypatch):
    """A device whose kernels in CUDA C run on this machine."""
    if not has_compiler():
        pytest.skip("there is no g++")
    monkeypatch.setitem(sys.modules, "cupy", KernelNamespace)
