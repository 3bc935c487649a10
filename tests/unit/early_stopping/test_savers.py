"""Where the best network is kept, also when a run goes on."""

import numpy as np
import pytest

import daskdl as dl
from daskdl.errors import OptionError, OutputExistsError
from tests.unit.early_stopping.conftest import GivenScores

SCORES = [5.0, 2.0, 3.0, 1.5, 4.0, 4.0, 4.0]


def patience():
    return dl.ScoreImprovementEpochTerminationCondition(2)


@pytest.mark.parametrize("ending", [".safetensors", ".zip"])
def test_files_hold_the_best_and_the_latest(fit, network, tmp_path, ending):
    saver = dl.FileModelSaver(tmp_path / "made", ending=ending)
    result, _ = fit(SCORES, patience(), model_saver=saver, save_last_model=True)
    best, latest = dl.load(saver.best_model_path), dl.load(saver.latest_model_path)
    np.testing.assert_array_equal(best.params, result.best_model.params)
    np.testing.assert_array_equal(latest.params, network.params)
    assert (best.epoch_count, latest.epoch_count) == (4, 6)
    assert saver.get_latest_model().epoch_count == 6


def test_the_latest_is_kept_only_if_it_is_wanted(fit, tmp_path):
    saver = dl.FileModelSaver(tmp_path)
    fit(SCORES, patience(), model_saver=saver)
    assert [path.name for path in tmp_path.iterdir()] == ["best_model.safetensors"]
    assert saver.get_latest_model() is None


def test_memory_holds_copies(fit, network):
    saver = dl.InMemoryModelSaver()
    result, _ = fit(SCORES, patience(), model_saver=saver, save_last_model=True)
    assert result.best_model is saver.get_best_model()
    assert (saver.get_best_model().epoch_count, network.epoch_count) == (4, 6)
    assert saver.get_latest_model() is not network
    np.testing.assert_array_equal(saver.get_latest_model().params, network.params)


def test_a_directory_that_cannot_be_made_is_told_at_first(fit, network, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(dl.OutputError, match="file/best: must be made"):
        fit(SCORES, model_saver=dl.FileModelSaver(tmp_path / "file" / "best"))
    assert network.iteration_count == 0


@pytest.mark.parametrize("name", ["best_model", "latest_model"])
def test_files_of_another_fit_are_not_replaced(fit, network, tmp_path, name):
    network.save(tmp_path / f"{name}.safetensors")
    with pytest.raises(OutputExistsError, match="must not exist yet"):
        fit(SCORES, model_saver=dl.FileModelSaver(tmp_path))
    assert network.iteration_count == 0
    saver = dl.FileModelSaver(tmp_path, overwrite=True)
    fit(SCORES, patience(), model_saver=saver)
    assert dl.load(saver.best_model_path).epoch_count == 4


@pytest.mark.parametrize("ending", [".onnx", "zip", 3])
def test_a_file_that_is_not_read_again_is_refused(tmp_path, ending):
    with pytest.raises(OptionError, match=r"ending must be one of '.safetensors'"):
        dl.FileModelSaver(tmp_path, ending=ending)


class Killed(Exception):
    """Ends a fit as a process that is killed."""


class Killing(dl.Listener):
    def __init__(self, epoch):
        self._epoch = epoch

    def on_epoch_start(self, fit):
        if fit.epoch == self._epoch:
            raise Killed


def savers(folder):
    return {"memory": dl.InMemoryModelSaver(), "file": dl.FileModelSaver(folder)}


@pytest.mark.parametrize("kind", ["memory", "file"])
@pytest.mark.parametrize("killed_in", [2, 4, 5, 6])
def test_a_run_that_goes_on_ends_as_it_would_have(
    network, examples, tmp_path, kind, killed_in
):
    data, how = examples(25), {"epochs": 20, "batch_size": 10}
    whole = dl.EarlyStopping(GivenScores(SCORES), patience())
    alone = network.clone().fit(data, **how, listeners=whole)

    def stopping(scores):
        saver = savers(tmp_path / "best")[kind]
        return dl.EarlyStopping(GivenScores(scores), patience(), model_saver=saver)

    run = tmp_path / "run"
    killed = [stopping(SCORES), dl.RunCheckpoint(run), Killing(killed_in)]
    with pytest.raises(Killed):
        network.clone().fit(data, **how, listeners=killed)
    again = stopping(SCORES[killed_in - 1 :])
    went_on = network.clone()
    went_on.fit(data, **how, listeners=[again, dl.RunCheckpoint(run)], resume=run)
    np.testing.assert_array_equal(went_on.params, alone.params)
    assert again.result.to_dict() == whole.result.to_dict()
    best, expected = again.result.best_model, whole.result.best_model
    np.testing.assert_array_equal(best.params, expected.params)
    np.testing.assert_array_equal(best.updater_state, expected.updater_state)
    assert best.iteration_count == expected.iteration_count


def test_a_checkpoint_holds_a_score_within_an_epoch(network, examples, tmp_path):
    """It is made in front of the checkpoint of the same standstill."""
    how = {"epochs": 2, "batch_size": 5}
    data, run = examples(25), tmp_path / "run"
    first = dl.EarlyStopping(GivenScores([3, 2]), evaluate_every_n_iterations=2)
    checkpoint = dl.RunCheckpoint(run, every_n_iterations=2)

    class KillsAt(dl.Listener):
        def iteration_done(self, fit):
            if fit.iteration == 5:
                raise Killed

    with pytest.raises(Killed):
        network.clone().fit(data, **how, listeners=[checkpoint, first, KillsAt()])
    again = dl.EarlyStopping(GivenScores([4, 5, 6, 7]), evaluate_every_n_iterations=2)
    went_on = network.clone()
    went_on.fit(data, **how, listeners=[again], resume=run)
    assert again.result.score_vs_iteration == {2: 3, 4: 2, 5: 4, 6: 5, 8: 6, 10: 7}
    assert again.result.best_model.iteration_count == 4


def test_evaluations_within_epochs_write_no_checkpoints(network, examples, tmp_path):
    run = tmp_path / "run"
    stopping = dl.EarlyStopping(GivenScores([1] * 9), evaluate_every_n_iterations=1)
    listeners = [stopping, dl.RunCheckpoint(run, keep_last=9, at_start=False)]
    network.fit(examples(25), epochs=2, batch_size=10, listeners=listeners)
    assert len(list(run.iterdir())) == 2


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda: dl.EarlyStopping(GivenScores([3])), "termination_conditions must be"),
        (
            lambda: dl.EarlyStopping(
                GivenScores([3]), dl.BestScoreEpochTerminationCondition(1.0)
            ),
            "termination_conditions must be",
        ),
        (
            lambda: dl.EarlyStopping(([[0.0] * 5], [0]), patience()),
            "score_calculator must be .* GivenScores, got DataSetLossCalculator",
        ),
    ],
)
def test_a_run_goes_on_with_what_it_began_with(
    network, examples, tmp_path, other, message
):
    """Scores of two kinds cannot be compared."""
    data, how, run = examples(25), {"batch_size": 10}, tmp_path / "run"
    first = dl.EarlyStopping(GivenScores([3]), patience())
    network.clone().fit(data, **how, listeners=[first, dl.RunCheckpoint(run)])
    with pytest.raises(OptionError, match=message):
        network.fit(data, epochs=2, **how, listeners=other(), resume=run)
