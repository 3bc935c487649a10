import sys
from types import ModuleType

import numpy as np
import pytest

from daskdl.arrays.namespace import array_namespace, to_device, to_host


@pytest.fixture
def cupy(monkeypatch):
    """A module that looks like CuPy from outside: arrays with `get`, and `asarray`."""
    module = ModuleType("cupy")

    class ndarray:
        def __init__(self, values):
            self.values = np.asarray(values)
            self.dtype = self.values.dtype

        def get(self):
            return self.values

    ndarray.__module__ = "cupy"
    module.ndarray = ndarray
    module.asarray = ndarray
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def test_an_array_of_numpy_belongs_to_numpy():
    assert array_namespace(np.zeros(2)) is np


def test_an_array_of_cupy_belongs_to_cupy(cupy):
    assert array_namespace(cupy.ndarray([1.0])) is cupy


def test_to_host_does_not_copy_what_is_there():
    x = np.zeros(2)
    assert to_host(x) is x


def test_to_host_fetches_from_the_device(cupy):
    assert to_host(cupy.ndarray([1.0])).tolist() == [1.0]


def test_to_device_moves_where_the_other_array_is(cupy):
    moved = to_device(np.ones(1), like=cupy.ndarray([0.0]))
    assert type(moved) is cupy.ndarray


def test_to_device_does_not_copy_what_is_there():
    x = np.zeros(2)
    assert to_device(x, like=np.ones(1)) is x


def test_to_device_brings_back_to_the_host(cupy):
    moved = to_device(cupy.ndarray([1.0]), like=np.ones(1))
    assert type(moved) is np.ndarray
