"""Workers that offer the resource GPU use it, with a stand-in for CuPy."""

import pytest
from distributed import Client, LocalCluster

from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.masters.options import ParameterAveragingTrainingMaster
from daskdl.errors import MissingExtraError
from tests.devices import living_on
from tests.pretend_cupy import as_module

pytestmark = pytest.mark.usefixtures("workers_are_spawned")


@pytest.fixture
def start():
    """Return a function that starts a worker offering a GPU, and the one after it."""
    opened = []

    def started():
        cluster = LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            resources={"GPU": 1},
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        )
        client = Client(cluster, set_as_default=False)
        opened.extend([client, cluster])
        return client

    yield started
    for each in opened:
        each.close()


def where_networks_live():
    from tests.unit.networks.small import mlp

    return type(mlp().params).__module__


def told(client):
    (lines,) = client.get_worker_logs().values()
    return [text for _, text in lines if "live on its CUDA device" in text]


def test_it_trains_and_answers_there_and_says_so_once(
    start, monkeypatch, tmp_path, network, blobs
):
    as_module(monkeypatch, tmp_path)
    client = start()
    front = DaskMultiLayer(client, network(), ParameterAveragingTrainingMaster())
    assert told(client) == []
    front.fit(blobs(400), batch_size=20, epochs=10)
    assert front.evaluate(blobs(200, seed=1)).accuracy() > 0.8
    (line,) = told(client)
    assert "since it offers the resource GPU; DASKDL_BACKEND_PRIORITY_GPU=none" in line
    assert set(client.run(where_networks_live).values()) == {"cupy"}


def test_the_environment_has_the_first_word(
    start, monkeypatch, tmp_path, network, blobs
):
    as_module(monkeypatch, tmp_path)
    with living_on("none"):
        client = start()
    front = DaskMultiLayer(client, network())
    front.fit(blobs(100), batch_size=20)
    assert told(client) == []
    assert set(client.run(where_networks_live).values()) == {"numpy"}


@pytest.mark.parametrize("operation", ["fit", "evaluate"])
def test_without_cupy_an_error_says_what_to_do(
    start, monkeypatch, tmp_path, network, blobs, operation
):
    monkeypatch.delenv("DASKDL_BACKEND_PRIORITY_GPU", raising=False)
    (tmp_path / "cupy.py").write_text("raise ImportError('libcuda is not here')")
    monkeypatch.syspath_prepend(str(tmp_path))
    front = DaskMultiLayer(start(), network())
    with pytest.raises(
        MissingExtraError,
        match=r"Worker at tcp://.*, which offers the resource GPU: GPU: CuPy must .*"
        "libcuda is not here.* or set DASKDL_BACKEND_PRIORITY_GPU=none",
    ):
        getattr(front, operation)(blobs(100), batch_size=20)
