"""Vectors lent to the host: no copy where they lie there, both ways where not."""

import sys

import numpy as np
import pytest

from daskdl.arrays.host_vector import HostVector
from tests.pretend_cupy import Namespace, plain, pretend


def test_a_vector_on_the_host_is_lent_itself():
    vector = np.arange(3.0)
    lent = HostVector(vector)
    assert lent.host is vector
    with lent.lent():
        lent.host[0] = 5
    np.testing.assert_array_equal(vector, [5, 1, 2])


@pytest.fixture
def on_device(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", Namespace)
    return pretend(np.arange(3.0))


def test_what_became_of_it_comes_back(on_device):
    vector = HostVector(on_device)
    on_device[1] = 7
    with vector.lent():
        np.testing.assert_array_equal(vector.host, [0, 7, 2])
        vector.host[0] = 5
    np.testing.assert_array_equal(plain(on_device), [5, 7, 2])


def test_it_comes_back_after_an_error_too(on_device):
    vector = HostVector(on_device)

    def fail():
        with vector.lent():
            vector.host[0] = 5
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert plain(on_device)[0] == 5


def test_the_copy_is_always_the_same_array(on_device):
    vector = HostVector(on_device)
    host = vector.host
    for _ in range(2):
        with vector.lent():
            assert vector.host is host
