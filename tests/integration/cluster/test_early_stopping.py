"""Early stopping on a cluster: all stop together, and the best network comes back."""

import os
import signal

import numpy as np
import pytest

import daskdl as dl
from daskdl.cluster import driver
from daskdl.cluster.frontend import DaskMultiLayer
from daskdl.cluster.masters.options import ParameterAveragingTrainingMaster
from daskdl.errors import ShapeError
from daskdl.training.local import fit

HOW = {"batch_size": 16, "shuffle": True}
FEW, HELD_BACK, MANY = 200, 400, 12_000


def patience():
    return dl.ScoreImprovementEpochTerminationCondition(3)


class Killing(dl.DataSetLossCalculator):
    """Kills a worker while the second epoch is evaluated."""

    def __init__(self, client, data):
        super().__init__(data)
        self._client = client
        self.killed = None

    def _evaluations(self, network):
        # The pass has begun: its tasks go out next.
        if network.epoch_count == 2 and self.killed is None:
            pids = self._client.run(os.getpid)
            self.killed = min(pids)
            os.kill(pids[self.killed], signal.SIGKILL)
        return super()._evaluations(network)


@pytest.fixture(scope="module", params=[1, 2, 4])
def stopped(request, module_cluster_of, blobs, network):
    """A front end and the listener of its fit, by number of workers."""
    client = module_cluster_of(request.param)
    stopping = dl.EarlyStopping(blobs(HELD_BACK, seed=1), patience())
    front = DaskMultiLayer(client, network(updater=dl.Adam(learning_rate=0.05)))
    front.fit(blobs(FEW), epochs=100, **HOW, listeners=stopping)
    return front, stopping


def test_training_ends_behind_the_best_epoch(stopped):
    front, stopping = stopped
    result = stopping.result
    assert result.termination_details == repr(patience())
    assert 3 < result.total_epochs < 100
    assert result.total_epochs == len(front.last_fit.epochs)
    assert front.network.epoch_count == result.total_epochs


def test_the_best_network_comes_back(stopped, blobs):
    front, stopping = stopped
    result = stopping.result
    best = result.best_model
    assert result.best_model_score == min(result.score_vs_epoch.values())
    assert best.epoch_count == result.best_model_epoch
    score = best.score_examples(blobs(HELD_BACK, seed=1)).mean()
    assert score == pytest.approx(result.best_model_score, rel=1e-5)
    assert front.score(blobs(HELD_BACK, seed=1)) > result.best_model_score


@pytest.mark.parametrize("stopped", [1], indirect=True)
def test_one_worker_stops_as_one_process_does(stopped, blobs, network):
    front, stopping = stopped
    alone = dl.EarlyStopping(blobs(HELD_BACK, seed=1), patience())
    here = network(updater=dl.Adam(learning_rate=0.05))
    fit(here, blobs(FEW), epochs=100, **HOW, listeners=alone)
    np.testing.assert_array_equal(here.params, front.network.params)
    found, expected = stopping.result.best_model, alone.result.best_model
    np.testing.assert_array_equal(found.params, expected.params)
    assert stopping.result.score_vs_epoch == pytest.approx(alone.result.score_vs_epoch)


@pytest.mark.parametrize("n_workers", [2, 4])
def test_a_worker_that_is_killed_in_the_validation_changes_no_score(
    cluster_of, blobs, network, n_workers
):
    client = cluster_of(n_workers)
    held_back = blobs(HELD_BACK, seed=1)
    parts = [held_back.slice(at, at + 20) for at in range(0, HELD_BACK, 20)]
    calculator = Killing(client, parts)
    stopping = dl.EarlyStopping(calculator, patience(), save_last_model=True)

    class Second(dl.Listener):
        def on_epoch_end(self, fit):
            if fit.epoch == 2:
                self.network = fit.network.clone()

    second = Second()
    front = DaskMultiLayer(client, network(updater=dl.Adam(learning_rate=0.05)))
    front.fit(blobs(FEW), epochs=100, **HOW, listeners=[second, stopping])
    assert front.last_fit.lost_workers == (calculator.killed,)
    assert front.last_fit.repeated_examples == 0
    score = second.network.score_examples(held_back).mean()
    assert stopping.result.score_vs_epoch[2] == pytest.approx(score, rel=1e-5)
    assert stopping.result.termination_details == repr(patience())


@pytest.fixture(scope="module")
def pair(module_cluster_of):
    return module_cluster_of(2)


@pytest.fixture
def standing_at_once(monkeypatch):
    """However little of an epoch is left."""
    monkeypatch.setattr(driver, "WORTH_STANDING_S", 0.0)


def averaging(client, network):
    master = ParameterAveragingTrainingMaster(averaging_frequency=4)
    return DaskMultiLayer(client, network, master)


@pytest.mark.usefixtures("standing_at_once")
def test_scores_within_epochs_change_nothing_of_the_training(pair, blobs, network):
    stopping = dl.EarlyStopping(
        blobs(HELD_BACK, seed=1), evaluate_every_n_iterations=200
    )
    how = {"epochs": 2, "batch_size": 8}
    # Epochs that last: workers tell what they trained a few times a second.
    data = blobs(3 * MANY)
    fixed = ParameterAveragingTrainingMaster(averaging_frequency=4, dealing="fixed")
    front = DaskMultiLayer(pair, network(), fixed)
    front.fit(data, **how, listeners=stopping)
    within = stopping.result.score_vs_iteration.keys() - {4500, 9000}
    assert within
    alone = DaskMultiLayer(pair, network(), fixed)
    alone.fit(data, **how)
    np.testing.assert_array_equal(front.network.params, alone.network.params)


class AfterIterations(dl.IterationTerminationCondition):
    """Holds from when it is first asked."""

    def terminate(self, last_score):
        return True


@pytest.mark.usefixtures("standing_at_once")
@pytest.mark.parametrize("front_end", [averaging, DaskMultiLayer])
def test_a_condition_of_iterations_ends_within_an_epoch(
    pair, blobs, network, front_end
):
    stopping = dl.EarlyStopping(blobs(HELD_BACK, seed=1), AfterIterations())
    front = front_end(pair, network())
    front.fit(blobs(3 * MANY), epochs=3, batch_size=8, listeners=stopping)
    result, report = stopping.result, front.last_fit
    reason = dl.TerminationReason.ITERATION_TERMINATION_CONDITION
    assert result.termination_reason is reason
    assert (result.total_epochs, front.network.epoch_count) == (0, 0)
    assert 0 < report.examples < 3 * MANY
    assert np.isfinite(front.network.params).all()


def test_a_network_that_diverges_leaves_the_best_one(pair, blobs, network):
    # Falls at first, and then steps grow beyond all numbers.
    rate = dl.MapSchedule(values={0: 0.05, 2: 1e38}, schedule_type="epoch")
    front = averaging(pair, network(updater=dl.Sgd(learning_rate=rate)))
    condition = dl.InvalidScoreIterationTerminationCondition()
    stopping = dl.EarlyStopping(blobs(HELD_BACK, seed=1), condition)
    front.fit(blobs(FEW), epochs=6, batch_size=16, listeners=stopping)
    assert stopping.result.termination_details == repr(condition)
    assert (stopping.result.total_epochs, stopping.result.best_model_epoch) == (2, 2)
    assert np.isfinite(stopping.result.best_model.params).all()
    assert np.isfinite(front.network.params).all()


def test_a_killed_run_goes_on_with_its_best_network(pair, blobs, network, tmp_path):
    class Killed(Exception):
        pass

    class KillsIn(dl.Listener):
        def on_epoch_start(self, fit):
            if fit.epoch == 4:
                raise Killed

    def stopping():
        return dl.EarlyStopping(blobs(HELD_BACK, seed=1), patience())

    first = averaging(pair, network(updater=dl.Adam(learning_rate=0.05)))
    how = {"epochs": 100, **HOW}
    listeners = [stopping(), dl.RunCheckpoint(tmp_path), KillsIn()]
    with pytest.raises(Killed):
        first.fit(blobs(FEW), **how, listeners=listeners)
    again = stopping()
    second = averaging(pair, network(updater=dl.Adam(learning_rate=0.05)))
    second.fit(blobs(FEW), **how, listeners=again, resume=tmp_path)
    whole = stopping()
    third = averaging(pair, network(updater=dl.Adam(learning_rate=0.05)))
    third.fit(blobs(FEW), **how, listeners=whole)
    assert again.result.score_vs_epoch == pytest.approx(whole.result.score_vs_epoch)
    found, expected = again.result.best_model, whole.result.best_model
    np.testing.assert_allclose(found.params, expected.params, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("listener", [dl.EarlyStopping, dl.EvaluativeListener])
@pytest.mark.parametrize("is_listed", [False, True])
def test_bad_validation_data_are_refused_before_a_minibatch(
    module_cluster_of, blobs, network, listener, is_listed
):
    good = blobs(HELD_BACK, seed=1)
    bad = dl.DataSet(good.features[:, 1:], good.labels)
    front = DaskMultiLayer(module_cluster_of(2), network())
    listening = listener([good, bad] if is_listed else bad)
    with pytest.raises(ShapeError, match="features must have shape"):
        front.fit(blobs(FEW), epochs=2, **HOW, listeners=listening)
    assert front.network.iteration_count == 0
    assert front.last_fit.examples == 0


@pytest.mark.parametrize("bad", [7, iter([]), None])
def test_no_data_are_refused_in_the_words_of_the_cluster(
    module_cluster_of, blobs, network, bad
):
    front = DaskMultiLayer(module_cluster_of(2), network())
    with pytest.raises(dl.OptionError) as of_fit:
        front.fit(bad, **HOW)
    with pytest.raises(dl.OptionError) as of_listener:
        front.fit(blobs(FEW), **HOW, listeners=dl.EarlyStopping(bad))
    assert str(of_listener.value) == f"validation: {of_fit.value}"
    assert front.network.iteration_count == 0
