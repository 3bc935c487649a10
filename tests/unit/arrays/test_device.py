"""Where networks live: what the environment asks for, and what it cannot have."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from daskdl.arrays import device
from daskdl.arrays.device import n_devices, network_namespace, prefer_device
from daskdl.errors import DeviceError, MissingExtraError, OptionError
from tests.pretend_cupy import Namespace
from tests.unit.networks.small import mlp

VARIABLE = "DASKDL_BACKEND_PRIORITY_GPU"


def cupy_with(get_device_count):
    runtime = SimpleNamespace(getDeviceCount=get_device_count)
    return SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))


def no_driver():
    raise RuntimeError("cudaErrorInsufficientDriver")


@pytest.mark.parametrize("value", [None, "none"])
def test_networks_stay_in_main_memory_unless_asked_for(monkeypatch, value):
    monkeypatch.setitem(sys.modules, "cupy", Namespace)
    if value is None:
        monkeypatch.delenv(VARIABLE, raising=False)
    else:
        monkeypatch.setenv(VARIABLE, value)
    assert network_namespace() is np


def test_networks_go_where_the_environment_says(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", Namespace)
    monkeypatch.setenv(VARIABLE, "cupy")
    assert network_namespace() is Namespace


def test_another_value_is_refused(monkeypatch):
    monkeypatch.setenv(VARIABLE, "gpu")
    with pytest.raises(OptionError, match=f"{VARIABLE} must be"):
        network_namespace()


def test_a_network_says_that_cupy_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setenv(VARIABLE, "cupy")
    with pytest.raises(MissingExtraError, match=r"CuPy must.*daskdl\[gpu-cu13\]"):
        mlp()


@pytest.mark.parametrize(
    ("count", "got"),
    [(no_driver, "cudaErrorInsufficientDriver"), (lambda: 0, "none is visible")],
)
def test_a_network_says_that_there_is_no_device(monkeypatch, count, got):
    monkeypatch.setitem(sys.modules, "cupy", cupy_with(count))
    monkeypatch.setenv(VARIABLE, "cupy")
    with pytest.raises(DeviceError, match=f"a CUDA device must.*{got}"):
        mlp()


@pytest.fixture
def preferring(monkeypatch):
    """A process that was told to prefer its device, until the test ends."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(device, "_unset", "none")
    assert prefer_device()
    assert not prefer_device()


def test_a_process_that_prefers_its_device_takes_it(monkeypatch, preferring):
    monkeypatch.setitem(sys.modules, "cupy", Namespace)
    assert network_namespace() is Namespace


def test_the_environment_has_the_first_word(monkeypatch, preferring):
    monkeypatch.setitem(sys.modules, "cupy", Namespace)
    monkeypatch.setenv(VARIABLE, "none")
    assert network_namespace() is np


@pytest.mark.parametrize("value", ["none", "cupy"])
def test_a_preference_changes_nothing_where_the_environment_says_it(monkeypatch, value):
    monkeypatch.setattr(device, "_unset", "none")
    monkeypatch.setenv(VARIABLE, value)
    assert not prefer_device()


def test_who_prefers_what_is_not_there_is_told_the_way_out(monkeypatch, preferring):
    monkeypatch.setitem(sys.modules, "cupy", cupy_with(lambda: 0))
    with pytest.raises(DeviceError, match=f"or set {VARIABLE}=none to compute on"):
        network_namespace()


def test_devices_are_counted():
    assert n_devices(cupy_with(lambda: 4)) == 4
