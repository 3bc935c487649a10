"""What is looked for before Dask-CUDA starts workers, and how it is asked to."""

import sys
from types import ModuleType

import dask
import pytest

from daskdl.arrays.device import PRIORITY_VARIABLE
from daskdl.cluster import connect as module
from daskdl.cluster.connect import ClusterOptions, connect
from daskdl.errors import DeviceError, MissingExtraError, OptionError
from tests.pretend_cupy import Namespace


class Cluster:
    """Stands in for Dask-CUDA's; keeps what it was asked for."""

    error: Exception | None = None
    environment: str | None = None

    def __init__(self, **options):
        if self.error is not None:
            raise self.error
        type(self).options = options
        type(self).environment = dask.config.get("distributed.nanny.environ").get(
            PRIORITY_VARIABLE
        )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        type(self).is_closed = True


class Client:
    def __init__(self, cluster, **options):
        self.cluster = cluster

    __enter__ = Cluster.__enter__

    def __exit__(self, *error):
        pass


@pytest.fixture
def dask_cuda(monkeypatch):
    """A machine with one device, CuPy, RMM and Dask-CUDA; returns the cluster."""
    monkeypatch.delenv(PRIORITY_VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "cupy", Namespace)
    monkeypatch.setitem(sys.modules, "rmm", ModuleType("rmm"))
    stand_in = ModuleType("dask_cuda")
    stand_in.LocalCUDACluster = type("LocalCUDACluster", (Cluster,), {})
    monkeypatch.setitem(sys.modules, "dask_cuda", stand_in)
    monkeypatch.setattr(module, "Client", Client)
    return stand_in.LocalCUDACluster


def started(**options):
    with connect(ClusterOptions(type="cuda", **options)) as client:
        return client.cluster.options


def test_workers_are_local_and_offer_a_gpu(dask_cuda):
    options = started()
    assert options["resources"] == {"GPU": 1}
    assert options["host"] == "127.0.0.1"
    assert options["threads_per_worker"] == 1
    assert options["n_workers"] is None
    assert options["CUDA_VISIBLE_DEVICES"] is None
    assert options["security"] is not None
    assert dask_cuda.environment == "cupy"
    assert dask_cuda.is_closed


def test_devices_and_memory_are_handed_on(dask_cuda):
    options = started(
        workers=1,
        cuda_visible_devices="1,GPU-9baca7f5",
        memory_limit="2 GiB",
        security="none",
    )
    assert options["n_workers"] == 1
    assert options["CUDA_VISIBLE_DEVICES"] == "1,GPU-9baca7f5"
    assert options["memory_limit"] == "2 GiB"
    assert options["security"] is None
    assert "rmm_pool_size" not in options


@pytest.mark.parametrize(
    ("size", "handed"), [("8 GiB", "8 GiB"), (0.8, 0.8), (1, 1.0), (2e9, 2 * 10**9)]
)
def test_a_pool_of_rmm_gives_cupy_its_memory(dask_cuda, size, handed):
    options = started(rmm_pool_size=size)
    assert options["rmm_pool_size"] == handed
    # Dask-CUDA takes floats for parts, and whole numbers for bytes.
    assert type(options["rmm_pool_size"]) is type(handed)
    assert options["rmm_allocator_external_lib_list"] == ["cupy"]


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("cupy", r"type 'cuda': GPU: CuPy must .*\[gpu-cu13\].*leave out type 'cuda'"),
        ("dask_cuda", r"able to import dask_cuda, got .*pip install 'daskdl\[gpu-cu13"),
        ("rmm", r"rmm_pool_size must be able to import rmm.*pip install rmm-cu13"),
    ],
)
def test_what_is_not_installed_is_named(dask_cuda, monkeypatch, missing, message):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=f"{message}.*daskdl doctor --gpu"):
        started(rmm_pool_size="1 GiB")


def test_a_machine_without_a_device_is_refused(dask_cuda, monkeypatch):
    monkeypatch.setattr(Namespace.cuda.runtime, "getDeviceCount", lambda: 0)
    with pytest.raises(
        DeviceError,
        match=r"type 'cuda': GPU: a CUDA device must be there, got none is visible.*"
        "leave out type 'cuda' to compute on the CPU.*`daskdl doctor --gpu` tells",
    ):
        started()


def test_an_environment_that_wants_the_cpu_is_refused(dask_cuda, monkeypatch):
    monkeypatch.setenv(PRIORITY_VARIABLE, "none")
    with pytest.raises(OptionError, match=f"must not meet {PRIORITY_VARIABLE}=none"):
        started()


@pytest.mark.parametrize(("devices", "most"), [(None, 1), ("0,1", 2)])
def test_more_workers_than_devices_are_refused(dask_cuda, devices, most):
    with pytest.raises(OptionError, match=f"workers must be at most {most} .* got 3"):
        started(workers=3, cuda_visible_devices=devices)


def test_what_dask_cuda_cannot_do_is_told(dask_cuda):
    dask_cuda.error = ValueError("Invalid device index or UUID: 5")
    with pytest.raises(DeviceError, match=r"devices 5, got ValueError.*UUID"):
        started(cuda_visible_devices="5")
