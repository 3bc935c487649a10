"""A search on a cluster: fewer examples, workers that die, a process that is killed."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from distributed import Client

import daskdl as dl
from daskdl import tuning
from daskdl.errors import ClusterError, DivergedError, OptionError, ShapeError

HOW = {"batch_size": 16, "shuffle": True}
SPACE = {"learning_rate": tuning.LogUniform(1e-4, 0.1), "units": tuning.Choice([4, 24])}
HALVING = tuning.SuccessiveHalving(min_epochs=1, reduction_factor=3)
EXAMPLES, HELD_BACK = 200, 300
KILLING = threading.Lock()
# The task that trains, as Dask knows it.
MEMBER = re.compile(r"daskdl-[0-9a-f]{32}-\d")


def build(parameters):
    return dl.MultiLayerConfiguration(
        input=dl.FeedForward(16),
        layers=[dl.Dense(parameters["units"], activation="relu"), dl.Output(4)],
        updater=dl.Adam(learning_rate=parameters["learning_rate"]),
    )


def told(search):
    """Return what a search found, of which nothing may depend on its timing."""
    return [
        (one.number, one.state, one.epochs, one.scores, one.best_epoch)
        for one in search.trials
    ]


@pytest.fixture(scope="module")
def pair(module_cluster_of):
    return module_cluster_of(2)


@pytest.fixture(scope="module")
def data(blobs):
    return blobs(EXAMPLES), dl.DataSetLossCalculator(blobs(HELD_BACK, seed=1))


@pytest.fixture(scope="module")
def searching(pair, data, tmp_path_factory):
    """Return a function that makes a search of six trials, in a folder of its own."""

    def make(client=pair, score=data[1], build=build, space=SPACE, **options):
        folder = tmp_path_factory.mktemp("search") / "of-its-own"
        options = {"epochs": 9, "n_trials": 6, "directory": folder, **options}
        return tuning.RandomSearch(client, build, space, score, **options)

    return make


@pytest.fixture(scope="module")
def whole(searching, data):
    search = searching()
    search.fit(data[0], **HOW)
    return search


@pytest.fixture(scope="module")
def halved(searching, data):
    search = searching(halving=HALVING)
    search.fit(data[0], **HOW)
    return search


def test_every_trial_is_trained_whole(whole):
    assert [one.epochs for one in whole.trials] == [9] * 6
    assert whole.examples == 6 * 9 * EXAMPLES
    assert {one.state for one in whole.trials} == {tuning.TrialState.FINISHED}
    assert whole.best_score == min(one.score for one in whole.trials)


def test_halving_trains_those_that_do_well(halved):
    """Six for one epoch, two for three, one for nine; none of them from its start."""
    assert sorted(one.epochs for one in halved.trials) == [1, 1, 1, 1, 3, 9]
    assert halved.examples == (4 * 1 + 3 + 9) * EXAMPLES
    finished = [one.state.value for one in halved.trials].count("finished")
    assert finished == 1


def test_who_goes_on_learns_what_a_whole_trial_does(halved, whole):
    """Bit for bit: halving continues, and changes nothing."""
    best = halved.best_trial
    same = whole.trials[best.number - 1]
    assert best.scores == same.scores
    mine, theirs = halved.best_network, whole.network_of(same)
    np.testing.assert_array_equal(mine.params, theirs.params)
    np.testing.assert_array_equal(mine.updater_state, theirs.updater_state)


def test_the_best_network_is_that_of_the_best_score(halved, blobs):
    best = halved.best_trial
    assert best.score == min(best.scores.values())
    assert halved.best_network.epoch_count == best.best_epoch
    score = halved.best_network.score_examples(blobs(HELD_BACK, seed=1)).mean()
    assert score == pytest.approx(halved.best_score, rel=1e-5)


def test_only_networks_and_reports_are_left(halved):
    folder = Path(halved._directory.url)
    files = {path.name for path in folder.rglob("*") if path.is_file()}
    assert files == {"search.json", "trial.json", "best_model.safetensors"}


class Killing(dl.DataSetLossCalculator):
    """Kills workers while a network is evaluated in its second epoch."""

    def __init__(self, client, data, kills):
        super().__init__(data)
        # Copies of the calculator, one for a trial, have both in common.
        self._client, self._kills, self.killed = client, kills, []

    def _evaluations(self, network):
        if network.epoch_count == 2:
            # Trials are evaluated in threads: none asks for what another kills.
            with KILLING:
                if len(self.killed) < self._kills:
                    self._kill()
        return super()._evaluations(network)

    def _kill(self):
        pids = self._client.run(os.getpid)
        # One that trains: another may be between two trials.
        tasks = self._client.processing()
        busy = min(one for one in tasks if MEMBER.search(str(tasks[one])))
        self.killed.append(busy)
        os.kill(pids[busy], signal.SIGKILL)

    def in_words(self):
        return "DataSetLossCalculator"


def test_a_trial_whose_worker_dies_is_tried_again(
    cluster_of, searching, whole, data, blobs
):
    """With the bits that it would have had, and the cause in its report."""
    client = cluster_of(2)
    killing = Killing(client, blobs(HELD_BACK, seed=1), kills=1)
    search = searching(client, killing)
    search.fit(data[0], **HOW)
    assert told(search) == told(whole)
    failures = [cause for one in search.trials for cause in one.failures]
    assert failures
    # It may not have begun, then no worker could start; or was about to return.
    assert all(re.match("Session: .* must", cause) for cause in failures)
    lost = sum(one.lost_examples for one in search.trials)
    assert search.examples == whole.examples + lost


def test_rungs_that_were_reached_are_no_attempts_that_failed(
    cluster_of, searching, halved, data, blobs
):
    client = cluster_of(2)
    killing = Killing(client, blobs(HELD_BACK, seed=1), kills=1)
    search = searching(client, killing, halving=HALVING, max_attempts=2)
    search.fit(data[0], **HOW)
    assert told(search) == told(halved)
    assert killing.killed
    assert [cause for one in search.trials for cause in one.failures]


def test_a_trial_is_tried_so_many_times(cluster_of, searching, data, blobs):
    client = cluster_of(1)
    killing = Killing(client, blobs(HELD_BACK, seed=1), kills=2)
    search = searching(client, killing, n_trials=1, epochs=3, max_attempts=2)
    with pytest.raises(ClusterError, match="1 trials must have a score, none has"):
        search.fit(data[0], **HOW)
    (trial,) = search.trials
    assert (trial.state.value, len(trial.failures)) == ("failed", 2)
    # Whoever resumes it tries again, from where it stood.
    search.fit(data[0], **HOW, resume=True)
    (trial,) = search.trials
    assert (trial.state.value, trial.epochs) == ("finished", 3)
    assert trial.examples == 3 * EXAMPLES + trial.lost_examples


def test_trials_that_diverge_are_the_last(searching, data):
    space = {"learning_rate": tuning.Choice([1e38, 0.01]), "units": tuning.Choice([4])}
    search = searching(space=space, epochs=2, n_trials=4)
    search.fit(data[0], **HOW)
    rates = {one.number: one.parameters["learning_rate"] for one in search.trials}
    states = {one.number: one.state.value for one in search.trials}
    assert set(rates.values()) == {1e38, 0.01}
    assert states == {
        number: "diverged" if rate > 1 else "finished" for number, rate in rates.items()
    }
    assert search.best_parameters["learning_rate"] == 0.01
    lost = next(one for one in search.trials if one.is_lost)
    assert "the score must be a number, got nan" in lost.failures[0]


def test_a_search_without_any_score_is_an_error(searching, data):
    space = {"learning_rate": tuning.Choice([1e38]), "units": tuning.Choice([4])}
    search = searching(space=space, epochs=2, n_trials=2)
    with pytest.raises(DivergedError, match="of 2 trials must have a score, none has"):
        search.fit(data[0], **HOW)


def test_a_trial_that_cannot_be_built_fails_alone(searching, data):
    def sometimes(parameters):
        if parameters["units"] == 4:
            raise ZeroDivisionError("no such network")
        return build(parameters)

    search = searching(build=sometimes, epochs=1)
    search.fit(data[0], **HOW)
    failed = {one.parameters["units"]: one.failures for one in search.trials}
    assert failed == {4: ["no such network"], 24: []}


@pytest.mark.parametrize(
    ("at_first", "later"),
    [({1}, set()), ({2, 3}, {1})],
    ids=["the trial that comes first", "all others, and then that one"],
)
def test_what_could_not_be_built_is_built_where_a_search_goes_on(
    searching, data, at_first, later
):
    def sometimes(parameters):
        if parameters["learning_rate"] in {rates[number] for number in failing}:
            raise OSError("a disk that is away for a moment")
        return build(parameters)

    search = searching(build=sometimes, epochs=1, n_trials=3)
    rates = {one.number: one.parameters["learning_rate"] for one in search.trials}
    failing = at_first
    search.fit(data[0], **HOW)
    failing = later
    search.fit(data[0], **HOW, resume=True)
    assert {one.state for one in search.trials} == {tuning.TrialState.FINISHED}
    assert search.examples == 3 * EXAMPLES


def test_a_condition_ends_a_trial_early(searching, data):
    condition = dl.BestScoreEpochTerminationCondition(100.0)
    search = searching(n_trials=3, halving=HALVING, termination_conditions=condition)
    search.fit(data[0], **HOW)
    assert [one.epochs for one in search.trials] == [1, 1, 1]
    assert search.examples == 3 * EXAMPLES


def test_master_and_batch_size_may_depend_on_parameters(searching, data):
    """Two workers train together, each minibatches of that size."""
    search = searching(
        space={**SPACE, "batch": tuning.Choice([8, 20])},
        training_master=lambda _: dl.ParameterAveragingTrainingMaster(),
        workers_per_trial=2,
        n_trials=3,
        epochs=2,
    )
    search.fit(data[0], batch_size=lambda parameters: parameters["batch"])
    for trial in search.trials:
        iterations = search.network_of(trial).iteration_count
        # The mean of both workers: so many minibatches were trained by one.
        each = EXAMPLES / trial.parameters["batch"] / 2
        assert iterations == pytest.approx(trial.best_epoch * each, abs=2)


def test_bad_data_end_the_search_at_once(searching, data):
    search = searching(n_trials=2)
    with pytest.raises(dl.ColumnError, match="must hold 16 numbers an example, got 15"):
        search.fit(dl.DataSet(data[0].features[:, 1:], data[0].labels), **HOW)


def test_a_search_that_was_refused_leaves_its_directory_free(searching, data, blobs):
    bad = blobs(HELD_BACK, seed=1)
    bad.features[7, 2] = np.nan
    search = searching(n_trials=2, epochs=1, score=dl.DataSetLossCalculator(bad))
    with pytest.raises(dl.DataError, match="got nan in row 7"):
        search.fit(data[0], **HOW)
    again = searching(n_trials=2, epochs=1, directory=search._directory.url)
    again.fit(data[0], **HOW)
    assert len(told(again)) == 2


def test_a_call_that_suits_no_trial_ends_the_search(searching, data, blobs):
    """With its own error, and the directory is free."""
    narrow = blobs(HELD_BACK, seed=1)
    narrow = dl.DataSet(narrow.features[:, 1:], narrow.labels)
    search = searching(n_trials=3, epochs=1, score=dl.DataSetLossCalculator(narrow))
    with pytest.raises((dl.ColumnError, ShapeError), match="16"):
        search.fit(data[0], **HOW)
    again = searching(n_trials=3, epochs=1, directory=search._directory.url)
    with pytest.raises(OptionError, match="batch_size"):
        again.fit((data[0].features, data[0].labels), batch_size=None)
    again.fit(data[0], **HOW)
    assert not any(one.failures for one in again.trials)


class Breaking(dl.DataSetLossCalculator):
    """Breaks the first search while a network is evaluated in its third epoch."""

    is_broken = False

    def _evaluations(self, network):
        if network.epoch_count == 3 and not Breaking.is_broken:
            Breaking.is_broken = True
            raise RuntimeError("as a program of the user's")
        return super()._evaluations(network)

    def in_words(self):
        return "DataSetLossCalculator"


def test_a_wrong_call_costs_a_search_nothing(searching, whole, data, blobs, tmp_path):
    """Whoever goes on with it in another way is told; trials stay as they are."""
    held_back, folder = blobs(HELD_BACK, seed=1), tmp_path / "search"
    with pytest.raises(RuntimeError, match="of the user's"):
        searching(directory=folder, score=Breaking(held_back)).fit(data[0], **HOW)
    kept = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert any(path.name.startswith("checkpoint-") for path in kept)
    search = searching(directory=folder)
    for given, how, message in (
        (blobs(EXAMPLES - 20), {}, "resume must go on with the data"),
        (data[0], {"handle_invalid": "skip"}, "options must mean something for data"),
        (data[0], {"normalizer": None}, "resume must go on with the normalizer"),
    ):
        with pytest.raises(OptionError, match=message):
            search.fit(given, **{**HOW, **how}, resume=True)
    now = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert now == kept
    search.fit(data[0], **HOW, resume=True)
    assert told(search) == told(whole)


def test_workers_that_do_not_come_end_the_search(searching, data):
    search = searching(workers_per_trial=3)
    with pytest.raises(ClusterError, match="must have at least 3 workers"):
        search.fit(data[0], **HOW, start_timeout_s=0.5)


def test_a_search_of_an_asynchronous_client_is_awaited(pair, searching, data):
    async def searched():
        async with Client(
            pair.scheduler.address, asynchronous=True, set_as_default=False
        ) as client:
            search = searching(client, n_trials=2, epochs=1)
            await search.fit(data[0], **HOW)
            return search

    assert [one.epochs for one in asyncio.run(searched()).trials] == [1, 1]


PROGRAM = """
import sys
from pathlib import Path

import daskdl as dl
from distributed import Client, LocalCluster
from tests.integration.cluster import test_tuning as here

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    data, held_back = (dl.DataSet.load(sys.argv[number]) for number in (2, 3))
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        search = here.tuning.RandomSearch(
            client,
            here.build,
            here.SPACE,
            dl.DataSetLossCalculator(held_back),
            epochs=9,
            n_trials=6,
            halving=here.HALVING,
            directory=folder,
        )
        is_there = (folder / "search.json").exists()
        search.fit(data, **here.HOW, resume=is_there)
"""


def test_a_search_that_is_killed_goes_on(halved, searching, data, blobs, tmp_path):
    """And finds what it would have found; nothing whole is trained again."""
    files = [tmp_path / "data.bin", tmp_path / "held_back.bin"]
    data[0].save(files[0])
    blobs(HELD_BACK, seed=1).save(files[1])
    script, folder = tmp_path / "program.py", tmp_path / "search"
    script.write_text(PROGRAM)
    command = [sys.executable, script, folder, *files]
    root = str(Path(__file__).parents[3])
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *sys.path])}
    # In the first rung, and behind it.
    for pattern, count in (("*/trial.json", 3), ("*/checkpoint-*2.safetensors", 1)):
        with subprocess.Popen(
            command, env=surroundings, start_new_session=True, stderr=subprocess.DEVNULL
        ) as process:
            deadline = time.monotonic() + 120
            while len(list(folder.glob(pattern))) < count:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.02)
            os.killpg(process.pid, signal.SIGKILL)
    search = searching(directory=folder, halving=HALVING)
    search.fit(data[0], **HOW, resume=True)
    assert told(search) == told(halved)
    np.testing.assert_array_equal(
        search.best_network.params, halved.best_network.params
    )


def test_a_search_goes_on_with_the_same_data_and_network_only(
    searching, data, blobs, tmp_path
):
    def make(**options):
        options = {"epochs": 1, "n_trials": 2, **options}
        return searching(directory=tmp_path / "search", **options)

    make().fit(data[0], **HOW)
    (tmp_path / "search" / "trial-0002" / "trial.json").unlink()
    with pytest.raises(OptionError, match="200 examples, got 180"):
        make().fit(blobs(180), **HOW, resume=True)
    with pytest.raises(OptionError, match="the shuffle of the search, True, got False"):
        make().fit(data[0], batch_size=16, resume=True)

    def other(parameters):
        return build({**parameters, "units": 5})

    with pytest.raises(OptionError, match=r"network.layers\[0\].n_out of the search"):
        make(build=other).fit(data[0], **HOW, resume=True)
    # And as it was it is trained.
    search = make()
    search.fit(data[0], **HOW, resume=True)
    assert [one.epochs for one in search.trials] == [1, 1]
