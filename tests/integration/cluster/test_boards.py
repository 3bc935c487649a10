"""Boards on a cluster: the client alone writes, for all workers together."""

import pytest

import daskdl as dl
from daskdl.cluster.frontend import DaskMultiLayer

HOW = {"batch_size": 16, "epochs": 3, "shuffle": True}


@pytest.mark.parametrize("n_workers", [2])
def test_tensorboard_has_the_curves_of_all_workers(
    n_workers, cluster_of, blobs, network, tmp_path
):
    pytest.importorskip("tensorboardX", reason="needs daskdl[tensorboard]")
    from tests.unit.boards.event_reading import curves

    front = DaskMultiLayer(cluster_of(n_workers), network())
    evaluating = dl.EvaluativeListener(blobs(64, seed=1), name="test")
    front.fit(
        blobs(320), **HOW, listeners=[evaluating, dl.TensorBoardListener(tmp_path)]
    )
    found = curves(tmp_path)
    assert list(found["epoch_score"]) == [20, 40, 60]
    accuracies = [each.values["test_accuracy"] for each in front.last_fit.epochs]
    assert list(found["epoch_test_accuracy"].values()) == pytest.approx(accuracies)
    assert list(found["score"])[-1] == 60
    assert set(found["workers"].values()) == {n_workers}
    names = [slot.name for slot in front.network.layout]
    for name in names:
        assert list(found[f"updates/{name}"]) == [20, 40, 60]
    histogram = found[f"parameters/{names[0]}"][60]
    assert histogram.min == pytest.approx(front.network.param_table()[names[0]].min())


def test_mlflow_has_the_training_master(
    cluster_of, blobs, network, tmp_path, monkeypatch
):
    pytest.importorskip("mlflow", reason="needs daskdl[mlflow]")
    from tests.unit.boards.mlflow_server import MLflowServer

    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    with MLflowServer(tmp_path / "artifacts").serving() as server:
        master = dl.SharedTrainingMaster(
            threshold_algorithm=dl.FixedThresholdAlgorithm(threshold=1e-3)
        )
        front = DaskMultiLayer(cluster_of(2), network(), master)
        listener = dl.MLflowListener(server.url, log_network=True)
        front.fit(blobs(320), **HOW, listeners=listener)
    params = server.run["params"]
    assert params["master"] == "SharedTrainingMaster"
    assert params["master.threshold_algorithm"] == "FixedThresholdAlgorithm"
    assert params["master.threshold_algorithm.threshold"] == "0.001"
    assert params["workers"] == "2"
    assert server.steps("epoch_score") == [20, 40, 60]
    assert {value for _, value in server.curve("workers")} == {2}
    assert server.run["info"]["status"] == "FINISHED"
    saved = dl.load(tmp_path / "artifacts" / listener.run_id / "model.safetensors")
    assert (saved.params == front.network.params).all()


def test_a_worker_that_raises_is_told(cluster_of, blobs, network):
    told = []

    class Hears(dl.Listener):
        def on_fit_error(self, fit, error):
            told.append(type(error))

    rate = dl.Sgd(learning_rate=1e30)
    front = DaskMultiLayer(cluster_of(1), network(updater=rate))
    with pytest.raises(dl.DivergedError):
        front.fit(blobs(320), **HOW, listeners=Hears())
    assert told == [dl.DivergedError]
