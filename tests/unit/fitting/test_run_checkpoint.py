"""Checkpoints of runs: what goes on from them ends as what was never stopped."""

import json
import os

import numpy as np
import pyarrow as pa
import pytest

import daskdl as dl
from daskdl.errors import (
    FormatError,
    OptionError,
    OutputError,
    OutputExistsError,
    ShapeError,
    SourceNotFoundError,
)
from daskdl.formats.checkpoint import load_run
from daskdl.nn.fitting.checkpoint_directory import checkpoints_in
from daskdl.nn.fitting.events import FitStarted
from daskdl.nn.fitting.fit import Fit
from daskdl.nn.fitting.run_state import RunPosition, RunState

HOW = {"epochs": 3, "batch_size": 10, "shuffle": True}


class Dying(dl.Listener):
    """Ends the process, as far as the fit can tell, at a minibatch."""

    def __init__(self, iteration):
        self._iteration = iteration

    def iteration_done(self, fit):
        if fit.iteration == self._iteration:
            raise KeyboardInterrupt


class BestScore(dl.Listener):
    """Counts epochs, and stops once that many were no better."""

    def __init__(self, patience=100):
        self.best, self.worse, self._patience = float("inf"), 0, patience

    def on_epoch_end(self, fit):
        self.worse = 0 if fit.score < self.best else self.worse + 1
        self.best = min(self.best, fit.score)
        if self.worse == self._patience:
            fit.stop()

    def kept_state(self):
        return {"best": self.best, "worse": self.worse}

    def restore_state(self, state):
        self.best, self.worse = state["best"], state["worse"]


@pytest.fixture
def data(examples):
    return examples(45)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "checkpoints"


def series(rng):
    features = rng.standard_normal((45, 3, 8)).astype(np.float32)
    return dl.DataSet(features, np.cumsum(features, axis=2)[:, :2])


RECURRENT = {
    "input": dl.Recurrent(3),
    "layers": [dl.LSTM(4), dl.RnnOutput(2, loss="mse", activation="identity")],
    "updater": "adam",
}
DENSE = {"input": dl.FeedForward(5), "seed": 4}
LAYERS = [dl.Dense(6, activation="tanh"), dl.Output(3)]
NETWORKS = {
    "adam": {**DENSE, "layers": LAYERS, "updater": "adam"},
    "dropout": {
        **DENSE,
        "layers": [dl.Dense(6, keep_probability=0.5), dl.Output(3)],
        "updater": "nesterovs",
    },
    "weight noise": {
        **DENSE,
        "layers": [
            dl.Dense(6, weight_noise=dl.DropConnect(weight_retain_probability=0.7)),
            dl.Output(3),
        ],
    },
    "batch normalization": {
        **DENSE,
        "layers": [dl.Dense(6), dl.BatchNormalization(), dl.Output(3)],
    },
    "schedule by epochs": {
        **DENSE,
        "layers": LAYERS,
        "updater": dl.Sgd(
            dl.StepSchedule(
                schedule_type="epoch", initial_value=0.5, decay_rate=0.5, step=1
            )
        ),
    },
    "schedule by iterations": {
        **DENSE,
        "layers": LAYERS,
        "updater": dl.Sgd(
            dl.ExponentialSchedule(
                schedule_type="iteration", initial_value=0.5, gamma=0.9
            )
        ),
    },
    "truncated backpropagation": {
        **RECURRENT,
        "backprop_type": "truncated_bptt",
        "tbptt_fwd_length": 3,
    },
}


@pytest.mark.parametrize("dies_at", [1, 4, 5, 7, 12])
@pytest.mark.parametrize("kind", NETWORKS)
def test_a_run_that_goes_on_ends_as_one_that_was_never_stopped(
    kind, dies_at, data, rng, folder
):
    given = series(rng) if kind.startswith("truncated") else data

    def network():
        return dl.MultiLayerNetwork(dl.MultiLayerConfiguration(**NETWORKS[kind]))

    def checkpoint():
        return dl.RunCheckpoint(folder, every_n_iterations=3)

    whole = network().fit(given, **HOW)
    with pytest.raises(KeyboardInterrupt):
        network().fit(given, **HOW, listeners=[checkpoint(), Dying(dies_at)])
    went_on = network().fit(given, **HOW, resume=folder, listeners=checkpoint())
    np.testing.assert_array_equal(went_on.params, whole.params)
    np.testing.assert_array_equal(went_on.updater_state, whole.updater_state)
    assert went_on.iteration_count == whole.iteration_count
    assert went_on.epoch_count == 3
    assert went_on.score == whole.score


def stopped(network, data, folder, at=7, **how):
    listeners = [dl.RunCheckpoint(folder, every_n_iterations=3), Dying(at)]
    with pytest.raises(KeyboardInterrupt):
        network.fit(data, **{**HOW, **how}, listeners=listeners)


def completed(network, data, folder):
    network.fit(data, **HOW, listeners=dl.RunCheckpoint(folder))


BEGUN = pytest.mark.parametrize("begun", [stopped, completed])


def test_the_report_goes_on(network, data, folder):
    whole = network.clone().fit(data, **HOW)
    stopped(network.clone(), data, folder)
    went_on = network.fit(data, **HOW, resume=folder)
    told = [(one.epoch, one.examples, one.score) for one in went_on.last_fit.epochs]
    assert told == [(e.epoch, e.examples, e.score) for e in whole.last_fit.epochs]
    assert went_on.last_fit.examples == 3 * 45


def test_stored_data_and_their_normalizer_go_on(network, data, folder):

    table = pa.table(
        {**{f"f{i}": data.features[:, i] for i in range(5)}, "label": data.labels}
    )
    how = {
        "features": [f"f{i}" for i in range(5)],
        "label": "label",
        "normalizer": dl.NormalizerStandardize(),
    }
    whole = network.clone().fit(table, **HOW, **how)
    stopped(network.clone(), table, folder, **how)
    went_on = network.fit(table, **HOW, resume=folder, **{**how, "normalizer": "own"})
    np.testing.assert_array_equal(went_on.params, whole.params)
    assert went_on.normalizer.to_dict() == whole.normalizer.to_dict()


def test_a_listener_gets_back_what_it_kept(network, data, folder):
    whole, keeping, went_on = BestScore(), BestScore(), BestScore()
    network.clone().fit(data, **HOW, listeners=whole)
    # The checkpoint first: it is written behind what others do all the same.
    listeners = [dl.RunCheckpoint(folder), keeping, Dying(12)]
    with pytest.raises(KeyboardInterrupt):
        network.clone().fit(data, **HOW, listeners=listeners)
    network.fit(
        data, **HOW, resume=folder, listeners=[dl.RunCheckpoint(folder), went_on]
    )
    assert went_on.kept_state() == whole.kept_state()


def test_an_epoch_whose_end_broke_off_is_trained_again(network, data, folder):
    """Else listeners that it did not come to would never hear of its end."""

    class Breaking(dl.Listener):
        def on_epoch_end(self, fit):
            if fit.epoch == 2:
                raise KeyboardInterrupt

    class Hearing(dl.Listener):
        def __init__(self):
            self.heard = []

        def on_epoch_end(self, fit):
            self.heard.append(fit.epoch)

        def kept_state(self):
            return {"heard": self.heard}

        def restore_state(self, state):
            self.heard = state["heard"]

    broken = [dl.RunCheckpoint(folder), Breaking(), Hearing()]
    with pytest.raises(KeyboardInterrupt):
        network.clone().fit(data, **HOW, listeners=broken)
    hearing = Hearing()
    listeners = [dl.RunCheckpoint(folder), hearing]
    network.fit(data, **HOW, resume=folder, listeners=listeners)
    assert hearing.heard == [1, 2, 3]


def test_a_run_that_a_listener_ended_is_complete(network, data, folder, caplog):
    listeners = [dl.RunCheckpoint(folder), BestScore(patience=1)]
    listeners[1].best = -1.0
    network.clone().fit(data, **HOW, listeners=listeners)
    went_on = network.fit(data, **HOW, resume=folder)
    assert went_on.epoch_count == 1
    assert "a listener ended it after 1 epochs" in caplog.text


def test_of_a_complete_run_nothing_is_trained(network, data, folder, caplog):
    whole = network.clone().fit(data, **HOW, listeners=dl.RunCheckpoint(folder))
    went_on = network.fit(data, **HOW, resume=folder)
    assert went_on.last_fit.examples == 3 * 45
    np.testing.assert_array_equal(went_on.params, whole.params)
    assert "the run is complete, 3 of 3 epochs: nothing is trained" in caplog.text


def test_fewer_epochs_than_were_trained_are_refused(network, data, folder):
    network.clone().fit(data, **HOW, listeners=dl.RunCheckpoint(folder))
    with pytest.raises(OptionError, match="epochs must be at least 3, which"):
        network.fit(data, **{**HOW, "epochs": 2}, resume=folder)


def test_more_epochs_are_the_whole_run(network, data, folder):
    whole = network.clone().fit(data, **{**HOW, "epochs": 5})
    network.clone().fit(data, **HOW, listeners=dl.RunCheckpoint(folder))
    went_on = network.fit(data, **{**HOW, "epochs": 5}, resume=folder)
    np.testing.assert_array_equal(went_on.params, whole.params)


def test_a_network_that_was_trained_before_counts_on(network, data, folder):
    """Schedules follow its own count of epochs, the run counts from its beginning."""
    network.fit(data, **HOW)
    whole = network.clone().fit(data, **HOW)
    stopped(network.clone(), data, folder)
    went_on = network.fit(data, **HOW, resume=folder)
    np.testing.assert_array_equal(went_on.params, whole.params)
    assert went_on.epoch_count == 6


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def numbered(*numbers):
    return [f"checkpoint-{number:06}.safetensors" for number in numbers]


@pytest.mark.parametrize("keep_last", [1, 2])
def test_a_position_has_one_checkpoint(network, folder, keep_last):
    """Gradient sharing stands at the end of the last epoch twice."""
    checkpoint = dl.RunCheckpoint(folder, keep_last=keep_last)
    fit = Fit([checkpoint], 2, lambda: network)
    fit.begin(FitStarted(epochs=2))
    for epoch, iterations in [(1, 6), (2, 12), (2, 14)]:
        network.iteration_count = iterations
        fit.stand_still(RunPosition(epoch=epoch))
    kept = [dl.load(str(folder / name)).iteration_count for name in names(folder)]
    assert kept == [6, 14][-keep_last:]


def test_one_that_is_replaced_stays_until_then(network, folder, monkeypatch):
    def full(*args, **options):
        raise OutputError("full")

    fit = Fit([dl.RunCheckpoint(folder, keep_last=1)], 2, lambda: network)
    fit.begin(FitStarted(epochs=2))
    fit.stand_still(RunPosition(epoch=2))
    before = names(folder)
    monkeypatch.setattr("daskdl.formats.checkpoint.write_output", full)
    fit.stand_still(RunPosition(epoch=2))
    assert len(fit.report.failed_checkpoints) == 1
    assert names(folder) == before


@pytest.mark.parametrize("keep_last", [1, 2, 3])
def test_the_last_ones_are_kept(network, data, folder, keep_last):
    checkpoint = dl.RunCheckpoint(folder, keep_last=keep_last)
    network.fit(data, **HOW, listeners=checkpoint)
    assert names(folder) == numbered(*range(5 - keep_last, 5))


def test_epochs_may_be_left_out_but_for_the_last(network, data, folder):
    checkpoint = dl.RunCheckpoint(folder, every_n_epochs=2, at_start=False)
    network.fit(data, **HOW, listeners=checkpoint)
    epochs = [dl.load(str(folder / name)).epoch_count for name in names(folder)]
    assert epochs == [2, 3]


def test_one_is_written_when_its_time_has_come(network, data, folder):
    checkpoint = dl.RunCheckpoint(folder, every_minutes=1e-9, keep_last=100)
    network.fit(data, **{**HOW, "epochs": 1}, listeners=checkpoint)
    assert len(names(folder)) == 1 + 5 + 1


def damage(path):
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


def test_the_one_before_a_damaged_one_is_taken(network, data, folder, caplog):
    whole = network.clone().fit(data, **HOW)
    stopped(network.clone(), data, folder)
    *_, before, newest = names(folder)
    damage(folder / newest)
    checkpoint = dl.RunCheckpoint(folder)
    went_on = network.fit(data, **HOW, resume=folder, listeners=checkpoint)
    np.testing.assert_array_equal(went_on.params, whole.params)
    assert "The file is damaged" in caplog.text
    assert "The checkpoint before it is taken" in caplog.text
    assert f"it goes on from {folder}/{before}" in caplog.text


def test_half_a_file_is_damaged(network, data, folder):
    stopped(network.clone(), data, folder)
    newest = folder / names(folder)[-1]
    newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])
    went_on = network.fit(data, **HOW, resume=folder)
    assert went_on.epoch_count == 3


def test_damaged_ones_alone_are_refused(network, data, folder):
    stopped(network.clone(), data, folder)
    for name in names(folder):
        damage(folder / name)
    with pytest.raises(FormatError, match=r"a checkpoint that is whole, got 3 damaged"):
        network.fit(data, **HOW, resume=folder)


def test_a_damaged_one_goes_as_the_run_goes_on(network, data, folder):
    """Else it would be taken for the newest again, and count among the last."""
    stopped(network.clone(), data, folder)
    damaged = names(folder)[-1]
    damage(folder / damaged)
    checkpoint = dl.RunCheckpoint(folder, keep_last=100)
    network.fit(data, **HOW, resume=folder, listeners=checkpoint)
    assert damaged not in names(folder)


def test_what_a_killed_process_did_not_complete_goes(network, data, folder):
    folder.mkdir()
    left = folder / f".checkpoint-000001.safetensors.{'0a' * 16}"
    left.touch()
    (folder / "notes.txt").touch()
    network.fit(data, **HOW, listeners=dl.RunCheckpoint(folder, keep_last=1))
    assert names(folder) == [*numbered(4), "notes.txt"]


def test_the_checkpoints_of_another_run_are_refused(network, data, folder):
    network.fit(data, **HOW, listeners=dl.RunCheckpoint(folder))
    with pytest.raises(
        OutputExistsError, match=r"checkpoint of another run, got check"
    ):
        network.fit(data, **HOW, listeners=dl.RunCheckpoint(folder))


def test_the_checkpoints_of_another_run_are_overwritten(network, data, folder):
    network.fit(data, **HOW, listeners=dl.RunCheckpoint(folder))
    again = dl.RunCheckpoint(folder, overwrite=True, keep_last=100)
    network.fit(data, **HOW, listeners=again)
    assert names(folder) == numbered(5, 6, 7, 8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"batch_size": 9},
            r"resume must go on with the batch_size of the run, 10, got 9",
        ),
        ({"shuffle": False}, r"the shuffle of the run, True, got False"),
        (
            {"normalizer": dl.NormalizerStandardize()},
            r"the normalizer of the run, None",
        ),
    ],
)
@BEGUN
def test_other_arguments_are_refused(network, data, folder, begun, change, message):
    begun(network.clone(), data, folder)
    before = network.params.copy()
    with pytest.raises(OptionError, match=message):
        network.fit(data, **{**HOW, **change}, resume=folder)
    np.testing.assert_array_equal(network.params, before)


@BEGUN
def test_other_data_are_refused(network, data, examples, folder, begun):
    begun(network.clone(), data, folder)
    with pytest.raises(OptionError, match=r"the data of the run, 45 examples, got 44"):
        network.fit(examples(44), **HOW, resume=folder)


@BEGUN
def test_data_of_another_width_are_refused(network, data, folder, begun):
    begun(network.clone(), data, folder)
    narrow = dl.DataSet(data.features[:, 1:], data.labels)
    with pytest.raises(ShapeError, match=r"got \(45, 4\)"):
        network.fit(narrow, **HOW, resume=folder)


@BEGUN
def test_data_in_other_partitions_are_refused(network, data, folder, begun):
    parts = [data.slice(0, 20), data.slice(20, 45)]
    begun(network.clone(), parts, folder)
    others = [data.slice(0, 25), data.slice(25, 45)]
    with pytest.raises(OptionError, match=r"DataSet 0 with 20 rows, got DataSet 0 w"):
        network.fit(others, **HOW, resume=folder)


def test_another_network_is_refused(network, data, folder):
    stopped(network, data, folder)
    conf = network.conf.replaced(seed=12)
    with pytest.raises(OptionError, match=r"whose configuration.seed is 11, got 12"):
        dl.MultiLayerNetwork(conf).fit(data, **HOW, resume=folder)


def test_another_normalizer_is_refused(network, data, folder):
    stopped(network.clone(), data, folder, normalizer=dl.NormalizerStandardize())
    with pytest.raises(OptionError, match=r"normalizer of the run, <NormalizerStanda"):
        network.fit(data, **HOW, resume=folder, normalizer=dl.NormalizerMinMaxScaler())


def test_nothing_to_go_on_from_is_refused(network, data, folder):
    with pytest.raises(
        SourceNotFoundError, match=r"resume must be .*, got nothing the"
    ):
        network.fit(data, **HOW, resume=folder)


def test_a_network_alone_is_refused(network, data, tmp_path):
    network.save(tmp_path / "net.safetensors")
    with pytest.raises(
        FormatError, match=r"a checkpoint of a run .*, got a network al"
    ):
        network.fit(data, **HOW, resume=tmp_path / "net.safetensors")


def test_a_network_that_searches_lines_is_refused(network, data, folder):
    conf = network.conf.replaced(optimization_algo="lbfgs")
    with pytest.raises(OptionError, match=r"got one that is by 'lbfgs', whose memory"):
        dl.MultiLayerNetwork(conf).fit(data, **HOW, listeners=dl.RunCheckpoint(folder))


def test_a_place_that_takes_none_is_found_out_at_the_start(network, data, tmp_path):
    (tmp_path / "file").touch()
    checkpoint = dl.RunCheckpoint(tmp_path / "file" / "below")
    with pytest.raises(OutputError, match=r"must be made for checkpoints"):
        network.fit(data, **HOW, listeners=checkpoint)
    assert network.iteration_count == 0


def test_a_place_that_takes_no_more_is_a_warning(network, data, folder, monkeypatch):
    def full(*args, **options):
        raise OutputError("full")

    class Filling(dl.Listener):
        def on_epoch_start(self, fit):
            monkeypatch.setattr("daskdl.formats.checkpoint.write_output", full)

    network.fit(data, **HOW, listeners=[dl.RunCheckpoint(folder), Filling()])
    assert [one.epoch for one in network.last_fit.failed_checkpoints] == [1, 2, 3]
    assert names(folder) == numbered(1)


def test_other_stores_will_do(network, data):
    import fsspec

    store = fsspec.filesystem("memory")
    whole = network.clone().fit(data, **HOW)
    stopped(network.clone(), data, "memory://run")
    went_on = network.fit(data, **HOW, resume="memory://run")
    np.testing.assert_array_equal(went_on.params, whole.params)
    assert len(checkpoints_in(store, "/run")) == 3
    store.rm("/run", recursive=True)


def test_a_checkpoint_is_a_network(network, data, folder):
    network.fit(data, **HOW, listeners=dl.RunCheckpoint(folder))
    loaded = dl.load(os.fspath(folder / names(folder)[-1]))
    np.testing.assert_array_equal(loaded.params, network.params)


def test_a_state_comes_back_as_it_was(network, data, folder):
    stopped(network, data, folder, normalizer=dl.NormalizerStandardize())
    _, values, arrays = load_run(str(folder / names(folder)[-1]))
    state = RunState.from_dict(values, arrays)
    assert (state.position.epoch, state.position.positions) == (1, (1,))
    assert (state.iteration, state.examples) == (6, 10)
    # As text: NaN is not itself.
    assert json.dumps(state.to_dict()) == json.dumps(values)


def test_a_state_of_a_newer_daskdl_is_refused():
    with pytest.raises(FormatError, match=r"A newer file needs a newer daskdl"):
        RunState.from_dict({"plan": {}}, ())


@pytest.mark.parametrize(
    "option", ["keep_last", "every_n_epochs", "every_minutes", "every_n_iterations"]
)
def test_options_that_mean_nothing_are_refused(tmp_path, option):
    with pytest.raises(OptionError, match=f"RunCheckpoint: {option} must be"):
        dl.RunCheckpoint(tmp_path, **{option: 0})


class KeepsArrays(dl.Listener):
    """Keeps arrays beside other values, and hears of a run that is complete."""

    def __init__(self, value):
        self.value, self.told = value, []

    def kept_state(self):
        return {"array": np.full((2, 3), self.value), "value": self.value}

    def restore_state(self, state):
        self.told.append((state["array"].tolist(), state["value"]))

    def on_fit_start(self, fit):
        self.told.append("start")

    def on_complete_run(self, fit):
        self.told.append(("complete", fit.epoch))


def test_listeners_keep_arrays_of_their_own(network, data, folder):
    first = [KeepsArrays(1.5), KeepsArrays(2.5), dl.RunCheckpoint(folder)]
    how = {**HOW, "epochs": 2}
    network.clone().fit(data, **how, listeners=first)
    again = [KeepsArrays(0.0), KeepsArrays(0.0)]
    network.clone().fit(data, **{**how, "epochs": 3}, listeners=again, resume=folder)
    assert [one.told for one in again] == [
        [([[value] * 3] * 2, value), "start"] for value in (1.5, 2.5)
    ]


def test_listeners_hear_that_a_run_is_complete(network, data, folder):
    first = [KeepsArrays(1.5), dl.RunCheckpoint(folder)]
    how = {**HOW, "epochs": 2}
    network.clone().fit(data, **how, listeners=first)
    again = KeepsArrays(0.0)
    network.clone().fit(data, **how, listeners=again, resume=folder)
    assert again.told == [([[1.5] * 3] * 2, 1.5), ("complete", 2)]
