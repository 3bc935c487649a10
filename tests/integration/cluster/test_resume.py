"""Runs that are killed at any moment go on to the bits of one that never was."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import daskdl as dl
from daskdl.cluster import driver
from daskdl.errors import ColumnError, OptionError
from daskdl.formats.checkpoint import load_run
from daskdl.nn.fitting.checkpoint_directory import read_newest

# Begins the run, or goes on with it if there is a checkpoint; saves it when it is done.
PROGRAM = """
import sys
from pathlib import Path
import numpy as np
import daskdl as dl
from tests.integration.cluster.test_resume import front_or_network

if __name__ == "__main__":
    workers, folder, rows = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[5])
    rng = np.random.default_rng(5)
    features = rng.standard_normal((rows, 5)).astype(np.float32)
    data = dl.DataSet(features, (features[:, 0] > features[:, 1]).astype(int))
    there = folder.exists() and any(folder.glob("checkpoint-*"))
    with front_or_network(workers) as trained:
        trained.fit(
            data,
            epochs=int(sys.argv[3]),
            batch_size=8,
            shuffle=True,
            resume=folder if there else None,
            listeners=dl.RunCheckpoint(folder, every_n_iterations=20),
        )
        getattr(trained, "network", trained).save(sys.argv[4], overwrite=True)
"""


def front_or_network(workers, network=None):
    """Return what fits in this process, or on a cluster of its own, as a context."""
    from contextlib import contextmanager, nullcontext

    from distributed import Client, LocalCluster

    network = network or dl.MultiLayerNetwork(
        dl.MultiLayerConfiguration(
            input=dl.FeedForward(5),
            layers=[dl.Dense(8, keep_probability=0.7), dl.Output(2)],
            updater="adam",
        )
    )
    if not workers:
        return nullcontext(network)

    @contextmanager
    def opened():
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",
                silence_logs=50,
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            master = dl.ParameterAveragingTrainingMaster(
                averaging_frequency=3, dealing="fixed"
            )
            yield dl.DaskMultiLayer(client, network, master)

    return opened()


def program(tmp_path, workers, epochs, rows, name, text=PROGRAM):
    script = tmp_path / "program.py"
    script.write_text(text)
    return [
        *(sys.executable, str(script), str(workers)),
        *(str(tmp_path / name), str(epochs), str(tmp_path / f"{name}.safetensors")),
        str(rows),
    ]


def surroundings():
    root = str(Path(__file__).parents[3])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([root, *sys.path])}


def newest(folder):
    """Return the newest checkpoint's number of iterations; 0 before the first."""
    if not folder.exists() or not any(folder.glob("checkpoint-*")):
        return 0
    return read_newest("test", str(folder), dl.load)[1].iteration_count


def killed(command, folder, seconds, rng, reached):
    """Start the program, and kill it and its workers a while after it trains."""
    with subprocess.Popen(
        command, env=surroundings(), start_new_session=True, stderr=subprocess.DEVNULL
    ) as process:
        before = reached(folder)
        deadline = time.monotonic() + 120
        while process.poll() is None and reached(folder) == before:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(rng.uniform(0, seconds))
        os.killpg(process.pid, signal.SIGKILL)


def killed_again_and_again(
    tmp_path, workers, kills, epochs, rows, *, text=PROGRAM, reached=newest
):
    """Return what a whole run ends with, a killed one, and where kills found that."""
    rng = random.Random(workers)
    whole = program(tmp_path, workers, epochs, rows, "whole", text)
    subprocess.run(whole, env=surroundings(), check=True)
    command = program(tmp_path, workers, epochs, rows, "killed", text)
    came_to = []
    for _ in range(kills):
        killed(command, tmp_path / "killed", 0.4, rng, reached)
        came_to.append(reached(tmp_path / "killed"))
    assert came_to == sorted(set(came_to)), "each time it came further"
    subprocess.run(command, env=surroundings(), check=True)
    ends = [
        dl.load(str(tmp_path / f"{name}.safetensors")) for name in ("whole", "killed")
    ]
    return *ends, came_to


class Ending(dl.Listener):
    """Ends a fit amid an epoch, behind its checkpoint."""

    def on_standstill(self, fit):
        if fit.position.positions:
            raise KeyboardInterrupt


@pytest.fixture
def many(rng, monkeypatch):
    """Enough examples for a standstill amid an epoch, however short that is."""
    monkeypatch.setattr(driver, "WORTH_STANDING_S", 0.0)
    features = rng.standard_normal((12_000, 16)).astype(np.float32)
    return dl.DataSet(features, np.eye(4)[features[:, :4].argmax(axis=1)])


def ended_and_resumed(front, data, folder, **how):
    """Train until the first checkpoint amid an epoch, and go on from there."""
    checkpoints = dl.RunCheckpoint(folder, every_n_iterations=100)
    with pytest.raises(KeyboardInterrupt):
        front().fit(data, listeners=[checkpoints, Ending()], **how)
    _, values, arrays = load_run(read_newest("test", str(folder), str)[0])
    assert 0 < sum(values["position"]["positions"]) < len(data) // how["batch_size"]
    return front().fit(data, resume=folder, **how), arrays


def test_averaging_that_ends_amid_an_epoch_goes_on_with_the_same_bits(
    cluster_of, network, many, tmp_path
):
    client, how = cluster_of(2), {"epochs": 1, "batch_size": 8, "shuffle": True}
    master = dl.ParameterAveragingTrainingMaster(averaging_frequency=4, dealing="fixed")

    def front():
        return dl.DaskMultiLayer(client, network(dropout=0.8), master)

    whole = front().fit(many, **how)
    resumed, arrays = ended_and_resumed(front, many, tmp_path / "run", **how)
    np.testing.assert_array_equal(resumed.params, whole.params)
    np.testing.assert_array_equal(resumed.updater_state, whole.updater_state)
    assert arrays == ()


def test_sharing_that_ends_amid_an_epoch_goes_on_with_its_residuals(
    cluster_of, network, many, tmp_path
):
    client, how = cluster_of(2), {"epochs": 1, "batch_size": 8, "shuffle": True}

    def front():
        # Else a member of which little was trained ends its phase with all of it.
        return dl.DaskMultiLayer(client, network(), dl.SharedTrainingMaster(warm_up=1))

    whole = front().fit(many, **how).evaluate(many).accuracy()
    resumed, arrays = ended_and_resumed(front, many, tmp_path / "run", **how)
    assert [one["residual"].any() for one in arrays] == [True, True]
    assert resumed.evaluate(many).accuracy() == pytest.approx(whole, abs=0.02)


def test_a_complete_run_refuses_what_it_was_not_begun_with(
    cluster_of, network, blobs, tmp_path
):
    client, data, folder = cluster_of(2), blobs(400), tmp_path / "run"
    how = {"epochs": 2, "batch_size": 10}

    def front(master=None):
        return dl.DaskMultiLayer(client, network(), master)

    def resumed(data=data, master=None, **others):
        return front(master).fit(data, resume=folder, **{**how, **others})

    whole = front().fit(data, listeners=dl.RunCheckpoint(folder), **how)
    np.testing.assert_array_equal(resumed().params, whole.params)
    with pytest.raises(OptionError, match="the master of the run"):
        resumed(master=dl.ParameterAveragingTrainingMaster())
    with pytest.raises(OptionError, match="the batch_size of the run, 10, got 20"):
        resumed(batch_size=20)
    with pytest.raises(OptionError, match="the data of the run, 400 examples, got 390"):
        resumed(data.slice(0, 390))
    with pytest.raises(ColumnError, match="must hold 16 numbers an example, got 15"):
        resumed(dl.DataSet(data.features[:, 1:], data.labels))


def test_each_checkpoint_of_sharing_is_of_another_position(
    cluster_of, network, blobs, tmp_path
):
    dl.DaskMultiLayer(cluster_of(2), network(), dl.SharedTrainingMaster()).fit(
        blobs(400),
        epochs=2,
        batch_size=10,
        listeners=dl.RunCheckpoint(tmp_path, keep_last=100),
    )
    states = [load_run(str(path))[1] for path in sorted(tmp_path.glob("checkpoint-*"))]
    assert [one["position"]["epoch"] for one in states] == [0, 1, 2]


@pytest.mark.slow
@pytest.mark.timeout(280)
@pytest.mark.parametrize(
    ("workers", "kills", "epochs", "rows"),
    [(0, 10, 70, 600), (2, 4, 30, 600), (2, 3, 4, 9_000)],
    ids=["one", "cluster", "cluster, amid epochs"],
)
def test_a_run_that_is_killed_again_and_again_ends_the_same(
    tmp_path, workers, kills, epochs, rows
):
    whole, resumed, came_to = killed_again_and_again(
        tmp_path, workers, kills, epochs, rows
    )
    assert came_to[-1] < whole.iteration_count, "all kills were before the end"
    np.testing.assert_array_equal(whole.params, resumed.params)
    np.testing.assert_array_equal(whole.updater_state, resumed.updater_state)
