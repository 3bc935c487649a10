"""Standstills amid an epoch in a simulated cluster, and runs that go on from there."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from daskdl.cluster import standstill_rule
from daskdl.cluster.kept_network import KeptNetwork
from daskdl.cluster.masters.options import (
    AllReduceTrainingMaster,
    BlockMomentumTrainingMaster,
    ParameterAveragingTrainingMaster,
    SharedTrainingMaster,
)
from daskdl.encoding.algorithms import FixedThresholdAlgorithm
from daskdl.encoding.residual import NoOpResidualPostProcessor
from daskdl.nn.fitting.listener import Listener
from daskdl.nn.fitting.run_checkpoint import Resumed
from daskdl.nn.fitting.run_state import RunState
from daskdl.training.state import load_state, state_of
from tests.unit.cluster.simulation_cluster import Fate, Worker, numbered_data, simulate
from tests.unit.cluster.tally_network import TallyNetwork
from tests.unit.cluster.test_simulation import (
    assert_fit_is_right,
    assert_phases_end_equal,
    held_by_survivors,
)

SEEDS = range(2)
EPOCHS = 2
QUICK = {"worker_prefetch_num_batches": 0}
IN_STEP = {
    "averaging": ParameterAveragingTrainingMaster(
        averaging_frequency=3, dealing="fixed", **QUICK
    ),
    "averaging alone": ParameterAveragingTrainingMaster(
        averaging_frequency=2, dealing="fixed", save_updater=False, **QUICK
    ),
    "block momentum": BlockMomentumTrainingMaster(
        averaging_frequency=3, dealing="fixed", **QUICK
    ),
    "all_reduce": AllReduceTrainingMaster(**QUICK),
}
SHARING = SharedTrainingMaster(
    threshold_algorithm=FixedThresholdAlgorithm(threshold=1.5),
    residual_post_processor=NoOpResidualPostProcessor(),
    # Else short phases end with the whole residual.
    warm_up=1,
    **QUICK,
)
OVERLAPPING = {
    f"overlapping {dealing}": ParameterAveragingTrainingMaster(
        averaging_frequency=3, overlap=True, dealing=dealing, **QUICK
    )
    for dealing in ("balanced", "fixed")
}
MASTERS = {**IN_STEP, **OVERLAPPING, "sharing": SHARING}


class Killing(Exception):
    """Ends a fit as a process that is killed."""


class Standing(Listener):
    """Wants a standstill at any time, and keeps what a checkpoint would hold.

    Ends the fit behind so many within an epoch, if it is told to.
    """

    def __init__(self, ends_at=None):
        self.positions, self.kept = [], None
        self._ends_at = ends_at

    def iteration_done(self, fit):
        fit.want_checkpoint()

    def on_standstill(self, fit):
        if not fit.position.positions:
            return
        self.positions.append(fit.position)
        run = fit.run_state()
        values = json.loads(json.dumps(run.to_dict()))
        self.kept = state_of(fit.network), RunState.from_dict(values, run.arrays)
        if len(self.positions) == self._ends_at:
            raise Killing


def workers(number, name="w", **how):
    return [Worker(f"{name}{n}", minibatch_s=0.03, **how) for n in range(number)]


def data_of(seed):
    rng = random.Random(seed)
    rows = [rng.randint(1, 30) for _ in range(3)]
    return numbered_data([90 + rows[0], *rows], 4, in_memory=rng.random() < 0.5)


def resumed_from(standing, data):
    """Return the network and the run that a checkpoint holds."""
    state, run = standing.kept
    network = TallyNetwork(data.examples, EPOCHS, state.params.dtype)
    load_state(network, state)
    return {"network": network, "resumed": Resumed("checkpoint", network, run)}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("master", IN_STEP)
def test_members_in_step_that_stand_still_end_with_the_same_bits(
    monkeypatch, seed, master
):
    data, how = data_of(seed), {"epochs": EPOCHS, "shuffle": True}
    members = (monkeypatch, seed, IN_STEP[master])
    plain = simulate(*members, workers(3), data, **how)
    standing = Standing()
    stood = simulate(*members, workers(3), data, listeners=[standing], **how)
    assert stood.error is None
    assert standing.positions
    np.testing.assert_array_equal(stood.network.params, plain.network.params)
    assert stood.report.examples == plain.report.examples


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("master", IN_STEP)
def test_members_in_step_stand_behind_whole_rounds(monkeypatch, seed, master):
    standing, how = Standing(), {"epochs": EPOCHS}
    simulate(
        *(monkeypatch, seed, IN_STEP[master], workers(3), data_of(seed)),
        listeners=[standing],
        **how,
    )
    every = getattr(IN_STEP[master], "averaging_frequency", 1)
    least = [min(at.positions) for at in standing.positions]
    assert not any(one % every for one in least)
    assert all(at.left == () for at in standing.positions)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("ends_at", [1, 3])
@pytest.mark.parametrize("master", IN_STEP)
def test_a_run_that_was_killed_amid_an_epoch_ends_with_the_same_bits(
    monkeypatch, seed, master, ends_at
):
    data, how = data_of(seed), {"epochs": EPOCHS, "shuffle": True}
    members = (monkeypatch, seed, IN_STEP[master])
    whole = simulate(*members, workers(2), data, **how)
    standing = Standing(ends_at)
    killed = simulate(*members, workers(2), data, listeners=[standing], **how)
    assert isinstance(killed.error, Killing)
    how |= resumed_from(standing, data)
    end = simulate(*members, workers(2), data, **how)
    np.testing.assert_array_equal(end.network.params, whole.network.params)
    assert end.network.iteration_count == whole.network.iteration_count
    assert end.report.examples == whole.report.examples
    assert [one.epoch for one in end.report.epochs] == [1, 2]


@pytest.mark.parametrize("seed", SEEDS)
def test_overlapping_members_of_one_speed_stand_behind_whole_rounds(monkeypatch, seed):
    standing = Standing()
    members = (monkeypatch, seed, OVERLAPPING["overlapping fixed"], workers(3))
    simulate(*members, data_of(seed), listeners=[standing], epochs=EPOCHS)
    least = [min(at.positions) for at in standing.positions]
    assert least
    assert not any(one % 3 for one in least)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("master", OVERLAPPING)
def test_an_overlapping_run_goes_on_from_where_it_was_killed(monkeypatch, seed, master):
    data, how = data_of(seed), {"epochs": EPOCHS, "shuffle": True}
    members = (monkeypatch, seed, OVERLAPPING[master])
    standing = Standing(ends_at=1)
    simulate(*members, workers(2), data, listeners=[standing], **how)
    how |= resumed_from(standing, data)
    end = simulate(*members, workers(2), data, **how)
    assert_fit_is_right(end)
    assert_phases_end_equal(end)
    assert end.report.repeated_examples == 0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("go_on", [1, 2, 3])
def test_sharing_goes_on_with_what_members_had_not_told(monkeypatch, seed, go_on):
    """No example is trained twice, and none is lost with a residual."""
    data, how = data_of(seed), {"epochs": EPOCHS, "dtype": np.float64, "shuffle": True}
    members = (monkeypatch, seed, SHARING)
    standing = Standing(ends_at=2)
    simulate(*members, workers(2), data, listeners=[standing], **how)
    how |= resumed_from(standing, data)
    assert all(one["residual"].any() for one in standing.kept[1].members)
    end = simulate(*members, workers(go_on), data, **how)
    assert end.error is None
    trained = end.network.params - held_by_survivors(end)
    np.testing.assert_allclose(trained, 1.0, rtol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("master", MASTERS)
def test_whoever_dies_or_is_slow_every_example_is_trained(monkeypatch, seed, master):
    rng = random.Random(seed)
    fate = Fate(rng.randint(1, 4), rng.choice([20, 200]))
    members = [*workers(2), *workers(1, "dies", fate=fate)]
    members += workers(1, "late", comes_s=0.5)
    members[0].minibatch_s = rng.choice([0.03, 0.2])
    outcome = simulate(
        *(monkeypatch, seed, MASTERS[master], members, data_of(seed)),
        epochs=EPOCHS,
        listeners=[Standing()],
    )
    assert_fit_is_right(outcome)
    if master != "sharing":
        assert_phases_end_equal(outcome)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("master", ["averaging", "sharing"])
def test_where_work_was_dealt_again_a_run_knows_what_is_left(monkeypatch, seed, master):
    data, how = data_of(seed), {"epochs": EPOCHS, "dtype": np.float64, "shuffle": True}
    begun = [*workers(2), *workers(1, "dies", fate=Fate(1, 20))]
    standing = Standing(ends_at=2)
    made = (monkeypatch, seed, MASTERS[master])
    simulate(*made, begun, data, listeners=[standing], **how)
    assert standing.kept[1].position.left
    how |= resumed_from(standing, data)
    end = simulate(*made, workers(2), data, **how)
    assert end.error is None
    assert end.report.examples - end.report.repeated_examples == EPOCHS * data.examples


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("master", MASTERS)
def test_when_all_went_others_go_on_from_the_last_standstill(monkeypatch, seed, master):
    fate = Fate(2 + seed % 3, 100)
    members = [*workers(2, fate=fate), *workers(2, "new", comes_back=1)]
    outcome = simulate(
        *(monkeypatch, seed, MASTERS[master], members, data_of(seed)),
        epochs=EPOCHS,
        listeners=[Standing()],
    )
    assert_fit_is_right(outcome)
    assert [epoch.epoch for epoch in outcome.report.epochs] == [1, 2]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("master", MASTERS)
def test_an_epoch_longer_than_workers_live_ends(monkeypatch, seed, master):
    """All go, again and again; nobody asked for a checkpoint."""
    rng = random.Random(seed)
    members = [
        Worker(
            f"w{wave}{n}", minibatch_s=0.2, comes_back=wave, lives_s=rng.uniform(4, 6)
        )
        for wave in range(30)
        for n in range(2)
    ]
    # 20 seconds of two workers an epoch.
    data = numbered_data([800], 4, in_memory=True)
    made = (monkeypatch, seed, MASTERS[master], members, data)
    outcome = simulate(*made, epochs=EPOCHS, dtype=np.float64)
    assert_fit_is_right(outcome)
    assert len(outcome.report.rejoined) > EPOCHS
    assert [epoch.epoch for epoch in outcome.report.epochs] == [1, 2]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("master", ["averaging", "all_reduce", "sharing"])
def test_one_slow_snapshot_does_not_put_off_the_next(monkeypatch, seed, master):
    """It was taken as others started; two epochs later all went."""
    members = [
        Worker("dies", minibatch_s=0.1, lives_s=1.0),
        Worker("stays", minibatch_s=0.1, lives_s=22.0),
        *workers(2, "new", comes_back=1),
    ]
    # 5 seconds of one worker an epoch.
    data = numbered_data([200], 4, in_memory=True)
    made = (monkeypatch, seed, MASTERS[master], members, data)
    outcome = simulate(*made, epochs=6, dtype=np.float64, snapshots_s=[6.0])
    assert_fit_is_right(outcome)
    (rejoined,) = outcome.report.rejoined
    assert rejoined.epoch >= 2
    assert rejoined.repeated_examples < data.examples


@pytest.mark.parametrize(("rejoin_timeout_s", "stands"), [(60.0, True), (0.0, False)])
def test_only_a_fit_that_may_go_back_stands_still_unasked(
    monkeypatch, rejoin_timeout_s, stands
):
    monkeypatch.setattr(standstill_rule, "CALM_S", 0.5)
    brought = []
    keep = KeptNetwork.keep
    monkeypatch.setattr(
        KeptNetwork, "keep", lambda *given: (brought.append(given[2]), keep(*given))
    )
    master = replace(IN_STEP["all_reduce"], rejoin_timeout_s=rejoin_timeout_s)
    simulate(monkeypatch, 1, master, workers(2), data_of(1))
    assert bool(brought) == stands
    assert all(standing.position.positions for standing in brought)


class Ending(Listener):
    """Ends a fit within its first epoch, as soon as a minibatch was trained."""

    def __init__(self):
        self.position = None

    def iteration_done(self, fit):
        fit.stop(within_epoch=True)

    def on_standstill(self, fit):
        if fit.is_stopped() and self.position is None:
            self.position = fit.position


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("master", MASTERS)
def test_a_fit_may_end_within_an_epoch(monkeypatch, seed, master):
    """What was trained counts, and all members have it; the epoch is none."""
    ending = Ending()
    outcome = simulate(
        *(monkeypatch, seed, MASTERS[master], workers(3), data_of(seed)),
        epochs=EPOCHS,
        dtype=np.float64,
        listeners=[ending],
    )
    assert outcome.error is None
    assert ending.position.positions
    assert (outcome.network.epoch_count, outcome.report.epochs) == (0, [])
    assert 0 < outcome.report.examples < outcome.network.params.size / EPOCHS
    if master != "sharing":
        assert_phases_end_equal(outcome)


class Doing(Listener):
    """Wants a standstill without a checkpoint, and notes what is done when."""

    def __init__(self):
        self.done = []
        self._is_wanted = False

    def iteration_done(self, fit):
        if not self._is_wanted:
            self._is_wanted = True
            fit.want_standstill(lambda fit: self.done.append(("then", fit.position)))

    def on_standstill(self, fit):
        assert not fit.is_checkpoint_wanted
        if fit.position.positions:
            self.done.append(("standstill", fit.position))


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_to_be_done_at_a_standstill_comes_first(monkeypatch, seed):
    doing = Doing()
    simulate(
        *(monkeypatch, seed, IN_STEP["averaging"], workers(2), data_of(seed)),
        epochs=EPOCHS,
        listeners=[doing],
    )
    (first, at), (second, then_at) = doing.done
    assert (first, second) == ("then", "standstill")
    assert at == then_at
