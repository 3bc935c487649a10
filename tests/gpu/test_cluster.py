"""Workers with a GPU, and a client that leaves it alone."""

import numpy as np
import pytest
from distributed import Client, LocalCluster

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


def of_dask_cuda():
    dask_cuda = pytest.importorskip("dask_cuda", reason="dask-cuda is not installed")
    return dask_cuda.LocalCUDACluster(n_workers=1, **LOCAL)


def of_two_on_one_device():
    return LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", **LOCAL)


@pytest.fixture(scope="module", params=[of_dask_cuda, of_two_on_one_device])
def client(request):
    # Workers are new processes, and inherit what stands in the environment now.
    with living_on("cupy"):
        cluster = request.param()
    with cluster, Client(cluster, set_as_default=False) as opened:
        yield opened


def namespace_of_networks():
    return type(lenet().params).__module__.partition(".")[0]


def test_networks_of_workers_live_on_the_device(client):
    assert set(client.run(namespace_of_networks).values()) == {"cupy"}
    assert namespace_of_networks() == "numpy"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("master", MASTERS)
def test_a_fit_learns(client, rng, master):
    data = striped(rng, 960)
    front = DaskMultiLayer(client, lenet(), MASTERS[master])
    front.fit(data, batch_size=24, epochs=N_EPOCHS)
    assert type(front.network.params) is np.ndarray
    assert front.evaluate(data).accuracy() > 0.9
