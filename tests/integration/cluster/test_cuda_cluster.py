"""Dask-CUDA's own workers, with stand-ins for NVIDIA's libraries and for CuPy."""

import json
import os

import numpy as np
import pytest
from click.testing import CliRunner
from distributed import Client

from daskdl.cli.main import main
from daskdl.cluster.connect import ClusterOptions, connect
from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.masters.options import SharedTrainingMaster
from daskdl.errors import DeviceError, OptionError

pytest.importorskip("dask_cuda", reason="dask-cuda is not installed")

from dask_cuda import LocalCUDACluster

from tests import pretend_cuda
from tests.images import JOB, write_images


@pytest.fixture(autouse=True)
def devices(monkeypatch, tmp_path):
    pretend_cuda.install(monkeypatch, tmp_path, devices=2)


def given(dask_worker):
    """Return what a worker was given."""
    return (
        os.environ["CUDA_VISIBLE_DEVICES"],
        os.environ["DASKDL_BACKEND_PRIORITY_GPU"],
        os.environ["OMP_NUM_THREADS"],
        dict(dask_worker.state.total_resources),
    )


def where_networks_live():
    from tests.unit.networks.small import mlp

    return type(mlp().params).__module__


def test_each_device_has_a_worker_whose_networks_live_there(network, blobs):
    """While the client stays in main memory."""
    with connect(ClusterOptions(type="cuda")) as client:
        assert sorted(client.run(given).values(), key=str) == [
            ("0,1", "cupy", "1", {"GPU": 1}),
            ("1,0", "cupy", "1", {"GPU": 1}),
        ]
        front = DaskMultiLayer(client, network(), SharedTrainingMaster())
        front.fit(blobs(600), batch_size=20, epochs=5)
        assert front.evaluate(blobs(200, seed=1)).accuracy() > 0.8
        assert set(client.run(where_networks_live).values()) == {"cupy"}
        assert type(front.network.params) is np.ndarray


def test_workers_take_the_devices_that_they_are_given():
    options = ClusterOptions(type="cuda", cuda_visible_devices="1", workers=1)
    with connect(options) as client:
        ((device, *_),) = client.run(given).values()
    assert device == "1"


def test_a_device_that_is_not_there_is_refused():
    options = ClusterOptions(type="cuda", cuda_visible_devices="5")
    with (
        pytest.raises(DeviceError, match=r"each of the devices 5, got.*doctor --gpu"),
        connect(options),
    ):
        pass


def test_more_workers_than_devices_are_refused():
    options = ClusterOptions(type="cuda", cuda_visible_devices="1", workers=2)
    with (
        pytest.raises(OptionError, match=r"at most 1 with type 'cuda', .* got 2"),
        connect(options),
    ):
        pass


def test_a_worker_that_dask_cuda_starts_needs_no_option(network, blobs):
    """Nor do those of ``dask cuda worker``, which import the same as they start."""
    with (
        LocalCUDACluster(
            n_workers=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        front = DaskMultiLayer(client, network(), SharedTrainingMaster())
        front.fit(blobs(100), batch_size=20)
        (lines,) = client.get_worker_logs().values()
        assert set(client.run(where_networks_live).values()) == {"cupy"}
    told = [text for _, text in lines if "live on its CUDA device" in text]
    assert len(told) == 1
    assert "since it was started by Dask-CUDA" in told[0]


def test_the_job_of_the_examples_trains_on_each_device(tmp_path):
    write_images(tmp_path / "train.parquet", 64)
    result = CliRunner().invoke(
        main,
        [
            "run",
            str(JOB),
            f"data.train={tmp_path / 'train.parquet'}",
            "data.test=",
            "training.epochs=1",
            "training.batch_size=8",
            "--output",
            str(tmp_path / "run"),
            "--json",
        ],
    )
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout.splitlines()[-1])
    assert (figures["workers"], figures["examples"]) == (2, 64)
