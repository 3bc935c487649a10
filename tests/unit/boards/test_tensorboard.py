"""What TensorBoard reads of a fit: curves, histograms, and stores that fail."""

import errno
import os
import sys

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import MissingExtraError, OptionError, OutputError, OutputExistsError
from daskdl.training.boards import event_file

pytest.importorskip("tensorboardX", reason="needs daskdl[tensorboard]")

from tests.unit.boards.event_reading import curves, events_of, files_in

HOW = {"epochs": 2, "batch_size": 10}  # four iterations each


@pytest.fixture
def board(tmp_path):
    return tmp_path / "board"


class Failing(dl.Listener):
    """Ends the fit with an error behind a minibatch."""

    def __init__(self, iteration):
        self._iteration = iteration

    def iteration_done(self, fit):
        if fit.iteration == self._iteration:
            raise ZeroDivisionError


def test_a_curve_of_every_iteration_and_every_epoch(network, data, board):
    listeners = [dl.EvaluativeListener(data), dl.TensorBoardListener(board)]
    network.fit(data, **HOW, listeners=listeners)
    found = curves(board)
    every = list(range(1, 9))
    assert list(found["score"]) == every
    assert list(found["examples_per_s"]) == every
    assert found["learning_rate"] == pytest.approx(dict.fromkeys(every, 0.01))
    assert list(found["epoch"].values()) == [1] * 4 + [2] * 4
    epochs = network.last_fit.epochs
    assert found["epoch_score"] == pytest.approx(
        {4: epochs[0].score, 8: epochs[1].score}
    )
    accuracies = [epoch.values["accuracy"] for epoch in epochs]
    assert list(found["epoch_accuracy"].values()) == pytest.approx(accuracies)


def test_the_scores_are_those_of_the_minibatches(network, data, board):
    alone = network.clone()
    network.fit(data, **HOW, listeners=dl.TensorBoardListener(board))
    expected = [alone.fit_minibatch(b) for _ in range(2) for b in data.batches(10)]
    assert list(curves(board)["score"].values()) == pytest.approx(expected)


def test_a_frequency_thins_out(network, data, board):
    network.fit(data, **HOW, listeners=dl.TensorBoardListener(board, 3))
    assert list(curves(board)["score"]) == [3, 6]


def test_the_learning_rate_follows_its_schedule(network, data, board):
    step = dl.StepSchedule(initial_value=0.5, decay_rate=0.5, step=2)
    conf = network.conf.replaced(updater=dl.Sgd(step))
    listener = dl.TensorBoardListener(board)
    dl.MultiLayerNetwork(conf).fit(data, batch_size=10, listeners=listener)
    rates = curves(board)["learning_rate"]
    assert rates == {1: 0.5, 2: 0.25, 3: 0.25, 4: 0.125}


def test_different_rates_have_names(data, board):
    layers = [dl.Dense(n_out=6, updater=dl.Sgd(0.5)), dl.Output(n_out=3)]
    conf = dl.MultiLayerConfiguration(
        input=dl.FeedForward(size=5), layers=layers, updater=dl.Sgd(0.25)
    )
    listener = dl.TensorBoardListener(board)
    dl.MultiLayerNetwork(conf).fit(data, batch_size=40, listeners=listener)
    found = curves(board)
    names = [tag for tag in found if tag.startswith("learning_rate/")]
    rates = {name.removeprefix("learning_rate/"): found[name][1] for name in names}
    assert sorted(rates.values()) == [0.25, 0.25, 0.5, 0.5]
    assert len(rates) == 4


def test_histograms_of_parameters_and_updates(network, data, board):
    before = network.params.copy()
    network.fit(data, batch_size=10, listeners=dl.TensorBoardListener(board))
    found = curves(board)
    for slot in network.layout:
        now = network.params[slot.offset : slot.stop].astype(float)
        change = before[slot.offset : slot.stop] - now
        histogram = found[f"parameters/{slot.name}"][4]
        assert (histogram.num, sum(histogram.bucket)) == (slot.size, slot.size)
        assert (histogram.min, histogram.max) == (now.min(), now.max())
        assert histogram.sum == pytest.approx(now.sum())
        assert histogram.sum_squares == pytest.approx((now**2).sum())
        updates = found[f"updates/{slot.name}"][4]
        assert updates.sum == pytest.approx(change.sum() / 4, rel=1e-4)
    slot = next(iter(network.layout))
    now = network.params[slot.offset : slot.stop]
    update = (before[slot.offset : slot.stop] - now) / 4
    ratio = np.log10(np.abs(update).mean() / np.abs(now).mean())
    assert found[f"update_ratio/{slot.name}"][4] == pytest.approx(ratio, rel=1e-4)


def test_the_last_epoch_of_a_fit_that_ends_early_is_drawn(network, data, board):
    class Ending(dl.Listener):
        def on_epoch_end(self, fit):
            if fit.epoch == 3:
                fit.stop()

    listener = dl.TensorBoardListener(board, histograms_every_n_epochs=2)
    network.fit(data, batch_size=10, epochs=9, listeners=[listener, Ending()])
    name = next(iter(network.layout)).name
    assert list(curves(board)[f"parameters/{name}"]) == [8, 12]


def test_what_was_before_a_checkpoint_is_written(network, data, board):
    """Whoever is killed behind it goes on from there."""
    told = []

    class Looking(dl.Listener):
        def iteration_done(self, fit):
            fit.want_checkpoint()

        def on_standstill(self, fit):
            if fit.position.positions:
                told.append(max(curves(board)["score"]) == fit.iteration)

    listeners = [dl.TensorBoardListener(board), Looking()]
    network.fit(data, batch_size=10, listeners=listeners)
    assert told
    assert all(told)


def test_histograms_within_epochs(network, data, board):
    listener = dl.TensorBoardListener(
        board, histograms_every_n_epochs=None, histograms_every_n_iterations=3
    )
    network.fit(data, **HOW, listeners=listener)
    name = next(iter(network.layout)).name
    assert list(curves(board)[f"parameters/{name}"]) == [3, 6]


def test_no_histograms(network, data, board):
    listener = dl.TensorBoardListener(board, histograms_every_n_epochs=None)
    network.fit(data, **HOW, listeners=listener)
    assert not any(tag.startswith("parameters/") for tag in curves(board))


def test_the_network_is_described(network, data, board):
    network.fit(data, **HOW, listeners=dl.TensorBoardListener(board))
    text = curves(board)["network/text_summary"][0].string_val[0].decode()
    assert network.summary().splitlines()[0] in text


def test_a_run_that_goes_on_takes_back_what_it_trains_again(network, data, board):
    checkpoints = board.parent / "checkpoints"
    run = {"batch_size": 10, "epochs": 3}
    begun = network.clone()
    listeners = [dl.TensorBoardListener(board), dl.RunCheckpoint(checkpoints)]
    with pytest.raises(ZeroDivisionError):
        begun.fit(data, **run, listeners=[*listeners, Failing(7)])
    assert list(curves(board)["score"]) == list(range(1, 8))
    again = [dl.TensorBoardListener(board), dl.RunCheckpoint(checkpoints)]
    network.fit(data, **run, listeners=again, resume=checkpoints)
    found = curves(board)
    assert list(found["score"]) == list(range(1, 13))
    assert list(found["epoch_score"]) == [4, 8, 12]


@pytest.mark.parametrize("layer", ["first", "second"])
def test_pretraining_that_goes_on_draws_the_curves_of_one_run(data, tmp_path, layer):
    """From its last whole epoch, the first of either layer."""

    class FailingIn(Failing):
        def iteration_done(self, fit):
            if fit.layer == layer:
                super().iteration_done(fit)

    def pretrained(board, *listeners, **how):
        encoders = [
            dl.AutoEncoder(name=name, n_out=3, activation="tanh")
            for name in ("first", "second")
        ]
        dl.MultiLayerNetwork(
            dl.MultiLayerConfiguration(
                input=dl.FeedForward(data.features.shape[1]),
                layers=[*encoders, dl.Output(2)],
            )
        ).pretrain(
            data, listeners=[dl.TensorBoardListener(board), *listeners], **HOW, **how
        )
        return curves(board)["score"]

    checkpoints = tmp_path / "checkpoints"
    whole = pretrained(tmp_path / "whole")
    with pytest.raises(ZeroDivisionError):
        pretrained(tmp_path / "board", dl.RunCheckpoint(checkpoints), FailingIn(6))
    went_on = pretrained(tmp_path / "board", resume=checkpoints)
    assert list(went_on) == list(range(1, 17))
    assert went_on == pytest.approx(whole)


def test_a_further_fit_of_the_listener_goes_on(network, data, board):
    listener = dl.TensorBoardListener(board)
    for _ in range(2):
        network.fit(data, batch_size=10, listeners=listener)
    assert list(curves(board)["score"]) == list(range(1, 9))


def test_a_file_is_no_directory_of_events(network, data, tmp_path):
    (tmp_path / "board").write_text("somebody's")
    listener = dl.TensorBoardListener(tmp_path / "board")
    with pytest.raises(OutputExistsError, match="must be a directory, or nothing yet"):
        network.fit(data, batch_size=10, listeners=listener)
    assert network.iteration_count == 0


def test_the_events_of_another_run_are_not_mixed_up(network, data, board):
    network.fit(data, batch_size=10, listeners=dl.TensorBoardListener(board))
    with pytest.raises(OutputExistsError, match="no events of another run, got events"):
        network.fit(data, batch_size=20, listeners=dl.TensorBoardListener(board))
    (board / "mine").touch()
    listener = dl.TensorBoardListener(board, overwrite=True)
    network.fit(data, batch_size=20, listeners=listener)
    assert list(curves(board)["score"]) == [1, 2]
    assert (board / "mine").exists()


@pytest.mark.parametrize("whole_bytes", [1 << 20, 300])
def test_a_store_that_does_not_append(network, data, whole_bytes, monkeypatch):
    monkeypatch.setattr(event_file, "_WHOLE_BYTES", whole_bytes)
    monkeypatch.setattr("daskdl.training.boards.tensorboard._FLUSH_S", 0.0)
    url = f"memory://board-{whole_bytes}"
    network.fit(data, **HOW, listeners=dl.TensorBoardListener(url))
    files = files_in(url)
    assert (len(files) > 1) == (whole_bytes == 300)
    assert {events_of(one)[0].file_version for one in files} == {"brain.Event:2"}
    assert list(curves(url)["score"]) == list(range(1, 9))


def test_a_store_that_takes_nothing_costs_a_warning(
    network, data, board, monkeypatch, caplog
):
    monkeypatch.setattr("daskdl.training.boards.tensorboard._AFTER_ERROR_S", 0.0)
    flush = event_file.EventFile.flush
    calls = []

    def broken(self):
        calls.append(self)
        if len(calls) < 6:
            raise OutputError("s3://x: away.")
        flush(self)

    monkeypatch.setattr(event_file.EventFile, "flush", broken)
    network.fit(data, **HOW, listeners=dl.TensorBoardListener(board))
    assert network.epoch_count == 2
    told = [text for text in caplog.messages if "events wait" in text]
    assert told == [
        "TensorBoardListener: events wait, the training goes on: s3://x: away."
    ]
    assert list(curves(board)["score"]) == list(range(1, 9))


def test_a_full_disk_leaves_whole_records(board, monkeypatch):
    """TensorBoard reads no further than one that is cut off."""
    from tensorboardX.proto.event_pb2 import Event

    file = event_file.EventFile(str(board))
    file.add(Event(step=1))
    file.flush()
    append = event_file._append_all

    class Full:
        def __init__(self, stream):
            self._stream, self.fileno, self.truncate = (
                stream,
                *(
                    stream.fileno,
                    stream.truncate,
                ),
            )

        def write(self, data):
            if len(data) < 10:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return self._stream.write(data[:10])

    with monkeypatch.context() as patch:
        patch.setattr(
            event_file, "_append_all", lambda stream, data: append(Full(stream), data)
        )
        file.add(Event(step=2))
        with pytest.raises(OutputError, match="must be written, got No space left"):
            file.flush()
    steps = [event.step for content in files_in(board) for event in events_of(content)]
    assert steps == [0, 1]
    file.flush()
    steps = [event.step for content in files_in(board) for event in events_of(content)]
    assert steps == [0, 1, 2]


def test_what_waits_is_bounded(board, monkeypatch, caplog):
    from tensorboardX.proto.event_pb2 import Event

    monkeypatch.setattr(event_file, "MOST_BYTES", 100)
    file = event_file.EventFile(str(board))
    for step in range(1, 21):
        file.add(Event(step=step))
    file.flush()
    assert len(events_of(files_in(board)[0])) < 10
    assert "events are missing" in caplog.text


def test_a_missing_extra_is_named_before_the_fit(board, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX.record_writer", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'daskdl\[tensorboard\]'"):
        dl.TensorBoardListener(board)


@pytest.mark.parametrize(
    "options",
    [
        {"frequency": 0},
        {"histograms_every_n_epochs": 0},
        {"histograms_every_n_iterations": -1},
        {"overwrite": "yes"},
    ],
)
def test_options_are_checked(board, options):
    with pytest.raises(OptionError, match=next(iter(options))):
        dl.TensorBoardListener(board, **options)


def test_layers_that_are_pretrained_follow_one_another(data, board):
    auto = [dl.AutoEncoder(n_out=n, loss="mse") for n in (4, 3)]
    layers = [*auto, dl.Output(n_out=3)]
    conf = dl.MultiLayerConfiguration(input=dl.FeedForward(size=5), layers=layers)
    listener = dl.TensorBoardListener(board)
    dl.MultiLayerNetwork(conf).pretrain(data, batch_size=10, listeners=listener)
    assert list(curves(board)["score"]) == list(range(1, 9))
