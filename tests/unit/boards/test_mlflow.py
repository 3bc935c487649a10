"""What an MLflow server is told of a fit, and what becomes of a fit without one."""

import logging
import os
import socket
import sys
import threading
import time

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import MissingExtraError, OptionError
from daskdl.training.boards import sending

pytest.importorskip("mlflow", reason="needs daskdl[mlflow]")

from tests.unit.boards.mlflow_server import MLflowServer
from tests.unit.boards.test_tensorboard import Failing

HOW = {"epochs": 2, "batch_size": 10}  # four iterations each


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Nothing but this process, and no waiting for a server that is away."""
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_ID", "MLFLOW_RUN_ID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server(tmp_path):
    with MLflowServer(tmp_path / "artifacts").serving() as server:
        yield server


def test_a_run_has_the_numbers_of_iterations_and_epochs(network, data, server):
    alone = network.clone()
    told = dl.MLflowListener(server.url, "digits", run_name="first", frequency=1)
    network.fit(data, **HOW, listeners=[dl.EarlyStopping(data), told])
    every = list(range(1, 9))
    expected = [alone.fit_minibatch(b) for _ in range(2) for b in data.batches(10)]
    assert [value for _, value in server.curve("score")] == pytest.approx(expected)
    assert server.steps("score") == every
    assert server.steps("examples_per_s") == every
    assert server.curve("epoch") == [(step, 1 + (step > 4)) for step in every]
    assert {value for _, value in server.curve("learning_rate")} == {0.01}
    assert server.steps("epoch_score") == [4, 8]
    losses = [each.values["validation_loss"] for each in network.last_fit.epochs]
    assert server.curve("epoch_validation_loss") == list(
        zip([4, 8], losses, strict=True)
    )
    assert server.run["info"]["run_name"] == "first"
    assert server.run["info"]["experiment_id"] == server.experiments["digits"]
    assert server.run["statuses"] == ["FINISHED"]
    assert int(server.run["info"]["end_time"]) > 0
    assert told.run_id == server.run["info"]["run_id"]


def test_every_tenth_iteration_if_nothing_is_said(network, data, server):
    how = {"epochs": 3, "batch_size": 4}
    network.fit(data, **how, listeners=dl.MLflowListener(server.url))
    assert server.steps("score") == [10, 20, 30]


def test_hyperparameters_are_flat(network, data, server):
    network.fit(data, **HOW, shuffle=True, listeners=dl.MLflowListener(server.url))
    params = server.run["params"]
    expected = {
        "network": "MultiLayerNetwork",
        "n_params": str(network.n_params),
        "seed": "11",
        "epochs": "2",
        "batch_size": "10",
        "shuffle": "True",
        "data.examples": "40",
        "updater": "adam",
        "updater.learning_rate": "0.01",
        "updater.beta1": "0.9",
        "layers.0": "dense",
        "layers.0.n_out": "6",
        "layers.0.activation": "tanh",
        "input.size": "5",
    }
    assert {name: params.get(name) for name in expected} == expected
    assert not any(name.startswith("master") for name in params)


def test_a_schedule_is_told_with_its_options(network, data, server):
    step = dl.StepSchedule(initial_value=0.5, decay_rate=0.5, step=2)
    conf = network.conf.replaced(updater=dl.Sgd(step))
    dl.MultiLayerNetwork(conf).fit(
        data, batch_size=10, listeners=dl.MLflowListener(server.url, frequency=1)
    )
    params = server.run["params"]
    assert params["updater.learning_rate"] == "step"
    assert params["updater.learning_rate.decay_rate"] == "0.5"
    assert server.curve("learning_rate") == [(1, 0.5), (2, 0.25), (3, 0.25), (4, 0.125)]


def test_names_and_values_are_within_the_limits(data, server):
    layers = [
        dl.Dense(n_out=4, name="a*b//c", updater=dl.Sgd(0.5)),
        *(dl.Dense(n_out=4, name=f"hidden {number}") for number in range(60)),
        dl.Output(n_out=3),
    ]
    conf = dl.MultiLayerConfiguration(input=dl.FeedForward(size=5), layers=layers)
    listener = dl.MLflowListener(server.url, frequency=1)
    dl.MultiLayerNetwork(conf).fit(data, batch_size=40, listeners=listener)
    assert server.run["params"]["layers.a_b/_/c.n_out"] == "4"
    assert len(server.run["params"]) > 100
    assert "learning_rate/0_W" in server.run["points"]


def test_of_very_many_layers_no_options_are_told(data, server):
    layers = [dl.Dense(n_out=2, activation="tanh") for _ in range(120)]
    conf = dl.MultiLayerConfiguration(
        input=dl.FeedForward(size=5), layers=[*layers, dl.Output(n_out=3)]
    )
    listener = dl.MLflowListener(server.url)
    dl.MultiLayerNetwork(conf).fit(data, batch_size=40, listeners=listener)
    assert not any(name.startswith("layers") for name in server.run["params"])
    assert server.run["params"]["input.size"] == "5"


def test_a_run_has_tags(network, data, server):
    tags = {"team": "digits", "mlflow.note.content": "the first"}
    network.fit(data, **HOW, listeners=dl.MLflowListener(server.url, tags=tags))
    assert server.run["tags"].items() >= tags.items()
    assert server.run["tags"]["mlflow.source.type"] == "LOCAL"


def test_the_network_is_an_artifact(network, data, server, tmp_path):
    listener = dl.MLflowListener(server.url, log_network=True)
    network.fit(data, **HOW, listeners=listener)
    saved = dl.load(tmp_path / "artifacts" / listener.run_id / "model.safetensors")
    assert np.array_equal(saved.params, network.params)


def test_a_store_without_room_for_the_network_costs_a_warning(
    network, data, server, tmp_path, caplog
):
    (tmp_path / "artifacts").touch()
    listener = dl.MLflowListener(server.url, log_network=True)
    network.fit(data, **HOW, listeners=listener)
    assert "MLflowListener: files were not stored: " in caplog.text
    assert server.run["info"]["status"] == "FINISHED"


def test_a_fit_that_fails_is_a_run_that_failed(network, data, server):
    listener = dl.MLflowListener(server.url, frequency=1)
    with pytest.raises(ZeroDivisionError):
        network.fit(data, **HOW, listeners=[listener, Failing(3)])
    assert server.run["info"]["status"] == "FAILED"
    assert server.run["tags"]["daskdl.error"].startswith("ZeroDivisionError")
    assert server.steps("score") == [1, 2, 3]


def test_ctrl_c_kills_a_run(network, data, server):
    class Interrupted(dl.Listener):
        def on_epoch_end(self, fit):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        network.fit(
            data, **HOW, listeners=[dl.MLflowListener(server.url), Interrupted()]
        )
    assert server.run["info"]["status"] == "KILLED"


def test_a_run_that_goes_on_is_the_same(network, data, server, tmp_path):
    run = {"batch_size": 10, "epochs": 3}

    def listeners():
        told = dl.MLflowListener(server.url, frequency=1)
        return [told, dl.RunCheckpoint(tmp_path / "checkpoints")]

    with pytest.raises(ZeroDivisionError):
        network.clone().fit(data, **run, listeners=[*listeners(), Failing(7)])
    network.fit(data, **run, listeners=listeners(), resume=tmp_path / "checkpoints")
    # What is trained again stands twice.
    assert server.steps("score") == [*range(1, 8), *range(5, 13)]
    assert server.run["statuses"] == ["FAILED", "RUNNING", "FINISHED"]


def test_a_further_fit_of_the_listener_goes_on(network, data, server):
    listener = dl.MLflowListener(server.url, frequency=1)
    for batch_size in (10, 20):
        network.fit(data, batch_size=batch_size, listeners=listener)
    assert server.steps("score") == [1, 2, 3, 4, 5, 6]
    assert server.run["params"]["batch_size"] == "10"


def test_an_active_run_of_somebody_is_told_and_not_ended(network, data, server):
    import mlflow

    client = mlflow.MlflowClient(server.url)
    theirs = client.create_run("0", run_name="theirs")
    params = [mlflow.entities.Param("batch_size", "theirs")]
    client.log_batch(theirs.info.run_id, params=params)
    listener = dl.MLflowListener(server.url, run_id=theirs.info.run_id)
    network.fit(data, **HOW, listeners=listener)
    assert server.run["params"]["batch_size"] == "theirs"
    assert server.run["params"]["epochs"] == "2"
    assert server.steps("epoch_score") == [4, 8]
    assert server.run["statuses"] == []


def test_the_fluent_state_is_not_touched(network, data, server):
    import mlflow

    before = mlflow.get_tracking_uri()
    network.fit(data, **HOW, listeners=dl.MLflowListener(server.url))
    assert mlflow.active_run() is None
    assert mlflow.get_tracking_uri() == before


def test_the_environment_names_server_and_experiment(
    network, data, server, monkeypatch
):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.url)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "theirs")
    network.fit(data, **HOW, listeners=dl.MLflowListener())
    assert server.run["info"]["experiment_id"] == server.experiments["theirs"]


def test_nothing_is_printed(network, data, server, capsys):
    """Programs read what a command prints."""
    network.fit(data, **HOW, listeners=[dl.MLflowListener(server.url)])
    assert capsys.readouterr().out == ""
    assert "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT" not in os.environ


def test_a_store_of_files(network, data, tmp_path, monkeypatch):
    import mlflow

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    listener = dl.MLflowListener(tmp_path / "runs", "digits", frequency=1)
    network.fit(data, **HOW, listeners=listener)
    client = mlflow.MlflowClient(str(tmp_path / "runs"))
    run = client.get_run(listener.run_id)
    assert run.info.status == "FINISHED"
    assert run.data.params["updater.learning_rate"] == "0.01"
    history = client.get_metric_history(listener.run_id, "score")
    assert sorted(one.step for one in history) == list(range(1, 9))


def test_a_server_that_is_away_costs_a_warning(network, data, caplog):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    listener = dl.MLflowListener(url, frequency=1, end_timeout_s=0.5)
    start_s = time.monotonic()
    network.fit(data, **HOW, listeners=listener)
    assert time.monotonic() - start_s < 5
    assert network.epoch_count == 2
    waits, lost = of_ours(caplog)
    assert waits.startswith("MLflowListener: numbers wait, the training goes on: ")
    # Three of each iteration and the epoch, and the mean of two epochs.
    assert "34 numbers were not sent, nor that the run is FINISHED: " in lost
    assert listener.run_id is None


def test_a_server_that_never_answers_is_not_waited_for(network, data, caplog):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        listener = dl.MLflowListener(url, end_timeout_s=0.2)
        start_s = time.monotonic()
        network.fit(data, **HOW, listeners=listener)
        assert time.monotonic() - start_s < 5
        (lost,) = of_ours(caplog)
        assert lost.endswith(": no answer in 0.2 s")
        gone = [t for t in threading.enumerate() if t.name == "MLflowListener"]
        for thread in gone:
            thread.join(10)
        # It gave up, too.
        assert not any(thread.is_alive() for thread in gone)


def test_a_server_that_fails_for_a_while_gets_all(
    network, data, server, monkeypatch, caplog
):
    monkeypatch.setattr(sending, "_AGAIN_S", 0.01)
    monkeypatch.setattr(sending, "_AGAIN_AT_END_S", 0.01)
    server.answers = [(500, "INTERNAL_ERROR")] * 5
    listener = dl.MLflowListener(server.url, frequency=1)
    network.fit(data, **HOW, listeners=listener)
    assert server.steps("score") == list(range(1, 9))
    (waits,) = of_ours(caplog)
    assert "numbers wait" in waits


def test_an_answer_that_gets_lost_makes_no_second_run(
    network, data, server, monkeypatch
):
    monkeypatch.setattr(sending, "_AGAIN_S", 0.01)
    monkeypatch.setattr(sending, "_AGAIN_AT_END_S", 0.01)
    create, answered = server._runs_create, []

    def lose_the_first(asked):
        answered.append(create(asked))
        lost = {"error_code": "INTERNAL_ERROR", "message": "lost"}
        return answered[-1] if len(answered) > 1 else (500, lost)

    monkeypatch.setattr(server, "_runs_create", lose_the_first)
    network.fit(data, **HOW, listeners=dl.MLflowListener(server.url))
    assert server.run["info"]["status"] == "FINISHED"


def test_what_a_server_refuses_is_left_out(network, data, server, monkeypatch, caplog):
    log_batch = server._runs_log_batch

    def refuse(asked):
        if asked.get("metrics"):
            return 400, {"error_code": "INVALID_PARAMETER_VALUE", "message": "bad"}
        return log_batch(asked)

    monkeypatch.setattr(server, "_runs_log_batch", refuse)
    network.fit(data, **HOW, listeners=dl.MLflowListener(server.url))
    refused, lost = of_ours(caplog)
    assert "numbers were refused" in refused
    assert "2 numbers were not sent: " in lost
    assert server.run["info"]["status"] == "FINISHED"


def test_a_run_that_is_gone_is_told_at_once(network, data, server, caplog):
    listener = dl.MLflowListener(server.url, run_id="f" * 32)
    start_s = time.monotonic()
    network.fit(data, **HOW, listeners=listener)
    assert time.monotonic() - start_s < 5
    assert "no run" in of_ours(caplog)[-1]


def test_what_waits_is_bounded(monkeypatch, caplog):
    monkeypatch.setattr(sending, "MOST_POINTS", 5)

    class Away:
        most_points = 1000

        def open(self, parameters):
            raise OSError("away")

        def is_refusal(self, error):
            return False

    sender = sending.Sender("Board", Away(), {})
    for step in range(10):
        sender.add({"score": 1.0}, step)
    assert len(sender._points) == 5
    sender.close(sending.End("FINISHED"), 0.0)
    lost = "Board: 10 numbers were not sent, nor that the run is FINISHED: "
    assert of_ours(caplog)[-1].startswith(lost)


def test_tries_of_the_client_fill_no_log(network, data, server, monkeypatch, caplog):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR", "0")
    server.answers = [(503, "TEMPORARILY_UNAVAILABLE")] * 2
    network.fit(data, **HOW, listeners=dl.MLflowListener(server.url))
    assert server.run["info"]["status"] == "FINISHED"
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_a_missing_extra_is_named_before_the_fit(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'daskdl\[mlflow\]'"):
        dl.MLflowListener()


def test_a_store_whose_packages_are_missing_is_refused(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "mlflow.store.tracking.sqlalchemy_store", None)
    with pytest.raises(MissingExtraError, match="run: pip install mlflow"):
        dl.MLflowListener(f"sqlite:///{tmp_path}/runs.db")


def test_an_unknown_kind_of_store_is_refused():
    with pytest.raises(OptionError, match="one that MLflow opens, got 'gopher://x'"):
        dl.MLflowListener("gopher://x")


@pytest.mark.parametrize(
    "options",
    [
        {"tracking_uri": 5000},
        {"experiment": 3},
        {"run_name": 3},
        {"run_id": 3},
        {"tags": ["a"]},
        {"tags": {"a": 1}},
        {"tags": {"a*": "1"}},
        {"frequency": 0},
        {"log_network": "yes"},
        {"end_timeout_s": -1},
    ],
)
def test_options_are_checked(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        dl.MLflowListener(**{"tracking_uri": "http://127.0.0.1:9", **options})


def test_a_run_that_is_there_has_its_name():
    with pytest.raises(OptionError, match="must be left out with run_id, got 'a'"):
        dl.MLflowListener("http://127.0.0.1:9", "a", run_id="f" * 32)


def of_ours(caplog):
    """Return what was warned of."""
    return [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith("daskdl") and record.levelno >= logging.WARNING
    ]


@pytest.mark.parametrize("name", ["experiment", "run_name", "run_id"])
def test_empty_names_are_refused(name):
    with pytest.raises(OptionError, match=f"{name} must not be empty"):
        dl.MLflowListener("http://127.0.0.1:1", **{name: ""})
