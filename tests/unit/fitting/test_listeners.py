"""What hears of a fit: moments in order, stopping, values, checkpoints, progress."""

import itertools
import logging
import sys

import numpy as np
import pandas as pd
import pytest

import daskdl as dl
from daskdl.errors import (
    DivergedError,
    OptionError,
    OutputError,
    OutputExistsError,
)
from daskdl.nn.fitting.events import EpochFinished, FitFinished, FitStarted
from tests.listening import Epochs, Events

MOMENTS = (
    "on_fit_start",
    "on_epoch_start",
    "iteration_done",
    "on_epoch_end",
    "on_fit_end",
)


class Noting(dl.Listener):
    """Notes every moment, with epoch, iterations and examples."""

    def __init__(self):
        self.told = []
        for moment in MOMENTS:
            setattr(self, moment, self._noting(moment))

    def iteration_done(self, fit):
        """Hear of every minibatch: it is asked of the class whether anybody does."""

    def _noting(self, moment):
        return lambda fit: self.told.append(
            (moment, fit.epoch, fit.iteration, fit.examples)
        )


class Stopping(dl.Listener):
    """Ends the fit at a minibatch."""

    def __init__(self, iteration):
        self._iteration = iteration

    def iteration_done(self, fit):
        if fit.iteration == self._iteration:
            fit.stop()


@pytest.fixture
def data(examples):
    return examples(25)


def test_every_moment_is_told_in_order(network, data):
    noting = Noting()
    network.fit(data, epochs=2, batch_size=10, listeners=noting)
    assert noting.told == [
        ("on_fit_start", 0, 0, 0),
        ("on_epoch_start", 1, 0, 0),
        ("iteration_done", 1, 1, 10),
        ("iteration_done", 1, 2, 20),
        ("iteration_done", 1, 3, 25),
        ("on_epoch_end", 1, 3, 25),
        ("on_epoch_start", 2, 3, 0),
        ("iteration_done", 2, 4, 10),
        ("iteration_done", 2, 5, 20),
        ("iteration_done", 2, 6, 25),
        ("on_epoch_end", 2, 6, 25),
        ("on_fit_end", 2, 6, 25),
    ]


def test_the_score_of_an_epoch_is_weighted_by_examples(network, data):
    alone = network.clone()
    network.fit(data, batch_size=10)
    scores = [(alone.fit_minibatch(b), len(b)) for b in data.batches(10)]
    (epoch,) = network.last_fit.epochs
    assert epoch.score == pytest.approx(sum(s * n for s, n in scores) / 25)
    assert (epoch.examples, network.last_fit.examples) == (25, 25)


def test_a_listener_ends_the_fit_behind_a_minibatch(network, data):
    noting = Noting()
    network.fit(data, epochs=3, batch_size=10, listeners=[Stopping(4), noting])
    assert network.iteration_count == 4
    assert [entry[0] for entry in noting.told[-2:]] == ["iteration_done", "on_fit_end"]


def parts_of(data):
    return [data.slice(0, 10), data.slice(10, 20), data.slice(20, 25)]


def test_an_epoch_that_was_stopped_midway_is_none(network, data):
    network.fit(data, epochs=3, batch_size=10, listeners=Stopping(4))
    assert network.epoch_count == 1
    assert [epoch.epoch for epoch in network.last_fit.epochs] == [1]
    assert network.last_fit.examples == 35


@pytest.mark.parametrize(
    "form", [list, tuple, np.asarray], ids=["list", "tuple", "pair"]
)
def test_an_epoch_that_was_stopped_at_its_end_is_whole(network, data, form):
    given = (data.features, data.labels) if form is np.asarray else parts_of(data)
    network.fit(given, epochs=3, batch_size=10, listeners=Stopping(6))
    assert (network.iteration_count, network.epoch_count) == (6, 2)
    assert [epoch.epoch for epoch in network.last_fit.epochs] == [1, 2]


def test_what_still_comes_is_not_asked_for_at_a_stop(network, data):
    """It may take for ever, as of a queue that somebody fills."""

    def endless():
        yield data
        raise AssertionError("asked")

    network.fit(endless(), listeners=Stopping(1))
    assert (network.iteration_count, network.epoch_count) == (1, 0)


def test_a_stopped_epoch_of_columns_is_none_unless_it_was_whole(network, data):
    table = pd.DataFrame(data.features, columns=[f"f{n}" for n in range(5)])
    table["label"] = data.labels
    how = {"features": list(table.columns[:5]), "label": "label", "batch_size": 10}
    network.fit(table, **how, epochs=3, listeners=Stopping(2))
    assert network.epoch_count == 0
    network.fit(table, **how, epochs=3, listeners=Stopping(3))
    assert network.epoch_count == 1


def test_schedules_by_epoch_go_on_with_the_epoch_that_was_stopped(network, data):
    conf = network.conf.replaced(
        updater=dl.Sgd(
            learning_rate=dl.StepSchedule(
                initial_value=0.5, decay_rate=0.0, step=1, schedule_type="epoch"
            )
        )
    )
    net = dl.MultiLayerNetwork(conf)
    net.fit(data, batch_size=10, listeners=Stopping(1))
    before = net.params.copy()
    net.fit(data, batch_size=10)
    assert not np.array_equal(net.params, before)


def test_values_are_reported_of_their_epoch(network, data):
    class Reporting(dl.Listener):
        def on_epoch_end(self, fit):
            fit.report_values(**{f"epoch{fit.epoch}": np.float32(0.5)})

    network.fit(data, epochs=2, batch_size=10, listeners=Reporting())
    values = [epoch.values for epoch in network.last_fit.epochs]
    assert values == [{"epoch1": 0.5}, {"epoch2": 0.5}]


@pytest.mark.parametrize("value", [[[1]], np.array([1, 2]), "high"])
def test_what_is_no_number_is_not_reported(network, data, value):
    class Reporting(dl.Listener):
        def on_epoch_end(self, fit):
            fit.report_values(matrix=value)

    with pytest.raises(OptionError, match=r"matrix must be a number to be reported"):
        network.fit(data, batch_size=10, listeners=Reporting())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"score": 0.5}, "other names than the score of the training, got 'score'"),
        ({"size": 10**400}, "size must be a number that fits a float to be reported"),
    ],
)
def test_what_would_hide_the_score_or_fits_no_float_is_refused(
    network, data, values, message
):
    class Reporting(dl.Listener):
        def on_epoch_end(self, fit):
            fit.report_values(**values)

    with pytest.raises(OptionError, match=message):
        network.fit(data, batch_size=10, listeners=Reporting())


def test_events_are_told(network, data):
    told = []
    network.fit(data, batch_size=10, listeners=Events(told.append))
    assert [type(event) for event in told] == [FitStarted, EpochFinished, FitFinished]


@pytest.mark.parametrize(
    ("given", "got"),
    [(3, "int"), ([print], "builtin_function"), (dl.Listener, "Make one: Listener()")],
)
def test_what_is_no_listener_is_refused_before_anything_is_trained(
    network, data, given, got
):
    with pytest.raises(OptionError, match="listeners must be objects of") as caught:
        network.fit(data, batch_size=10, listeners=given)
    assert got in str(caught.value)
    assert network.iteration_count == 0


@pytest.mark.parametrize("name", ["on_iteration_done", "on_train_begin"])
def test_a_method_that_nobody_calls_is_refused(network, data, name):
    kind = type("Mine", (dl.Listener,), {name: lambda self, fit: None})
    with pytest.raises(OptionError, match=rf"Mine must have .* got '{name}'"):
        network.fit(data, batch_size=10, listeners=kind())


@pytest.mark.parametrize(
    ("moment", "iterations"),
    [("on_fit_start", 0), ("on_epoch_start", 0), ("on_epoch_end", 3)],
)
def test_a_fit_may_be_stopped_at_any_moment(network, data, moment, iterations):
    kind = type("Stops", (dl.Listener,), {moment: lambda self, fit: fit.stop()})
    network.fit(data, epochs=2, batch_size=10, listeners=kind())
    assert network.iteration_count == iterations


def test_a_fit_within_a_fit_leaves_the_report(network, data):
    other = Epochs(lambda net: net.clone() and net.fit(data, batch_size=25))
    network.fit(data, epochs=2, batch_size=10, listeners=other)
    assert network.last_fit.examples == 50
    assert network.last_fit.examples_per_s > 0


def test_a_store_that_fails_costs_a_warning(network, data, caplog):
    def fail(network):
        raise OutputError("s3://x: full.")

    network.fit(data, epochs=2, batch_size=10, listeners=Epochs(fail))
    assert network.epoch_count == 2
    assert [e.epoch for e in network.last_fit.failed_checkpoints] == [1, 2]
    assert "no checkpoint, the training goes on: s3://x: full." in caplog.text


def test_any_other_error_of_a_listener_ends_the_fit(network, data):
    def fail(network):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        network.fit(data, epochs=2, batch_size=10, listeners=Epochs(fail))
    assert network.epoch_count == 1


def test_scores_are_logged(network, data, caplog):
    caplog.set_level(logging.INFO, "daskdl.nn.fitting.listeners")
    listener = dl.ScoreIterationListener(2)
    network.fit(data, epochs=2, batch_size=10, listeners=listener)
    heads = [message.partition(":")[0] for message in caplog.messages]
    assert heads == ["iteration 2", "iteration 4", "iteration 6"]


def test_checkpoints_are_written(network, data, tmp_path):
    folder = tmp_path / "made"
    listener = dl.CheckpointListener(folder / "at{epoch}.safetensors", 2)
    network.fit(data, epochs=5, batch_size=10, listeners=listener)
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["at2.safetensors", "at4.safetensors", "at5.safetensors"]
    last = dl.load(folder / "at5.safetensors")
    np.testing.assert_array_equal(last.params, network.params)


class Ending(dl.Listener):
    """Ends the fit at the end of an epoch."""

    def __init__(self, epoch):
        self._epoch = epoch

    def on_epoch_end(self, fit):
        if fit.epoch == self._epoch:
            fit.stop()


def test_the_last_epoch_of_a_fit_that_ends_early_is_saved(network, data, tmp_path):
    listener = dl.CheckpointListener(tmp_path / "at{epoch:03d}.safetensors", 2)
    network.fit(data, epochs=9, batch_size=10, listeners=[listener, Ending(3)])
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["at002.safetensors", "at003.safetensors"]
    last = dl.load(tmp_path / "at003.safetensors")
    np.testing.assert_array_equal(last.params, network.params)


def test_its_place_may_be_taken(network, data, tmp_path, caplog):
    """By a file that nobody had to look for at the start: it stays."""
    (tmp_path / "at3.safetensors").write_text("somebody's")
    listener = dl.CheckpointListener(tmp_path / "at{epoch}.safetensors", 2)
    network.fit(data, epochs=9, batch_size=10, listeners=[listener, Ending(3)])
    assert "the last epoch, 3, is not saved" in caplog.text
    assert (tmp_path / "at3.safetensors").read_text() == "somebody's"


def test_the_epoch_may_stand_in_the_name_of_a_folder(network, data, tmp_path):
    listener = dl.CheckpointListener(tmp_path / "at{epoch}" / "net.safetensors")
    network.fit(data, epochs=2, batch_size=10, listeners=listener)
    found = [path.relative_to(tmp_path) for path in tmp_path.rglob("*")]
    made = ["at1", "at1/net.safetensors", "at2", "at2/net.safetensors"]
    assert sorted(map(str, found)) == made


def test_one_checkpoint_takes_the_place_of_the_last(network, data, tmp_path):
    path = tmp_path / "last.safetensors"
    network.fit(data, epochs=3, batch_size=10, listeners=dl.CheckpointListener(path))
    assert dl.load(path).epoch_count == 3


def test_what_is_there_is_no_checkpoint_of_this_fit(network, data, tmp_path):
    path = tmp_path / "last.safetensors"
    network.save(path)
    with pytest.raises(OutputExistsError, match="must not exist yet"):
        network.fit(data, batch_size=10, listeners=dl.CheckpointListener(path))
    assert network.iteration_count == 0
    listener = dl.CheckpointListener(path, overwrite=True)
    network.fit(data, batch_size=10, listeners=listener)
    assert dl.load(path).epoch_count == 1


def test_evaluations_are_reported(network, data):
    listener = dl.EvaluativeListener(data, 2)
    network.fit(data, epochs=4, batch_size=10, listeners=listener)
    kept = [epoch.values.keys() for epoch in network.last_fit.epochs]
    assert kept == [set(), {"accuracy"}, set(), {"accuracy"}]
    last = network.last_fit.epochs[-1].values["accuracy"]
    assert last == listener.evaluation.accuracy() == network.evaluate(data).accuracy()


def test_evaluations_have_names(network, data):
    both = [dl.EvaluativeListener(data, name=name) for name in ("train", "test")]
    network.fit(data, batch_size=10, listeners=both)
    assert set(network.last_fit.epochs[0].values) == {"train_accuracy", "test_accuracy"}


def test_an_evaluation_that_would_count_on_is_refused(data):
    with pytest.raises(OptionError, match="evaluation must be left out"):
        dl.EvaluativeListener(data, evaluation=dl.Evaluation())


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("{epoch}-{score}.safetensors", r"no field but \{epoch\} and \{layer\}, got"),
        ("{epoch}-{score:.3f}.safetensors", r"got \{score:.3f\}"),
        ("{layer:03d}.safetensors", r"no field but .* got \{layer:03d\}"),
        ("{epoch:s}.safetensors", r"a form of whole numbers, .* got \{epoch:s\}"),
        (None, "path_or_url must be a str or PathLike, got NoneType"),
    ],
)
def test_a_path_has_the_epoch_and_no_other_field(path, message):
    with pytest.raises(OptionError, match=message):
        dl.CheckpointListener(path)


@pytest.fixture
def encoders():
    """Two autoencoders, which are pretrained one after the other."""
    layers = [dl.AutoEncoder(name=n, n_out=3) for n in ("first", "second")]
    return dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=dl.FeedForward(4), layers=[*layers, dl.Output(n_out=2)]
        )
    )


ROWS = np.linspace(0, 1, 40, dtype=np.float32).reshape(10, 4)


def test_checkpoints_of_layers_lie_side_by_side(encoders, tmp_path):
    listener = dl.CheckpointListener(tmp_path / "{layer}-{epoch}.safetensors", 2)
    encoders.pretrain(ROWS, epochs=2, batch_size=5, listeners=listener)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["first-2.safetensors", "second-2.safetensors"]
    last = dl.load(tmp_path / "second-2.safetensors")
    np.testing.assert_array_equal(last.params, encoders.params)


def test_one_checkpoint_of_all_layers_takes_the_place_of_the_last(encoders, tmp_path):
    listener = dl.CheckpointListener(tmp_path / "last.safetensors")
    encoders.pretrain(ROWS, batch_size=5, listeners=listener)
    last = dl.load(tmp_path / "last.safetensors")
    np.testing.assert_array_equal(last.params, encoders.params)


def test_epochs_of_several_layers_need_the_layer_in_the_path(encoders, tmp_path):
    listener = dl.CheckpointListener(tmp_path / "{epoch}.safetensors")
    before = encoders.params.copy()
    with pytest.raises(OptionError, match=r"must have \{layer\} beside \{epoch\}"):
        encoders.pretrain(ROWS, batch_size=5, listeners=listener)
    np.testing.assert_array_equal(encoders.params, before)
    # One alone has no other.
    encoders.pretrain_layer("first", ROWS, batch_size=5, listeners=listener)
    assert (tmp_path / "1.safetensors").is_file()


def test_what_lies_in_the_place_of_a_later_layer_is_found_first(encoders, tmp_path):
    (tmp_path / "second-1.safetensors").touch()
    listener = dl.CheckpointListener(tmp_path / "{layer}-{epoch}.safetensors")
    with pytest.raises(OutputExistsError, match="second-1"):
        encoders.pretrain(ROWS, batch_size=5, listeners=listener)
    assert [path.name for path in tmp_path.iterdir()] == ["second-1.safetensors"]


def test_a_network_that_is_trained_has_no_layer_in_the_path(network, data, tmp_path):
    listener = dl.CheckpointListener(tmp_path / "{layer}.safetensors")
    with pytest.raises(OptionError, match=r"\{layer\} in pretraining alone"):
        network.fit(data, batch_size=10, listeners=listener)


def test_a_regression_reports_its_squared_error(rng):
    net = dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=dl.FeedForward(3), layers=[dl.Output(2, loss="mse")]
        )
    )
    data = dl.DataSet(rng.normal(size=(20, 3)), rng.normal(size=(20, 2)))
    net.fit(data, listeners=dl.EvaluativeListener(data))
    error = net.last_fit.epochs[0].values["mean_squared_error"]
    assert error == pytest.approx(net.evaluate(data).mean_squared_error().mean())


def test_a_prompt_sees_how_far_it_is(network, data, monkeypatch, capsys):
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    ticks = itertools.count()
    monkeypatch.setattr("daskdl.nn.fitting.progress.time.monotonic", ticks.__next__)
    network.fit(data, epochs=2, batch_size=10)
    lines = capsys.readouterr().out.split("\r")
    network.fit(data, batch_size=10, listeners=dl.EvaluativeListener(data))
    assert "accuracy" in capsys.readouterr().out
    network.fit(data, batch_size=10, listeners=[])
    assert capsys.readouterr().out == ""
    assert lines[1].startswith("epoch 1/2  10 examples  10/s  score ")
    assert lines[-1].startswith("epoch 2/2  25 examples")
    assert lines[-1].endswith("\n")


def test_a_listener_may_show_it_in_place_of_the_line(
    network, data, monkeypatch, capsys
):
    class Showing(dl.Listener):
        shows_progress = True

    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    network.fit(data, batch_size=10, listeners=Showing())
    assert capsys.readouterr().out == ""


def test_a_program_sees_nothing(network, data, capsys):
    network.fit(data, batch_size=10)
    assert capsys.readouterr().out == ""


def test_two_evaluations_must_not_have_one_name(data, network):
    both = [dl.EvaluativeListener(data) for _ in range(2)]
    with pytest.raises(OptionError, match="evaluate must have different names"):
        network.fit(data, listeners=both)


class TakesDivergence(dl.Listener):
    """Makes a parameter no number, and takes what comes of it."""

    def __init__(self, *, takes):
        self._takes = takes
        self.told = []

    def on_epoch_start(self, fit):
        if fit.epoch == 2:
            fit.network.params[:] = np.nan

    def on_divergence(self, fit, error):
        self.told.append((fit.epoch, type(error)))
        return self._takes

    def on_fit_end(self, fit):
        self.told.append("end")


def test_a_divergence_that_is_taken_ends_the_fit_in_order(network, data):
    listeners = [TakesDivergence(takes=False), TakesDivergence(takes=True)]
    network.fit(data, epochs=3, batch_size=10, listeners=listeners)
    assert [one.told for one in listeners] == [[(2, DivergedError), "end"]] * 2
    assert [epoch.epoch for epoch in network.last_fit.epochs] == [1]


def test_a_divergence_that_nobody_takes_is_raised(network, data):
    listener = TakesDivergence(takes=False)
    with pytest.raises(DivergedError):
        network.fit(data, epochs=3, batch_size=10, listeners=listener)
    assert listener.told == [(2, DivergedError)]


class HearsErrors(dl.Listener):
    """Notes what ended a fit, and fails itself."""

    def __init__(self):
        self.told = []

    def on_fit_end(self, fit):
        self.told.append("end")

    def on_fit_error(self, fit, error):
        self.told.append(type(error))
        raise KeyError("mine")


def test_an_error_that_ends_a_fit_is_told_to_all(network, data, caplog):
    listeners = [HearsErrors(), HearsErrors()]

    def fail(network):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        network.fit(data, batch_size=10, listeners=[*listeners, Epochs(fail)])
    assert [one.told for one in listeners] == [[KeyboardInterrupt]] * 2
    assert "HearsErrors: on_fit_error must not fail, it did: KeyError" in caplog.text


def test_a_fit_that_ends_well_tells_no_error(network, data):
    listener = HearsErrors()
    network.fit(data, batch_size=10, listeners=listener)
    assert listener.told == ["end"]
