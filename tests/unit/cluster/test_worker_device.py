"""Which workers keep networks on a device, and what they say of it."""

import logging
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from daskdl.arrays import device
from daskdl.cluster import worker_device as module
from daskdl.cluster.worker_device import network_on_worker
from daskdl.errors import DeviceError, MissingExtraError
from daskdl.training.state import state_of
from tests.pretend_cupy import Namespace, PretendArray
from tests.unit.networks.small import mlp

BY_DASK_CUDA = {"preloads": ["daskdl.cluster.local_worker", "dask_cuda.initialize"]}
BY_RESOURCE = {"resources": {"GPU": 1.0}}


@pytest.fixture
def state():
    return state_of(mlp())


@pytest.fixture
def on(monkeypatch):
    """A function that puts this thread on a worker."""
    monkeypatch.delenv(device.PRIORITY_VARIABLE, raising=False)
    monkeypatch.setattr(device, "_unset", "none")
    monkeypatch.setitem(sys.modules, "cupy", Namespace)

    def put(*, preloads=(), resources=None):
        worker = SimpleNamespace(
            address="tcp://w:1",
            preloads=[SimpleNamespace(name=name) for name in preloads],
            state=SimpleNamespace(total_resources=resources or {}),
        )
        monkeypatch.setattr(module, "get_worker", lambda: worker)

    return put


@pytest.mark.parametrize("how", [BY_DASK_CUDA, BY_RESOURCE])
def test_a_worker_with_a_device_uses_it_and_says_so_once(on, state, caplog, how):
    on(**how)
    with caplog.at_level(logging.INFO, "distributed.worker"):
        networks = [network_on_worker(state) for _ in range(2)]
    assert {type(network.params) for network in networks} == {PretendArray}
    (record,) = caplog.records
    assert "networks of worker tcp://w:1 live on its CUDA device" in record.message


@pytest.mark.parametrize(
    "how", [{}, {"preloads": ["dask_jobqueue"]}, {"resources": {"GPU": 0, "RAM": 1}}]
)
def test_another_worker_stays_in_main_memory(on, state, how):
    on(**how)
    assert type(network_on_worker(state).params) is np.ndarray


def test_a_task_that_is_called_by_hand_is_on_no_worker(state):
    assert type(network_on_worker(state).params) is np.ndarray


def test_a_worker_without_a_device_is_named(on, state, monkeypatch):
    on(**BY_RESOURCE)
    monkeypatch.setattr(Namespace.cuda.runtime, "getDeviceCount", lambda: 0)
    with pytest.raises(
        DeviceError,
        match=r"Worker at tcp://w:1, which offers the resource GPU: GPU: a CUDA device "
        ".*none is visible.*DASKDL_BACKEND_PRIORITY_GPU=none",
    ):
        network_on_worker(state)


def test_a_worker_without_cupy_is_named(on, state, monkeypatch):
    on(**BY_DASK_CUDA)
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(
        MissingExtraError, match="tcp://w:1, which was started by Dask-CUDA: GPU: CuPy"
    ):
        network_on_worker(state)
