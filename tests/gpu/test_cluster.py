"""Workers with a GPU, and a client that leaves it alone."""

from contextlib import contextmanager

import numpy as np
import pytest
from distributed import Client, LocalCluster

from daskdl.cluster.connect import ClusterOptions, connect
from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.masters.options import (
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
)
from tests.devices import living_on
from tests.gpu.test_networks import N_EPOCHS, lenet, striped

MASTERS = {
    "averaging": ParameterAveragingTrainingMaster(),
    "sharing": SharedTrainingMaster(),
}
LOCAL = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50}
HERE = {"threads_per_worker": 1, "host": "127.0.0.1", **LOCAL}


@contextmanager
def of_dask_cuda():
    dask_cuda = pytest.importorskip("dask_cuda", reason="dask-cuda is not installed")
    with dask_cuda.LocalCUDACluster(n_workers=1, **LOCAL) as cluster:
        yield cluster


@contextmanager
def of_two_on_one_device():
    # Workers are new processes, and inherit what stands in the environment now.
    with living_on("cupy"):
        cluster = LocalCluster(n_workers=2, **HERE)
    with cluster:
        yield cluster


@contextmanager
def of_one_that_offers_it():
    with LocalCluster(n_workers=1, resources={"GPU": 1}, **HERE) as cluster:
        yield cluster


@contextmanager
def of_a_job():
    pytest.importorskip("dask_cuda", reason="dask-cuda is not installed")
    with connect(ClusterOptions(type="cuda", workers=1)) as client:
        yield client.cluster


CLUSTERS = [of_dask_cuda, of_two_on_one_device, of_one_that_offers_it, of_a_job]


@pytest.fixture(scope="module", params=CLUSTERS)
def client(request):
    with (
        request.param() as cluster,
        Client(cluster, set_as_default=False) as opened,
    ):
        yield opened


def namespace_of_networks():
    return type(lenet().params).__module__.partition(".")[0]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("master", MASTERS)
def test_a_fit_learns(client, rng, master):
    data = striped(rng, 960)
    front = DaskMultiLayer(client, lenet(), MASTERS[master])
    front.fit(data, batch_size=24, epochs=N_EPOCHS)
    assert set(client.run(namespace_of_networks).values()) == {"cupy"}
    assert namespace_of_networks() == "numpy"
    assert type(front.network.params) is np.ndarray
    assert front.evaluate(data).accuracy() > 0.9
