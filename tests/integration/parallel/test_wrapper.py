"""A network that processes of this machine train."""

import subprocess
import sys
from multiprocessing import resource_tracker

import numpy as np
import psutil
import pytest

from daskdl import (
    DataSet,
    Dense,
    FeedForward,
    MultiLayerConfiguration,
    MultiLayerNetwork,
    Nesterovs,
    Output,
    ParallelWrapper,
    SharedTrainingMaster,
    TrainingHook,
)
from tests.left_processes import left_of

# Each starts processes of its own, and lets them import all there is.
pytestmark = pytest.mark.timeout(300)


def network(**options):
    return MultiLayerNetwork(
        MultiLayerConfiguration(
            seed=3,
            input=FeedForward(size=6),
            layers=[
                Dense(n_out=8, activation="tanh"),
                Output(n_out=3, loss="mcxent"),
            ],
            **{"updater": "sgd", "dtype": "float64", **options},
        )
    )


@pytest.fixture
def data(rng):
    features = rng.standard_normal((96, 6))
    return features, features[:, :3].argmax(axis=1)


def children():
    """Return the numbers of the processes that this one has started."""
    return {child.pid for child in psutil.Process().children(recursive=True)}


def test_averaging_every_minibatch_is_one_process_with_larger_ones(data):
    alone = network().fit(data, batch_size=16, epochs=2)
    with ParallelWrapper(network(), workers=2) as wrapper:
        trained = wrapper.fit(data, batch_size=8, epochs=2)
    assert trained is wrapper.network
    np.testing.assert_allclose(trained.params, alone.params, rtol=1e-9, atol=1e-12)


def test_workers_may_have_updaters_of_their_own(data):
    """As in DL4J: where these are not averaged they are not forgotten, either."""
    how = {"updater": Nesterovs(0.1, momentum=0.9)}
    batches = list(DataSet(*data).batches(12))
    ones = network(**how), network(**how)
    for both in zip(batches[::2], batches[1::2], strict=True):
        for one, batch in zip(ones, both, strict=True):
            one.fit([batch])
        mean = (ones[0].params + ones[1].params) / 2
        for one in ones:
            one.params[...] = mean
    with ParallelWrapper(network(**how), workers=2, average_updaters=False) as wrapper:
        trained = wrapper.fit(batches)
    np.testing.assert_allclose(trained.params, mean, rtol=1e-9, atol=1e-12)
    states = [one.updater_state for one in ones]
    assert any(np.allclose(trained.updater_state, state) for state in states)
    assert np.abs(states[0] - states[1]).max() > 0.01


def test_one_worker_is_one_process_and_others_come_after_the_close(data):
    alone = network(updater="adam").fit(data, batch_size=8, epochs=2)
    wrapper = ParallelWrapper(network(updater="adam"), workers=1)
    for _ in range(2):
        with wrapper:
            trained = wrapper.fit(data, batch_size=8)
    np.testing.assert_array_equal(trained.params, alone.params)


def test_shared_gradients_learn_by_the_same_workers_in_every_fit(data):
    start = network()
    score_before = start.compute_score(data)
    resource_tracker.ensure_running()
    before = children()
    with ParallelWrapper(start, workers=2, training_mode="shared_gradients") as wrapper:
        wrapper.fit(data, batch_size=8, epochs=2)
        workers = children() - before
        wrapper.fit(data, batch_size=8, epochs=2)
        assert children() - before == workers
    assert len(workers) >= 2
    assert left_of(workers) == []
    assert start.epoch_count == 4
    assert start.compute_score(data) < score_before
    assert len(start.last_fit.workers) == 2


class Counts(TrainingHook):
    """Writes a line for each minibatch."""

    def __init__(self, path):
        self.path = path

    def post_update(self, minibatch, network):
        with open(self.path, "a", encoding="utf-8") as stream:
            stream.write(f"{minibatch.num_examples}\n")


def test_hooks_of_its_master_run_in_its_processes(data, tmp_path):
    master = SharedTrainingMaster(training_hooks=Counts(tmp_path / "seen"))
    with ParallelWrapper(network(), workers=2, training_mode=master) as wrapper:
        wrapper.fit(data, batch_size=16)
    assert (tmp_path / "seen").read_text("utf-8").split() == ["16"] * 6


# Dask 2024.8 starts such a worker again and again; there it is the worker that tells.
@pytest.mark.slow
def test_a_program_without_a_guard_hears_of_it(tmp_path):
    """At its end, behind what its workers print."""
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np\n"
        "import daskdl as dl\n"
        "conf = dl.MultiLayerConfiguration(\n"
        "    input=dl.FeedForward(2), layers=[dl.Output(2)]\n"
        ")\n"
        "wrapper = dl.ParallelWrapper(dl.MultiLayerNetwork(conf), workers=1)\n"
        "wrapper.fit((np.zeros((4, 2)), np.zeros(4, int)), batch_size=2)\n"
    )
    ran = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    last = ran.stderr.splitlines()[-1]
    assert last.startswith("daskdl.errors.ClusterError: Cluster: workers of this mach")
    assert last.endswith("do so below `if __name__ == '__main__':`.")
